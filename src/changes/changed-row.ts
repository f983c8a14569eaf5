import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {ChangeValues} from '../rows/change-values.ts';
import type {Change} from './change.ts';

/**
 * The row of a change as it is now, in the texts that changes are made of.
 * @param fields - the fields in question; `employee_ids` stands for the employees assigned to a job
 * @returns null when there is no such row any more
 */
export async function readChangedRow(
  db: Queryable,
  {table, rowId, number, accountId}: Pick<Change, 'table' | 'rowId' | 'number' | 'accountId'>,
  fields: readonly string[],
): Promise<ChangeValues | null> {
  const {rows} = await db.query<{values: ChangeValues; employeeIds: string[] | null}>(
    `SELECT (SELECT coalesce(jsonb_object_agg(name, to_jsonb(held)->>name), '{}') FROM unnest($2::text[]) AS name WHERE to_jsonb(held) ? name) AS values,
            CASE WHEN 'employee_ids' = ANY ($2) THEN ARRAY(
              SELECT employee_id::text FROM warehouse.job_employees
               WHERE account_id = $4 AND (parent_row_id = $1 OR job_number = $3) AND _deleted_at IS NULL ORDER BY employee_id) END AS "employeeIds"
       FROM warehouse.${pg.escapeIdentifier(table)} AS held WHERE row_id = $1`,
    [rowId, fields, number, accountId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return row.employeeIds === null ? row.values : {...row.values, employee_ids: row.employeeIds};
}
