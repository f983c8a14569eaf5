import type {Queryable} from '../postgres/database.ts';

/** A row of mart.settings. */
export interface InsightSettings {
  readonly currency: string | null;
  /** Hours on Monday to Sunday. */
  readonly workingHours: readonly number[] | null;
  readonly repeatVisitDays: number | null;
  readonly onTimeGraceMinutes: number | null;
}

/** What people told of each account, by its name. */
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

/** Writes what people told of an account. */
export async function writeInsightSettings(
  db: Queryable,
  account: string,
  settings: InsightSettings,
): Promise<void> {
  const {currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  await db.query(
    `INSERT INTO mart.settings (account_key, currency, working_hours, repeat_visit_days, on_time_grace_minutes)
     SELECT account_id, $2::text, $3::numeric[], $4::integer, $5::integer FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_key) DO UPDATE
        SET currency = EXCLUDED.currency, working_hours = EXCLUDED.working_hours,
            repeat_visit_days = EXCLUDED.repeat_visit_days, on_time_grace_minutes = EXCLUDED.on_time_grace_minutes`,
    [account, currency, workingHours, repeatVisitDays, onTimeGraceMinutes],
  );
}

/** Lets an account be one of which nothing is told. */
export async function deleteInsightSettings(db: Queryable, account: string): Promise<void> {
  await db.query(
    'DELETE FROM mart.settings USING sync.accounts AS held WHERE held.account_id = account_key AND held.name = $1',
    [account],
  );
}
