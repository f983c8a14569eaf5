import type {Queryable} from '../postgres/database.ts';

/** Working hours of one employee, where they differ from those of the account. */
export interface Capacity {
  readonly account: string;
  readonly employeeNumber: string;
  /** Hours on Monday to Sunday. */
  readonly workingHours: readonly number[];
}

/** The working hours of employees, also of those that are not mirrored yet. */
export async function listCapacity(db: Queryable): Promise<Capacity[]> {
  const {rows} = await db.query<Capacity>(
    `SELECT account.name AS account, held.employee_number AS "employeeNumber",
            held.working_hours::double precision[] AS "workingHours"
       FROM (SELECT account_id, employee_number, working_hours
               FROM mart.capacity JOIN warehouse.employees ON row_id = employee_key
              WHERE employee_number IS NOT NULL
              UNION ALL
             SELECT account_id, employee_number, working_hours FROM sync.capacity_to_come) AS held
       JOIN sync.accounts AS account USING (account_id)
      ORDER BY account.name, held.employee_number`,
  );
  return rows;
}

/**
 * The numbers of the employees that are mirrored, by account; an account without any is left out.
 */
export async function listEmployeeNumbers(db: Queryable): Promise<Map<string, string[]>> {
  const {rows} = await db.query<{account: string; numbers: string[]}>(
    `SELECT account.name AS account, array_agg(employee_number::text ORDER BY employee_number) AS numbers
       FROM warehouse.employees JOIN sync.accounts AS account USING (account_id)
      WHERE employee_number IS NOT NULL GROUP BY account.name`,
  );
  return new Map(rows.map(({account, numbers}) => [account, numbers]));
}

/** Writes the working hours of one employee; where it is not mirrored yet, for when it comes. */
export async function writeCapacity(
  db: Queryable,
  {account, employeeNumber, workingHours}: Capacity,
): Promise<void> {
  await db.query(
    `WITH meant AS (
       SELECT account_id, employee.row_id
         FROM sync.accounts AS account JOIN warehouse.employees AS employee USING (account_id)
        WHERE account.name = $1 AND employee.employee_number = $2::bigint
     ), known AS (
       INSERT INTO mart.capacity (employee_key, working_hours) SELECT row_id, $3::numeric[] FROM meant
           ON CONFLICT (employee_key) DO UPDATE SET working_hours = EXCLUDED.working_hours
     )
     INSERT INTO sync.capacity_to_come (account_id, employee_number, working_hours)
     SELECT account_id, $2::bigint, $3::numeric[] FROM sync.accounts WHERE name = $1 AND NOT EXISTS (SELECT FROM meant)
         ON CONFLICT (account_id, employee_number) DO UPDATE SET working_hours = EXCLUDED.working_hours`,
    [account, employeeNumber, workingHours],
  );
}

/** Takes the working hours of one employee away: those of the account count. */
export async function deleteCapacity(
  db: Queryable,
  {account, employeeNumber}: Pick<Capacity, 'account' | 'employeeNumber'>,
): Promise<void> {
  await db.query(
    `WITH gone AS (
       DELETE FROM sync.capacity_to_come AS held USING sync.accounts AS account
        WHERE account.account_id = held.account_id AND account.name = $1 AND held.employee_number = $2
     )
     DELETE FROM mart.capacity AS held USING warehouse.employees AS employee, sync.accounts AS account
      WHERE employee.row_id = held.employee_key AND account.account_id = employee.account_id
        AND account.name = $1 AND employee.employee_number = $2`,
    [account, employeeNumber],
  );
}
