// The subscribers that the feed is sent to: the rows of sync.feed_hooks, and the batches that a
// person decides on. A batch is stored before it is sent, so that each try has the same entries and
// id.

import {randomUUID} from 'node:crypto';
import {UsageError} from '../core/errors.ts';
import type {Sealed} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {isDatabaseError} from '../postgres/database-errors.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {claimDue, type FailedTry, noteClaim, type SendClaim, sendLease} from './deliver.ts';
import type {feedHooks} from './tables.ts';
import {maxEntries} from './terms.ts';

type HookRow = typeof feedHooks.$inferSelect;

const columns = [
  'hook_id',
  'name',
  'target',
  'key_id',
  'account_id',
  'tables',
  'columns',
  'leaves_out',
  'masks',
  'most',
  'system',
  'cursor',
  'attempts',
  'due_at',
  'failing_since',
  'last_error',
  'stopped_at',
  'sent_at',
] as const satisfies readonly (keyof HookRow)[];

/**
 * A row of sync.feed_hooks, without its sealed access. The table's definition describes each
 * column.
 */
export interface FeedHook extends ReadRow<HookRow, (typeof columns)[number]> {
  /** Name of the account; null if entries of all accounts are sent. */
  readonly account: string | null;
  /**
   * How many positions the feed has between its cursor and the end; null if the feed cannot be read
   * from its cursor.
   */
  readonly behind: number | null;
  readonly deadLetters: number;
  /**
   * Whether its address is known. A subscriber that a settings file created waits for its address.
   */
  readonly hasAddress: boolean;
  /** Whether it has waited for a minute, and no worker claimed it. */
  readonly isUntaken: boolean;
}

/** A subscriber as it was requested. */
export interface HookPlan
  extends Pick<
    FeedHook,
    | 'name'
    | 'target'
    | 'accountId'
    | 'tables'
    | 'columns'
    | 'leavesOut'
    | 'masks'
    | 'most'
    | 'system'
  > {
  readonly sealed: Sealed;
  /** The cursor to begin at; null: the end of the feed as it is now. */
  readonly after: string | null;
}

/**
 * Creates a subscriber.
 * @returns the cursor at which it begins; null if a subscriber of that name exists
 * @throws SQLSTATE FM410 or 22023: the feed cannot be read from the cursor
 */
export async function insertHook(db: Queryable, plan: HookPlan): Promise<string | null> {
  const {name, target, sealed, accountId, tables, leavesOut, masks, most, system, after} = plan;
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]);
  const {rows} = await db.query<{cursor: string}>(
    `INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, account_id, tables,
       leaves_out, masks, most, system, columns, cursor)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce($12, sync.feed_end()))
       ON CONFLICT (name) DO NOTHING RETURNING cursor`,
    [
      ...[name, target, sealed.bytes, sealed.keyId, accountId, tables, leavesOut, masks, most],
      ...[system, plan.columns, after],
    ],
  );
  return rows[0]?.cursor ?? null;
}

/**
 * Gives a subscriber the address that it waits for.
 * @param after - the cursor to begin at; null: that of its creation, so that it misses nothing
 * @returns the cursor at which it begins; null if no subscriber of that name waits for an address
 * @throws SQLSTATE FM410 or 22023: the feed cannot be read from the cursor
 */
export async function giveAddress(
  db: Queryable,
  {name, target, sealed, after}: Pick<HookPlan, 'name' | 'target' | 'sealed' | 'after'>,
): Promise<string | null> {
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]);
  const {rows} = await db.query<{cursor: string}>(
    `UPDATE sync.feed_hooks SET target = $2, sealed_access = $3, key_id = $4,
       cursor = coalesce($5, cursor), due_at = now()
      WHERE name = $1 AND key_id = '' RETURNING cursor`,
    [name, target, sealed.bytes, sealed.keyId, after],
  );
  return rows[0]?.cursor ?? null;
}

/** Every subscriber, by name. */
export async function listHooks(db: Queryable): Promise<FeedHook[]> {
  const {rows} = await db.query<FeedHook>(
    `SELECT ${selectColumns(columns, 'hook')}, account.name AS account,
            hook.key_id <> '' AS "hasAddress",
            CASE WHEN split_part(hook.cursor, '-', 1) = state.feed_id
                 THEN (state.last_position - split_part(hook.cursor, '-',
                   2)::bigint)::double precision END AS behind,
            (SELECT count(*)::integer FROM sync.feed_dead_letters AS letter
              WHERE letter.hook_id = hook.hook_id) AS "deadLetters",
            coalesce(hook.stopped_at IS NULL
              AND greatest(hook.lease_until, hook.due_at) < now() - interval '1 minute'
              AND split_part(hook.cursor, '-', 1) = state.feed_id AND (
                SELECT at FROM sync.feed_entries
                  WHERE position > split_part(hook.cursor, '-', 2)::bigint
                 ORDER BY position LIMIT 1) < now() - interval '1 minute', false) AS "isUntaken"
       FROM sync.feed_hooks AS hook CROSS JOIN sync.feed_state AS state
       LEFT JOIN sync.accounts AS account USING (account_id)
      ORDER BY hook.name`,
  );
  return rows;
}

