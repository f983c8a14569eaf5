// The rows of an account as the HTTP API finds and writes them: by plain SQL on the warehouse, for
// the triggers make the changes of it.

import pg from 'pg';
import {keysOf} from '../rows/links.ts';
import type {Writes} from '../streams/stream.ts';
import type {Reference, Wanted} from './change-request.ts';
import type {AccountKey} from './keys.ts';

/** A row of the key's account. */
export interface NamedRow {
  readonly rowId: string;
  readonly number: string | null;
  readonly externalKey: string | null;
  readonly isDeleted: boolean;
}

/**
 * The row of an account that a reference names, null when there is none. @param lock - held until
 * the commit
 */
export async function findRow(
  client: pg.ClientBase,
  {table, key: numberColumn}: Pick<Writes, 'table' | 'key'>,
  {
    key: {accountId, system},
    reference,
    lock,
  }: {readonly key: AccountKey; readonly reference: Reference; readonly lock: 'UPDATE' | 'SHARE'},
): Promise<NamedRow | null> {
  const number = pg.escapeIdentifier(numberColumn);
  const own = keysOf(system, pg.escapeLiteral(table.name));
  const {rows} = await client.query<NamedRow>(
    `SELECT row_id AS "rowId", ${number} AS number, ${own.key} AS "externalKey",
      _deleted_at IS NOT NULL AS "isDeleted"
       FROM warehouse.${pg.escapeIdentifier(table.name)} AS held
      WHERE account_id = $1 AND (row_id = $2 OR ${number} = $3 OR ${own.isKnownBy('$1', '$4')})
        FOR ${lock} OF held`,
    [accountId, reference.row_id ?? null, reference.number ?? null, reference.external_key ?? null],
  );
  return rows[0] ?? null;
}

export type Values = Readonly<Record<string, Exclude<Wanted, readonly string[]>>>;

/** Whether a system knows a row of the account, a deleted one too, by one of some keys. */
export async function isAnyKnown(
  client: pg.ClientBase,
  {table}: Writes,
  {key: {accountId, system}, keys}: {readonly key: AccountKey; readonly keys: readonly string[]},
): Promise<boolean> {
  const own = keysOf(system, pg.escapeLiteral(table.name));
  const {rowCount} = await client.query(
    `SELECT FROM unnest($2::text[]) AS wanted (key), ${nameOf(table.name)} AS held
      WHERE held.account_id = $1 AND ${own.isKnownBy('$1', 'wanted.key')} LIMIT 1`,
    [accountId, keys],
  );
  return rowCount !== 0;
}

/**
 * Inserts rows in one statement.
 * @param all - one or more, with the same columns
 * @returns row_id of each, in their order
 */
export async function insertRows(
  client: pg.ClientBase,
  {table}: Writes,
  all: readonly (Values & {readonly account_id: string})[],
): Promise<string[]> {
  const names = Object.keys(all[0] ?? {});
  const tuples = all.map((_, row) => {
    const places = names.map((_name, at) => `$${row * names.length + at + 1}`);
    return `(${places.join(', ')})`;
  });
  const {rows} = await client.query<{row_id: string}>(
    `INSERT INTO ${nameOf(table.name)} (${names.map(pg.escapeIdentifier).join(', ')})
     VALUES ${tuples.join(', ')} RETURNING row_id`,
    all.flatMap((values) => names.map((name) => values[name])),
  );
  if (rows.length !== all.length)
    throw new Error(`${table.name}: expected ${all.length} new rows, got ${rows.length}`);
  return rows.map((row) => row.row_id);
}

export async function updateRow(
  client: pg.ClientBase,
  {table}: Writes,
  {rowId, values}: {readonly rowId: string; readonly values: Values},
): Promise<void> {
  const names = Object.keys(values);
  if (names.length === 0) return;
  const set = names.map((name, at) => `${pg.escapeIdentifier(name)} = $${at + 2}`);
  await client.query(`UPDATE ${nameOf(table.name)} SET ${set.join(', ')} WHERE row_id = $1`, [
    rowId,
    ...Object.values(values),
  ]);
}

export async function deleteRow(
  client: pg.ClientBase,
  {table}: Writes,
  rowId: string,
): Promise<void> {
  await client.query(`DELETE FROM ${nameOf(table.name)} WHERE row_id = $1`, [rowId]);
}

/** Assigns these employees to a job, and no others. The caller holds the lock of the job. */
export async function assignEmployees(
  client: pg.ClientBase,
  {rowId, number}: Pick<NamedRow, 'rowId' | 'number'>,
  {accountId, employeeIds}: {readonly accountId: string; readonly employeeIds: readonly string[]},
): Promise<void> {
  const held = `account_id = $1 AND (parent_row_id = $2 OR job_number = $3)
    AND _deleted_at IS NULL`;
  const job = [accountId, rowId, number, employeeIds];
  await client.query(
    `DELETE FROM warehouse.job_employees WHERE ${held} AND employee_id <> ALL ($4::bigint[])`,
    job,
  );
  await client.query(
    `INSERT INTO warehouse.job_employees (account_id, parent_row_id, job_number, employee_id)
     SELECT $1, CASE WHEN $3::bigint IS NULL THEN $2::bigint END, $3, employee_id
       FROM (SELECT unnest($4::bigint[]) AS employee_id
             EXCEPT SELECT employee_id FROM warehouse.job_employees WHERE ${held}) AS missing
      ORDER BY employee_id`,
    job,
  );
}

function nameOf(table: string): string {
  return `warehouse.${pg.escapeIdentifier(table)}`;
}
