// The subscribers that the feed is sent to: the rows of sync.feed_hooks, as a person makes, reads
// and removes them.

import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {feedHooks} from './hook-tables.ts';

type Row = typeof feedHooks.$inferSelect;

const columns = [
  'hook_id',
  'name',
  'target',
  'key_id',
  'account_id',
  'tables',
  'leaves_out',
  'masks',
  'most',
  'cursor',
  'attempts',
  'due_at',
  'failing_since',
  'last_error',
  'stopped_at',
  'sent_at',
] as const satisfies readonly (keyof Row)[];

/**
 * A row of sync.feed_hooks, without what is sealed in it. Its definition says what each column
 * means.
 */
export interface FeedHook extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of the account; null where entries of all are sent. */
  readonly account: string | null;
  /**
   * Positions of the feed between its cursor and the end; null where the cursor cannot be read
   * from.
   */
  readonly behind: number | null;
  readonly deadLetters: number;
  /** Whether its address is known; one that a file of settings made waits for it. */
  readonly hasAddress: boolean;
  /** Whether it has waited for a minute, and no worker took it up. */
  readonly isUntaken: boolean;
}

/** A subscriber as it is asked for. */
export interface HookPlan
  extends Pick<
    FeedHook,
    'name' | 'target' | 'accountId' | 'tables' | 'leavesOut' | 'masks' | 'most'
  > {
  readonly sealed: {readonly keyId: string; readonly bytes: Buffer};
  /** The cursor to begin at; null: the end of the feed as it is now. */
  readonly after: string | null;
}

/**
 * Makes a subscriber.
 * @returns the cursor that it begins at; null where there is one of that name
 * @throws SQLSTATE FM410 or 22023: the cursor cannot be read from
 */
export async function insertHook(db: Queryable, plan: HookPlan): Promise<string | null> {
  const {name, target, sealed, accountId, tables, leavesOut, masks, most, after} = plan;
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]);
  const {rows} = await db.query<{cursor: string}>(
    `INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, account_id, tables, leaves_out, masks, most, cursor)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10, sync.feed_end())) ON CONFLICT (name) DO NOTHING RETURNING cursor`,
    [name, target, sealed.bytes, sealed.keyId, accountId, tables, leavesOut, masks, most, after],
  );
  return rows[0]?.cursor ?? null;
}

/**
 * Gives a subscriber the address that it waits for.
 * @param after - the cursor to begin at; null: that of when it was made, so that it misses nothing
 * @returns the cursor that it begins at; null where none of that name waits for an address
 * @throws SQLSTATE FM410 or 22023: the cursor cannot be read from
 */
export async function giveAddress(
  db: Queryable,
  {name, target, sealed, after}: Pick<HookPlan, 'name' | 'target' | 'sealed' | 'after'>,
): Promise<string | null> {
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]);
  const {rows} = await db.query<{cursor: string}>(
    `UPDATE sync.feed_hooks SET target = $2, sealed_access = $3, key_id = $4, cursor = coalesce($5, cursor), due_at = now()
      WHERE name = $1 AND key_id = '' RETURNING cursor`,
    [name, target, sealed.bytes, sealed.keyId, after],
  );
  return rows[0]?.cursor ?? null;
}

/** Every subscriber, by name. */
export async function listHooks(db: Queryable): Promise<FeedHook[]> {
  const {rows} = await db.query<FeedHook>(
    `SELECT ${selectColumns(columns, 'hook')}, account.name AS account, hook.key_id <> '' AS "hasAddress",
            CASE WHEN split_part(hook.cursor, '-', 1) = state.feed_id
                 THEN (state.last_position - split_part(hook.cursor, '-', 2)::bigint)::double precision END AS behind,
            (SELECT count(*)::integer FROM sync.feed_dead_letters AS letter WHERE letter.hook_id = hook.hook_id) AS "deadLetters",
            coalesce(hook.stopped_at IS NULL AND greatest(hook.lease_until, hook.due_at) < now() - interval '1 minute'
              AND split_part(hook.cursor, '-', 1) = state.feed_id AND (
                SELECT at FROM sync.feed_entries WHERE position > split_part(hook.cursor, '-', 2)::bigint
                 ORDER BY position LIMIT 1) < now() - interval '1 minute', false) AS "isUntaken"
       FROM sync.feed_hooks AS hook CROSS JOIN sync.feed_state AS state
       LEFT JOIN sync.accounts AS account USING (account_id)
      ORDER BY hook.name`,
  );
  return rows;
}

/** Removes a subscriber with its dead letters. @returns false where there is none of that name */
export async function deleteHook(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query('DELETE FROM sync.feed_hooks WHERE name = $1', [name]);
  return rowCount === 1;
}

/** The writers that entries can be of: logins, and keys of the HTTP API as `http: NAME`. */
export async function listWriters(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{writer: string}>(
    `SELECT rolname::text AS writer FROM pg_roles WHERE rolcanlogin
      UNION ALL SELECT 'http: ' || name FROM sync.api_keys ORDER BY writer`,
  );
  return rows.map(({writer}) => writer);
}

/** The one spelling of a writer: `http:erp` becomes `http: erp`. */
export function spellWriter(writer: string): string {
  return writer.replace(/^http: */, 'http: ');
}