/** Removes a subscriber with its dead letters. @returns false if none has that name */
export async function deleteHook(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query('DELETE FROM sync.feed_hooks WHERE name = $1', [name]);
  return rowCount === 1;
}

/** Lists the writers that entries can name: logins, and keys of the HTTP API as `http: NAME`. */
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

/** The settings of a subscriber. */
interface HookSetting {
  readonly name: string;
  /** The host of its address. */
  readonly target: string;
  /** Name of the only account whose entries are sent; null for all. */
  readonly account: string | null;
  readonly tables: readonly string[] | null;
  readonly columns: readonly string[] | null;
  readonly leavesOut: readonly string[] | null;
  readonly masks: boolean;
  readonly most: number;
  readonly system: string;
}

/** The settings of every subscriber, by name. */
export async function listHookSettings(db: Queryable): Promise<HookSetting[]> {
  const {rows} = await db.query<HookSetting>(
    `SELECT hook.name, target, account.name AS account, tables, columns,
            leaves_out AS "leavesOut", masks, most, system
       FROM sync.feed_hooks AS hook LEFT JOIN sync.accounts AS account USING (account_id)
         ORDER BY hook.name`,
  );
  return rows;
}

/**
 * Changes the settings of a subscriber; its address and its place in the feed stay. A message in
 * progress is given up. Its entries are sent again by the new settings, under another id, because
 * one id never identifies two messages. A new subscriber begins at the end of the feed, and waits
 * for its address.
 */
export async function writeHookSetting(
  db: Queryable,
  {name, target, account, tables, columns, leavesOut, masks, most, system}: HookSetting,
): Promise<void> {
  await db.query(
    `INSERT INTO sync.feed_hooks AS hook (name, target, sealed_access, key_id, account_id, tables,
       leaves_out, masks, most, system, columns, cursor)
     VALUES ($1, $2, '', '', (SELECT account_id FROM sync.accounts WHERE name = $3), $4, $5, $6, $7,
       $8, $9, sync.feed_end())
         ON CONFLICT (name) DO UPDATE
        SET account_id = EXCLUDED.account_id, tables = EXCLUDED.tables,
            leaves_out = EXCLUDED.leaves_out, masks = EXCLUDED.masks,
            most = EXCLUDED.most, system = EXCLUDED.system, columns = EXCLUDED.columns,
            batch_id = NULL, batch_to = NULL, lease_until = NULL,
            fence = hook.fence + 1`,
    [name, target, account, tables, leavesOut, masks, most, system, columns],
  );
}

/**
 * The logins that are members of fieldmirror_author, and the keys of the HTTP API as `http: NAME`:
 * those that write from outside.
 */
export async function listAuthors(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{author: string}>(
    `SELECT login.rolname::text AS author
       FROM pg_auth_members AS held JOIN pg_roles AS login ON login.oid = held.member
         JOIN pg_roles AS role ON role.oid = held.roleid
      WHERE role.rolname = 'fieldmirror_author' AND login.rolcanlogin
      UNION SELECT 'http: ' || name FROM sync.api_keys ORDER BY author`,
  );
  return rows.map(({author}) => author);
}

/** A claimed subscriber, with everything that is needed to send to it. */
export interface ClaimedHook
  extends SendClaim,
    Pick<
      FeedHook,
      'name' | 'accountId' | 'tables' | 'columns' | 'leavesOut' | 'masks' | 'most' | 'system'
    > {
  readonly cursor: string;
  /** The batch that was in progress; null: none. */
  readonly batchId: string | null;
  readonly batchTo: string | null;
  readonly sealed: Sealed;
}

export const hookQueue = {table: 'sync.feed_hooks', id: 'hook_id'} as const;

/** The subscriber's columns of `ClaimedHook`, for a query in which it is `due`. */
const claimedColumns = `due.name, due.account_id AS "accountId", due.tables, due.columns,
  due.leaves_out AS "leavesOut", due.masks, due.system, due.key_id AS "keyId",
  due.sealed_access AS bytes`;

