import type pg from 'pg';
import type {Queryable} from './database.ts';

export interface Account {
  readonly accountId: string;
  readonly name: string;
  readonly apiUrl: string;
  /** IANA zone. */
  readonly timeZone: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

const columns = `
  account_id AS "accountId", name, api_url AS "apiUrl", time_zone AS "timeZone", created_at AS "createdAt"`;

/** Makes the account of that name, or gives it another address or zone; one that says the same already is not written. */
export async function upsertAccount(
  pool: pg.Pool,
  account: Pick<Account, 'name' | 'apiUrl' | 'timeZone'>,
): Promise<Account> {
  const {name, apiUrl, timeZone} = account;
  const written = await pool.query<Account>(
    `INSERT INTO sync.accounts AS held (name, api_url, time_zone) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET api_url = EXCLUDED.api_url, time_zone = EXCLUDED.time_zone
      WHERE (held.api_url, held.time_zone) <> (EXCLUDED.api_url, EXCLUDED.time_zone)
     RETURNING ${columns}`,
    [name, apiUrl, timeZone],
  );
  const held = written.rows[0] ?? (await readAccount(pool, name));
  if (held === null) throw new Error(`account ${name}: deleted while it was being written`);
  return held;
}

/** The account of that name, null when there is none. */
export async function readAccount(db: Queryable, name: string): Promise<Account | null> {
  const {rows} = await db.query<Account>(`SELECT ${columns} FROM sync.accounts WHERE name = $1`, [name]);
  return rows[0] ?? null;
}

/** Every account, the oldest first. */
export async function listAccounts(db: Queryable): Promise<Account[]> {
  const {rows} = await db.query<Account>(`SELECT ${columns} FROM sync.accounts ORDER BY account_id`);
  return rows;
}
