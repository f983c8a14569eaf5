// The HTTP API writes as every author does: plain SQL on the warehouse. Triggers make the changes,
// and refuse.

import pg from 'pg';
import type {Writes} from '../streams/stream.ts';
import type {Wanted} from './change-request.ts';
import type {FoundRow} from './find-row.ts';

export type Values = Readonly<Record<string, Exclude<Wanted, readonly string[]>>>;

/** @returns row_id of the new row */
export async function insertRow(
  client: pg.ClientBase,
  {table}: Writes,
  values: Values & {readonly account_id: string},
): Promise<string> {
  const names = Object.keys(values);
  const {rows} = await client.query<{row_id: string}>(
    `INSERT INTO ${nameOf(table.name)} (${names.map(pg.escapeIdentifier).join(', ')})
     VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING row_id`,
    Object.values(values),
  );
  if (rows[0] === undefined) throw new Error(`${table.name}: the insert gave no row`);
  return rows[0].row_id;
}

export async function updateRow(
  client: pg.ClientBase,
  {table}: Writes,
  {rowId, values}: {readonly rowId: string; readonly values: Values},
): Promise<void> {
  const names = Object.keys(values);
  if (names.length === 0) return;
  await client.query(
    `UPDATE ${nameOf(table.name)}
        SET ${names.map((name, at) => `${pg.escapeIdentifier(name)} = $${at + 2}`).join(', ')} WHERE row_id = $1`,
    [rowId, ...Object.values(values)],
  );
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
  {rowId, number}: Pick<FoundRow, 'rowId' | 'number'>,
  {accountId, employeeIds}: {readonly accountId: string; readonly employeeIds: readonly string[]},
): Promise<void> {
  const held = `account_id = $1 AND (parent_row_id = $2 OR job_number = $3) AND _deleted_at IS NULL`;
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