/**
 * Claims subscribers that have not reached the end of the feed. If this worker lacks a subscriber's
 * key, it leaves that subscriber to another. In a database that may be a copy it claims none.
 */
export async function claimHooks(
  db: Queryable,
  keyIds: readonly string[],
  limit: number,
): Promise<ClaimedHook[]> {
  const columns = `${claimedColumns}, due.most, due.cursor, due.batch_id AS "batchId",
    due.batch_to AS "batchTo", due.attempts AS failures`;
  const where = `due.stopped_at IS NULL AND due.key_id = ANY ($2)
    AND due.cursor <> sync.feed_end() AND NOT sync.is_copy()`;
  return await claimDue<ClaimedHook>(db, hookQueue, {columns, where}, [limit, keyIds]);
}

/** Stores a batch before it is sent. @returns its id; null if the claim no longer holds */
export async function saveBatch(
  db: Queryable,
  hook: ClaimedHook,
  to: string,
): Promise<string | null> {
  const batchId = hook.batchId ?? randomUUID();
  const changes = `batch_id = $3, batch_to = $4, lease_until = ${sendLease}`;
  return (await noteClaim(db, hookQueue, hook, changes, [batchId, to])) ? batchId : null;
}

/** Moves the cursor behind entries that are not sent. @returns whether the claim still holds */
export async function moveCursor(
  db: Queryable,
  hook: ClaimedHook,
  cursor: string,
): Promise<boolean> {
  return await noteClaim(db, hookQueue, hook, `cursor = $3, lease_until = ${sendLease}`, [cursor]);
}

/** Stores that the subscriber accepted its batch. @returns whether the claim still holds */
export async function saveAccepted(db: Queryable, hook: ClaimedHook): Promise<boolean> {
  return await noteClaim(
    ...[db, hookQueue, hook],
    `cursor = batch_to, batch_id = NULL, batch_to = NULL, attempts = 0, failing_since = NULL,
     last_error = NULL, sent_at = now(), lease_until = ${sendLease}`,
  );
}

/** Stores that the subscriber did not accept its batch: it is due again later, or stopped. */
export async function saveRefused(
  db: Queryable,
  hook: ClaimedHook,
  {error, afterMs, isLast}: FailedTry,
): Promise<void> {
  await noteClaim(
    ...[db, hookQueue, hook],
    `attempts = attempts + 1, last_error = $3, failing_since = coalesce(failing_since, now()),
     lease_until = NULL, due_at = now() + $4 * interval '1 millisecond',
     stopped_at = CASE WHEN $5 THEN now() END`,
    [error, afterMs, isLast],
  );
}

/** A batch that was skipped. Instants are ISO 8601 in UTC. */
export interface DeadLetter {
  readonly letterId: string;
  readonly hook: string;
  readonly afterCursor: string;
  readonly toCursor: string;
  readonly attempts: number;
  readonly reason: string;
  readonly skippedAt: string;
  readonly skippedBy: string;
}

/**
 * Refuses a subscriber of a settings file that waits for its address: nothing can be sent to it.
 * @throws {UsageError}
 */
export function refuseWaiting({name, hasAddress}: Pick<FeedHook, 'name' | 'hasAddress'>): void {
  if (hasAddress) return;
  throw new UsageError(
    `subscriber ${name} waits for its address, so that nothing can be sent to it: ` +
      `fieldmirror hooks add ${name} --url URL`,
  );
}

/**
 * Lets a subscriber be sent its batch again at once, stopped or not.
 * @param requestedCursor - the cursor to start at instead, or `end` for the newest entry: the
 *   batch is dropped; null to continue
 * @returns the cursor that sending starts at; null if no subscriber has that name
 * @throws {UsageError} the feed cannot be read from the cursor
 */
export async function retryHook(
  db: Queryable,
  name: string,
  requestedCursor: string | null,
): Promise<string | null> {
  const after = requestedCursor === 'end' ? await readFeedEnd(db) : requestedCursor;
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]).catch(refuseCursor);
  const {rows} = await db.query<{cursor: string}>(
    `UPDATE sync.feed_hooks
        SET stopped_at = NULL, attempts = 0, due_at = now(), failing_since = NULL,
            last_error = NULL,
            cursor = coalesce($2, cursor),
            fence = CASE WHEN $2::text IS NULL THEN fence ELSE fence + 1 END,
            batch_id = CASE WHEN $2::text IS NULL THEN batch_id END,
            batch_to = CASE WHEN $2::text IS NULL THEN batch_to END,
            lease_until = CASE WHEN $2::text IS NULL THEN lease_until END
      WHERE name = $1 RETURNING cursor`,
    [name, after],
  );
  return rows[0]?.cursor ?? null;
}

