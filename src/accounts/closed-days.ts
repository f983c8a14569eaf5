import type {Queryable} from '../postgres/database.ts';

/** A day on which nobody of an account works. */
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
       FROM mart.closed_days AS closed JOIN sync.accounts AS account ON account.account_id = account_key
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

/** Lets a day be one like any other. */
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
