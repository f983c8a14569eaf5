// Settings of an account as rows: limits of deletions, capacity, closed days, labels and reports.

import type {Queryable} from '../postgres/database.ts';

/**
 * Lets only one settings file be applied at a time; the lock is held until the transaction ends. A
 * worker may read the rules, and so cannot lock them: the owner of the warehouse applies files.
 */
export async function lockSettings(db: Queryable): Promise<void> {
  await db.query('LOCK TABLE sync.write_rules IN SHARE ROW EXCLUSIVE MODE');
}

/** So many rows, or so many percent of the live ones. */
export type RowLimit = {readonly rows: number} | {readonly percent: number};

/**
 * The kind of action that has a limit above which a person must approve it: `deletions` that one
 * sweep of a stream marks, or `edits` of one transaction, updates and deletes, in a table.
 */
export type LimitKind = 'deletions' | 'edits';

const limitTables = {
  deletions: {table: 'sync.deletion_limits', key: 'stream'},
  edits: {table: 'sync.edit_limits', key: 'table_name'},
} as const;

/** A limit of one stream or table of an account, by the account's name. */
interface RowLimitSetting {
  readonly account: string;
  /** The stream or the table. */
  readonly of: string;
  readonly limit: RowLimit;
}

interface LimitRow {
  readonly most_rows: number | null;
  readonly most_percent: string | null;
}