/**
 * Reads the cursor behind every committed entry.
 * @param db - end its transaction at once, if it is in one: others wait for it
 */
export async function readFeedEnd(db: Queryable): Promise<string> {
  await db.query('SELECT sync.sequence_feed()');
  const {rows} = await db.query<{cursor: string}>('SELECT sync.feed_end() AS cursor');
  return rows[0]?.cursor ?? '';
}

/**
 * @throws {UsageError} in place of an error of a cursor that the feed cannot be read from; another
 *   error is thrown as it is
 */
export function refuseCursor(cause: unknown): never {
  const isCursorError =
    cause instanceof Error &&
    (cause.name === 'CursorError' || isDatabaseError(cause, 'FM410', '22023'));
  if (!isCursorError) throw cause;
  throw new UsageError(
    `hooks: ${cause.message}; the cursor "end" begins with what comes from now on`,
    {cause},
  );
}

/**
 * Stores the batch that a subscriber does not accept as a dead letter, and moves the cursor behind
 * it.
 * @returns the number of the dead letter; null if the subscriber's last try did not fail
 */
export async function skipBatch(db: Queryable, name: string): Promise<string | null> {
  const {rows} = await db.query<{letterId: string}>(
    `WITH held AS (
       SELECT * FROM sync.feed_hooks WHERE name = $1 AND batch_id IS NOT NULL
         AND failing_since IS NOT NULL FOR UPDATE
     ), moved AS (
       UPDATE sync.feed_hooks AS hook
          SET cursor = held.batch_to, batch_id = NULL, batch_to = NULL, attempts = 0,
              failing_since = NULL, last_error = NULL,
              stopped_at = NULL, due_at = now(), lease_until = NULL, fence = hook.fence + 1
         FROM held WHERE hook.hook_id = held.hook_id)
     INSERT INTO sync.feed_dead_letters (hook_id, batch_id, after_cursor, to_cursor, attempts,
       reason, failing_since, skipped_by)
     SELECT hook_id, batch_id, cursor, batch_to, attempts, last_error, failing_since, sync.decider()
       FROM held RETURNING letter_id AS "letterId"`,
    [name],
  );
  return rows[0]?.letterId ?? null;
}

/** The dead letters of all subscribers, the oldest first. */
export async function listDeadLetters(db: Queryable): Promise<DeadLetter[]> {
  const {rows} = await db.query<DeadLetter>(
    `SELECT letter_id AS "letterId", hook.name AS hook, after_cursor AS "afterCursor",
            to_cursor AS "toCursor", letter.attempts, reason,
            skipped_at AS "skippedAt", skipped_by AS "skippedBy"
       FROM sync.feed_dead_letters AS letter JOIN sync.feed_hooks AS hook USING (hook_id)
         ORDER BY letter_id`,
  );
  return rows;
}

/**
 * Reads a dead letter of a subscriber as a batch that can be sent; null if none has that number. It
 * may have more entries than its subscriber accepts by now.
 */
export async function readDeadLetter(
  db: Queryable,
  {name, letterId}: {readonly name: string; readonly letterId: string},
): Promise<ClaimedHook | null> {
  const {rows} = await db.query<Omit<ClaimedHook, 'sealed'> & {keyId: string; bytes: Buffer}>(
    `SELECT due.hook_id AS id, due.fence, ${claimedColumns}, ${maxEntries} AS most,
            letter.after_cursor AS cursor, letter.batch_id AS "batchId",
            letter.to_cursor AS "batchTo", letter.attempts AS failures
       FROM sync.feed_dead_letters AS letter JOIN sync.feed_hooks AS due USING (hook_id)
         WHERE due.name = $1 AND letter.letter_id = $2`,
    [name, letterId],
  );
  return rows.map(({keyId, bytes, ...hook}) => ({...hook, sealed: {keyId, bytes}}))[0] ?? null;
}

/** Deletes a dead letter: it was accepted, or a person drops it. @returns false if there is none */
export async function deleteDeadLetter(db: Queryable, letterId: string): Promise<boolean> {
  const {rowCount} = await db.query('DELETE FROM sync.feed_dead_letters WHERE letter_id = $1', [
    letterId,
  ]);
  return rowCount === 1;
}

/** The account, tables and columns that are sent to a subscriber: `acme: jobs: name, status`. */
export function describeHookScope({
  account,
  tables,
  columns,
}: Pick<FeedHook, 'account' | 'tables' | 'columns'>): string {
  const parts = [account, tables?.join(', ') ?? null, columns?.join(', ') ?? null];
  const scope = parts.filter((part) => part !== null).join(': ');
  return scope === '' ? 'everything' : scope;
}
