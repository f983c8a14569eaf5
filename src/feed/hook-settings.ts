// The choices of a person for a subscriber, but for its address: the columns of sync.feed_hooks
// that a file of settings names.

import type {Queryable} from '../postgres/database.ts';

/** The settings of a subscriber. */
export interface HookSetting {
  readonly name: string;
  /** The host of its address. */
  readonly target: string;
  /** Name of the only account whose entries are sent; null for all. */
  readonly account: string | null;
  readonly tables: readonly string[] | null;
  readonly leavesOut: readonly string[] | null;
  readonly masks: boolean;
  readonly most: number;
}

/** The settings of every subscriber, by name. */
export async function listHookSettings(db: Queryable): Promise<HookSetting[]> {
  const {rows} = await db.query<HookSetting>(
    `SELECT hook.name, target, account.name AS account, tables, leaves_out AS "leavesOut", masks, most
       FROM sync.feed_hooks AS hook LEFT JOIN sync.accounts AS account USING (account_id) ORDER BY hook.name`,
  );
  return rows;
}

/**
 * Changes the settings of a subscriber; its address and its place in the feed stay. A message under
 * way is given up: its entries go out again by the new settings, under another id, for one id never
 * stands for two messages. A new subscriber begins at the end of the feed, and waits for its
 * address.
 */
export async function writeHookSetting(
  db: Queryable,
  {name, target, account, tables, leavesOut, masks, most}: HookSetting,
): Promise<void> {
  await db.query(
    `INSERT INTO sync.feed_hooks AS hook (name, target, sealed_access, key_id, account_id, tables, leaves_out, masks, most, cursor)
     VALUES ($1, $2, '', '', (SELECT account_id FROM sync.accounts WHERE name = $3), $4, $5, $6, $7, sync.feed_end())
         ON CONFLICT (name) DO UPDATE
        SET account_id = EXCLUDED.account_id, tables = EXCLUDED.tables, leaves_out = EXCLUDED.leaves_out, masks = EXCLUDED.masks,
            most = EXCLUDED.most, batch_id = NULL, batch_to = NULL, lease_until = NULL, fence = hook.fence + 1`,
    [name, target, account, tables, leavesOut, masks, most],
  );
}

/**
 * The logins that are members of fieldmirror_author, and the keys of the HTTP API as `http: NAME`:
 * those that write from outside.
 */
export async function listAuthors(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{author: string}>(
    `SELECT login.rolname::text AS author
       FROM pg_auth_members AS held JOIN pg_roles AS login ON login.oid = held.member JOIN pg_roles AS role ON role.oid = held.roleid
      WHERE role.rolname = 'fieldmirror_author' AND login.rolcanlogin
      UNION SELECT 'http: ' || name FROM sync.api_keys ORDER BY author`,
  );
  return rows.map(({author}) => author);
}