/** The limit that was set for a stream of an account; null if the default applies. */
export async function readDeletionLimit(
  db: Queryable,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<RowLimit | null> {
  const {rows} = await db.query<LimitRow>(
    `SELECT most_rows, most_percent FROM sync.deletion_limits WHERE account_id = $1
       AND stream = $2`,
    [accountId, stream],
  );
  return rows[0] === undefined ? null : toLimit(rows[0]);
}

/** The limits of every account. */
export async function listRowLimits(db: Queryable, kind: LimitKind): Promise<RowLimitSetting[]> {
  const {table, key} = limitTables[kind];
  const {rows} = await db.query<LimitRow & {account: string; of: string}>(
    `SELECT account.name AS account, ${key} AS of, most_rows, most_percent
       FROM ${table} JOIN sync.accounts AS account USING (account_id)
      ORDER BY account.name, ${key}`,
  );
  return rows.map(({account, of, ...row}) => ({account, of, limit: toLimit(row)}));
}

/** Writes a limit, in place of the one that the stream or table had. */
export async function writeRowLimit(
  db: Queryable,
  kind: LimitKind,
  {account, of, limit}: RowLimitSetting,
): Promise<void> {
  const {table, key} = limitTables[kind];
  await db.query(
    `INSERT INTO ${table} (account_id, ${key}, most_rows, most_percent)
     SELECT account_id, $2::text, $3::integer, $4::numeric FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_id, ${key}) DO UPDATE
        SET most_rows = EXCLUDED.most_rows, most_percent = EXCLUDED.most_percent`,
    [account, of, 'rows' in limit ? limit.rows : null, 'percent' in limit ? limit.percent : null],
  );
}

/** Removes a limit: the default applies again. */
export async function deleteRowLimit(
  db: Queryable,
  kind: LimitKind,
  {account, of}: Pick<RowLimitSetting, 'account' | 'of'>,
): Promise<void> {
  const {table, key} = limitTables[kind];
  await db.query(
    `DELETE FROM ${table} AS held USING sync.accounts AS account
      WHERE account.account_id = held.account_id AND account.name = $1 AND ${key} = $2`,
    [account, of],
  );
}

function toLimit({most_rows, most_percent}: LimitRow): RowLimit {
  return most_rows === null ? {percent: Number(most_percent)} : {rows: most_rows};
}

/** Working hours of one employee, if they differ from those of the account. */
export interface Capacity {
  readonly account: string;
  readonly employeeNumber: string;
  /** Hours on Monday to Sunday. */
  readonly workingHours: readonly number[];
}

/** The working hours of employees that have their own. */
export async function listCapacity(db: Queryable): Promise<Capacity[]> {
  const {rows} = await db.query<Capacity>(
    `SELECT account.name AS account, employee_number AS "employeeNumber",
            working_hours::double precision[] AS "workingHours"
       FROM mart.capacity JOIN warehouse.employees ON row_id = employee_key
       JOIN sync.accounts AS account USING (account_id)
      WHERE employee_number IS NOT NULL
      ORDER BY account.name, employee_number`,
  );
  return rows;
}

/**
 * The numbers of the employees that are mirrored, by account; an account without any is left out.
 */
export async function listEmployeeNumbers(db: Queryable): Promise<Map<string, string[]>> {
  const {rows} = await db.query<{account: string; numbers: string[]}>(
    `SELECT account.name AS account, array_agg(employee_number::text
       ORDER BY employee_number) AS numbers
       FROM warehouse.employees JOIN sync.accounts AS account USING (account_id)
      WHERE employee_number IS NOT NULL GROUP BY account.name`,
  );
  return new Map(rows.map(({account, numbers}) => [account, numbers]));
}

/** Writes the working hours of one employee that is mirrored. */
export async function writeCapacity(
  db: Queryable,
  {account, employeeNumber, workingHours}: Capacity,
): Promise<void> {
  await db.query(
    `INSERT INTO mart.capacity (employee_key, working_hours)
     SELECT employee.row_id, $3::numeric[]
       FROM sync.accounts AS account JOIN warehouse.employees AS employee USING (account_id)
      WHERE account.name = $1 AND employee.employee_number = $2::bigint
         ON CONFLICT (employee_key) DO UPDATE SET working_hours = EXCLUDED.working_hours`,
    [account, employeeNumber, workingHours],
  );
}

/** Removes the working hours of one employee: those of the account apply again. */
export async function deleteCapacity(
  db: Queryable,
  {account, employeeNumber}: Pick<Capacity, 'account' | 'employeeNumber'>,
): Promise<void> {
  await db.query(
    `DELETE FROM mart.capacity AS held USING warehouse.employees AS employee,
       sync.accounts AS account
      WHERE employee.row_id = held.employee_key AND account.account_id = employee.account_id
        AND account.name = $1 AND employee.employee_number = $2`,
    [account, employeeNumber],
  );
}

/** A day on which no employee of an account works. */
export interface ClosedDay {
  readonly account: string;
  /** As in 2026-12-25. */
  readonly date: string;
  readonly name: string;
}

/** The closed days of every account. */
export async function listClosedDays(db: Queryable): Promise<ClosedDay[]> {
  const {rows} = await db.query<ClosedDay>(
    `SELECT account.name AS account, date::text AS date, closed.name
       FROM mart.closed_days AS closed
         JOIN sync.accounts AS account ON account.account_id = account_key
      ORDER BY account.name, date`,
  );
  return rows;
}

/** Writes a closed day, in place of the name that it had. */
export async function writeClosedDay(
  db: Queryable,
  {account, date, name}: ClosedDay,
): Promise<void> {
  await db.query(
    `INSERT INTO mart.closed_days (account_key, date, name)
     SELECT account_id, $2::date, $3::text FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_key, date) DO UPDATE SET name = EXCLUDED.name`,
    [account, date, name],
  );
}

/** Removes a closed day. */
export async function deleteClosedDay(
  db: Queryable,
  {account, date}: Pick<ClosedDay, 'account' | 'date'>,
): Promise<void> {
  await db.query(
    `DELETE FROM mart.closed_days USING sync.accounts AS account
      WHERE account.account_id = account_key AND account.name = $1 AND date = $2`,
    [account, date],
  );
}

/** A name for what the service sends as a number alone. */
export interface Label {
  readonly account: string;
  /** As in customer_type. */
  readonly kind: string;
  readonly id: string;
  readonly label: string;
}

/** The labels of every account. */
export async function listLabels(db: Queryable): Promise<Label[]> {
  const {rows} = await db.query<Label>(
    `SELECT account.name AS account, kind, id, label
       FROM mart.labels JOIN sync.accounts AS account ON account.account_id = account_key
      ORDER BY account.name, kind, labels.id`,
  );
  return rows;
}

/** The records whose column `KIND_id` has the numbers of a kind of label. */
const labelledTables = {
  customer_type: 'customers',
  customer_source: 'customers',
  job_charge_type: 'job_charges',
  time_entry_type: 'time_entries',
  task_type: 'tasks',
} as const;

type LabelKind = keyof typeof labelledTables;
export const labelKinds = Object.keys(labelledTables) as LabelKind[];

/** A number of the service without a name. */
export type Unlabelled = Omit<Label, 'label'>;

/** How many records are searched for numbers without a label: the newest of each kind. */
const searchedRecordCount = 10_000;

/** Numbers in records of an account that have no label; at most so many of a kind. */
export async function listUnlabelled(
  db: Queryable,
  {accountId, name: account}: {readonly accountId: string; readonly name: string},
  limit: number,
): Promise<Unlabelled[]> {
  const unlabelledByKind = await Promise.all(
    Object.entries(labelledTables).map(async ([kind, table]) => {
      const {rows} = await db.query<{id: string}>(
        `SELECT DISTINCT seen.id FROM (SELECT ${kind}_id AS id FROM warehouse.${table}
            WHERE account_id = $1 ORDER BY ${table}.id DESC LIMIT ${searchedRecordCount}) AS seen
          WHERE NOT EXISTS (SELECT FROM mart.labels AS held
                  WHERE held.account_key = $1 AND held.kind = $2 AND held.id = seen.id)
            AND seen.id IS NOT NULL
          ORDER BY seen.id LIMIT $3`,
        [accountId, kind, limit],
      );
      return rows.map(({id}) => ({account, kind, id}));
    }),
  );
  return unlabelledByKind.flat();
}

/** Writes a label, in place of the one that the number had. */
export async function writeLabel(db: Queryable, {account, kind, id, label}: Label): Promise<void> {
  await db.query(
    `INSERT INTO mart.labels (account_key, kind, id, label)
     SELECT account_id, $2::text, $3::bigint, $4::text FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_key, kind, id) DO UPDATE SET label = EXCLUDED.label`,
    [account, kind, id, label],
  );
}

/** Removes a label. */
export async function deleteLabel(
  db: Queryable,
  {account, kind, id}: Pick<Label, 'account' | 'kind' | 'id'>,
): Promise<void> {
  await db.query(
    `DELETE FROM mart.labels USING sync.accounts AS account
      WHERE account.account_id = account_key AND account.name = $1 AND kind = $2 AND id = $3`,
    [account, kind, id],
  );
}

/** A row of mart.settings. */
export interface InsightSettings {
  readonly currency: string | null;
  /** Hours on Monday to Sunday. */
  readonly workingHours: readonly number[] | null;
  readonly repeatVisitDays: number | null;
  readonly onTimeGraceMinutes: number | null;
}

/** The insight settings of each account, by its name. */
export async function listInsightSettings(
  db: Queryable,
): Promise<(InsightSettings & {readonly account: string})[]> {
  const {rows} = await db.query<InsightSettings & {account: string}>(
    `SELECT account.name AS account, currency, working_hours::double precision[] AS "workingHours",
            repeat_visit_days AS "repeatVisitDays", on_time_grace_minutes AS "onTimeGraceMinutes"
       FROM mart.settings JOIN sync.accounts AS account ON account.account_id = account_key
      ORDER BY account.name`,
  );
  return rows;
}

/** Writes the insight settings of an account. */
export async function writeInsightSettings(
  db: Queryable,
  account: string,
  settings: InsightSettings,
): Promise<void> {
  const {currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  await db.query(
    `INSERT INTO mart.settings (account_key, currency, working_hours, repeat_visit_days,
       on_time_grace_minutes)
     SELECT account_id, $2::text, $3::numeric[], $4::integer, $5::integer FROM sync.accounts
       WHERE name = $1
         ON CONFLICT (account_key) DO UPDATE
        SET currency = EXCLUDED.currency, working_hours = EXCLUDED.working_hours,
            repeat_visit_days = EXCLUDED.repeat_visit_days,
            on_time_grace_minutes = EXCLUDED.on_time_grace_minutes`,
    [account, currency, workingHours, repeatVisitDays, onTimeGraceMinutes],
  );
}

/** Removes the insight settings of an account. */
export async function deleteInsightSettings(db: Queryable, account: string): Promise<void> {
  await db.query(
    `DELETE FROM mart.settings USING sync.accounts AS held WHERE held.account_id = account_key
       AND held.name = $1`,
    [account],
  );
}
