// How the HTTP API finds and writes the rows of an account: with plain SQL on the warehouse, from
// which the triggers make the changes.

import pg from 'pg';
import {RecordError} from '../core/errors.ts';
import {buildSystemKeys} from '../rows/links.ts';
import {findWrites} from '../streams/all.ts';
import type {Writes} from '../streams/stream.ts';
import {type ChangeRequest, type Reference, readTime, type WantedValue} from './change-request.ts';
import type {AccountKey} from './keys.ts';
import {HttpProblem} from './problem.ts';

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
  const keySql = buildSystemKeys(system, pg.escapeLiteral(table.name));
  const {rows} = await client.query<NamedRow>(
    `SELECT row_id AS "rowId", ${number} AS number, ${keySql.key} AS "externalKey",
      _deleted_at IS NOT NULL AS "isDeleted"
       FROM warehouse.${pg.escapeIdentifier(table.name)} AS held
      WHERE account_id = $1 AND (row_id = $2 OR ${number} = $3 OR ${keySql.isKnownBy('$1', '$4')})
        FOR ${lock} OF held`,
    [accountId, reference.row_id ?? null, reference.number ?? null, reference.external_key ?? null],
  );
  return rows[0] ?? null;
}

/** Wanted values, as they are written: those of the row, and the employees to assign. */
interface RowValues {
  readonly values: WrittenValues;
  readonly employeeIds: readonly string[] | null;
}

export type WrittenValues = Readonly<Record<string, Exclude<WantedValue, readonly string[]>>>;

/**
 * The rows of an account that references name, in their order; null if there is none. The statement
 * first finds them, and then locks them in order of row_id, until the commit.
 */
export async function findNamedRows(
  client: pg.ClientBase,
  {table, key: numberColumn}: Pick<Writes, 'table' | 'key'>,
  {
    key: {accountId, system},
    references,
    lock,
  }: {
    readonly key: AccountKey;
    readonly references: readonly Reference[];
    readonly lock: 'UPDATE' | 'SHARE';
  },
): Promise<(NamedRow | null)[]> {
  const tableSql = quoteTable(table.name);
  const number = pg.escapeIdentifier(numberColumn);
  const keySql = buildSystemKeys(system, pg.escapeLiteral(table.name));
  const {rows} = await client.query<NamedRow & {place: string}>(
    `WITH named AS MATERIALIZED (
       SELECT place, coalesce(wanted.row_id,
           (SELECT held.row_id FROM ${tableSql} AS held
             WHERE held.account_id = $1 AND held.${number} = wanted.number),
           (SELECT held.row_id FROM ${tableSql} AS held
             WHERE held.account_id = $1 AND ${keySql.isKnownBy('$1', 'wanted.key')})) AS row_id
         FROM unnest($2::bigint[], $3::bigint[], $4::text[])
           WITH ORDINALITY AS wanted (row_id, number, key, place))
     SELECT named.place, held.row_id AS "rowId", held.${number} AS number,
       ${keySql.key} AS "externalKey", held._deleted_at IS NOT NULL AS "isDeleted"
       FROM named JOIN ${tableSql} AS held USING (row_id)
      WHERE held.account_id = $1 ORDER BY held.row_id FOR ${lock} OF held`,
    [
      accountId,
      references.map((reference) => reference.row_id ?? null),
      references.map((reference) => reference.number ?? null),
      references.map((reference) => reference.external_key ?? null),
    ],
  );
  const rowsByPlace = new Map(rows.map(({place: at, ...row}) => [Number(at) - 1, row]));
  return references.map(({external_key: key}, index) => {
    const row = rowsByPlace.get(index) ?? null;
    // The key may have moved to another row before this one was locked.
    return key === undefined || row?.externalKey === key ? row : null;
  });
}

/**
 * Inserts rows in one statement.
 * @param newRows - one or more, with the same columns
 * @returns row_id of each, in their order
 */
export async function insertRows(
  client: pg.ClientBase,
  {table}: Writes,
  newRows: readonly (WrittenValues & {readonly account_id: string})[],
): Promise<string[]> {
  const names = Object.keys(newRows[0] ?? {});
  const tuples = newRows.map((_, row) => {
    const parameters = names.map((_name, index) => `$${row * names.length + index + 1}`);
    return `(${parameters.join(', ')})`;
  });
  const {rows} = await client.query<{row_id: string}>(
    `INSERT INTO ${quoteTable(table.name)} (${names.map(pg.escapeIdentifier).join(', ')})
     VALUES ${tuples.join(', ')} RETURNING row_id`,
    newRows.flatMap((values) => names.map((name) => values[name])),
  );
  if (rows.length !== newRows.length)
    throw new Error(`${table.name}: expected ${newRows.length} new rows, got ${rows.length}`);
  return rows.map((row) => row.row_id);
}

