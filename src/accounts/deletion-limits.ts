import type {Queryable} from '../postgres/database.ts';

/**
 * How many rows one sweep may mark as deleted without a person: so many rows, or so many percent of
 * the live ones.
 */
export type DeletionLimit = {readonly rows: number} | {readonly percent: number};

/** A limit of one stream of an account, by the account's name. */
export interface DeletionLimitSetting {
  readonly account: string;
  readonly stream: string;
  readonly limit: DeletionLimit;
}

interface HeldLimit {
  readonly most_rows: number | null;
  readonly most_percent: string | null;
}

/** The limit that was set for a stream of an account; null where the default applies. */
export async function readDeletionLimit(
  db: Queryable,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<DeletionLimit | null> {
  const {rows} = await db.query<HeldLimit>(
    'SELECT most_rows, most_percent FROM sync.deletion_limits WHERE account_id = $1 AND stream = $2',
    [accountId, stream],
  );
  return rows[0] === undefined ? null : toLimit(rows[0]);
}

/** The limits of every account. */
export async function listDeletionLimits(db: Queryable): Promise<DeletionLimitSetting[]> {
  const {rows} = await db.query<HeldLimit & {account: string; stream: string}>(
    `SELECT account.name AS account, stream, most_rows, most_percent
       FROM sync.deletion_limits JOIN sync.accounts AS account USING (account_id)
      ORDER BY account.name, stream`,
  );
  return rows.map(({account, stream, ...held}) => ({account, stream, limit: toLimit(held)}));
}

/** Writes a limit, in place of the one that the stream had. */
export async function writeDeletionLimit(
  db: Queryable,
  {account, stream, limit}: DeletionLimitSetting,
): Promise<void> {
  await db.query(
    `INSERT INTO sync.deletion_limits (account_id, stream, most_rows, most_percent)
     SELECT account_id, $2::text, $3::integer, $4::numeric FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_id, stream) DO UPDATE
        SET most_rows = EXCLUDED.most_rows, most_percent = EXCLUDED.most_percent`,
    [
      account,
      stream,
      'rows' in limit ? limit.rows : null,
      'percent' in limit ? limit.percent : null,
    ],
  );
}

/** Removes a limit: the default applies again. */
export async function deleteDeletionLimit(
  db: Queryable,
  {account, stream}: Pick<DeletionLimitSetting, 'account' | 'stream'>,
): Promise<void> {
  await db.query(
    `DELETE FROM sync.deletion_limits AS held USING sync.accounts AS account
      WHERE account.account_id = held.account_id AND account.name = $1 AND stream = $2`,
    [account, stream],
  );
}

function toLimit({most_rows, most_percent}: HeldLimit): DeletionLimit {
  return most_rows === null ? {percent: Number(most_percent)} : {rows: most_rows};
}