export async function updateRow(
  client: pg.ClientBase,
  {table}: Writes,
  {rowId, values}: {readonly rowId: string; readonly values: WrittenValues},
): Promise<void> {
  const names = Object.keys(values);
  if (names.length === 0) return;
  const assignments = names.map((name, index) => `${pg.escapeIdentifier(name)} = $${index + 2}`);
  await client.query(
    `UPDATE ${quoteTable(table.name)} SET ${assignments.join(', ')} WHERE row_id = $1`,
    [rowId, ...Object.values(values)],
  );
}

/**
 * Updates rows in one statement, each with its own values.
 * @param updates - each row once
 * @returns the changes that were made or added to, by row_id; none for a row that did not change
 */
export async function updateRows(
  client: pg.ClientBase,
  {table}: Writes,
  updates: readonly {readonly rowId: string; readonly values: WrittenValues}[],
): Promise<ReadonlyMap<string, string>> {
  const names = [...new Set(updates.flatMap(({values}) => Object.keys(values)))];
  if (names.length === 0) return new Map();
  const columns = names.map(pg.escapeIdentifier);
  const tableSql = quoteTable(table.name);
  const {rows} = await client.query<{changeId: string | null}>(
    `UPDATE ${tableSql} AS held SET (${columns.join(', ')}) = (
         SELECT ${columns.map((column) => `next.${column}`).join(', ')}
           FROM jsonb_populate_record(held, given.cells::jsonb) AS next)
       FROM unnest($1::bigint[], $2::text[]) AS given (row_id, cells)
      WHERE held.row_id = given.row_id RETURNING sync.last_change() AS "changeId"`,
    [updates.map(({rowId}) => rowId), updates.map(({values}) => JSON.stringify(values))],
  );
  // For a row that did not change, sync.last_change() returns the change of a row before it.
  const changes = await client.query<{rowId: string; changeId: string}>(
    `SELECT row_id AS "rowId", change_id AS "changeId" FROM sync.changes
      WHERE change_id = ANY ($1::bigint[])`,
    [rows.flatMap(({changeId}) => changeId ?? [])],
  );
  return new Map(changes.rows.map(({rowId, changeId}) => [rowId, changeId]));
}

export async function deleteRows(
  client: pg.ClientBase,
  {table}: Writes,
  rowIds: readonly string[],
): Promise<void> {
  if (rowIds.length === 0) return;
  await client.query(`DELETE FROM ${quoteTable(table.name)} WHERE row_id = ANY ($1)`, [rowIds]);
}

/** @throws {HttpProblem} a local time that the account's clock skips */
export function readWantedValues(
  {table, fields = {}}: Pick<ChangeRequest, 'table' | 'fields'>,
  {
    key,
    at,
    member = 'fields',
  }: {
    readonly key: AccountKey;
    /** JSON pointer to the change in the body. */
    readonly at: string;
    readonly member?: 'fields' | 'was';
  },
): RowValues {
  const instants = new Set(
    findWrites(table)
      .table.writable.filter(({kind}) => kind === 'instant')
      .map(({name}) => name),
  );
  const values: Record<string, string | boolean | null> = {};
  let employeeIds: readonly string[] | null = null;
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'object' && value !== null) employeeIds = value;
    else if (typeof value === 'string' && instants.has(name))
      values[name] = readLocalTime(value, {
        timeZone: key.timeZone,
        place: `${at}/${member}/${name}`,
      });
    else if (value !== undefined) values[name] = value;
  }
  return {values, employeeIds};
}

function readLocalTime(
  text: string,
  {timeZone, place}: {readonly timeZone: string; readonly place: string},
): string {
  try {
    return readTime(text, timeZone);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const [, expected = error.message] = /expected (.*)/.exec(error.message) ?? [];
    throw new HttpProblem(422, 'refused', {
      detail: error.message,
      hint: 'Give another time, or one with its offset.',
      errors: [{in: 'body', at: place, expected, got: text}],
    });
  }
}

/** Assigns these employees to a job, and no others. The caller holds the lock of the job. */
export async function assignEmployees(
  client: pg.ClientBase,
  {rowId, number}: Pick<NamedRow, 'rowId' | 'number'>,
  {accountId, employeeIds}: {readonly accountId: string; readonly employeeIds: readonly string[]},
): Promise<void> {
  const isAssigned = `account_id = $1 AND (parent_row_id = $2 OR job_number = $3)
    AND _deleted_at IS NULL`;
  const parameters = [accountId, rowId, number, employeeIds];
  await client.query(
    `DELETE FROM warehouse.job_employees WHERE ${isAssigned} AND employee_id <> ALL ($4::bigint[])`,
    parameters,
  );
  await client.query(
    `INSERT INTO warehouse.job_employees (account_id, parent_row_id, job_number, employee_id)
     SELECT $1, CASE WHEN $3::bigint IS NULL THEN $2::bigint END, $3, employee_id
       FROM (SELECT unnest($4::bigint[]) AS employee_id
             EXCEPT SELECT employee_id FROM warehouse.job_employees WHERE ${isAssigned}) AS missing
      ORDER BY employee_id`,
    parameters,
  );
}

function quoteTable(table: string): string {
  return `warehouse.${pg.escapeIdentifier(table)}`;
}
