// What a subscriber is sent, under a lease by the database's clock. The batch is noted before it is
// sent: a worker that is killed between sending and noting leaves its lease behind, and another one
// sends the same batch again, under the same id.

import type {Queryable} from '../postgres/database.ts';
import type {FeedHook} from './feed-hooks.ts';

/** A subscriber that was claimed, and all that it takes to send to it. */
export interface ClaimedHook
  extends Pick<
    FeedHook,
    'hookId' | 'name' | 'accountId' | 'tables' | 'leavesOut' | 'masks' | 'most'
  > {
  readonly fence: number;
  readonly cursor: string;
  /** The batch that was under way; null: none. */
  readonly batchId: string | null;
  readonly batchTo: string | null;
  readonly attempts: number;
  readonly sealed: {readonly keyId: string; readonly bytes: Buffer};
}

type Claimed = Pick<ClaimedHook, 'hookId' | 'fence'>;

/** Longer than any try takes. */
const lease = "interval '1 minute'";
const isOurs = 'hook_id = $1 AND fence = $2 AND lease_until IS NOT NULL';

/**
 * Claims subscribers that have not seen the end of the feed and are due, and those whose worker was
 * lost. A subscriber whose key this worker has not is left to another; in a database that may be a
 * copy there is none.
 */
export async function claimHooks(
  db: Queryable,
  keyIds: readonly string[],
  limit: number,
): Promise<ClaimedHook[]> {
  const {rows} = await db.query<Omit<ClaimedHook, 'sealed'> & {keyId: string; bytes: Buffer}>(
    `UPDATE sync.feed_hooks AS hook SET fence = fence + 1, lease_until = now() + ${lease}
      WHERE hook_id IN (
        SELECT hook_id FROM sync.feed_hooks
         WHERE stopped_at IS NULL AND due_at <= now() AND (lease_until IS NULL OR lease_until <= now()) AND key_id = ANY ($1)
           AND cursor <> sync.feed_end() AND NOT sync.is_copy()
         ORDER BY due_at, hook_id LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING hook_id AS "hookId", name, account_id AS "accountId", tables, leaves_out AS "leavesOut", masks, most, fence, cursor,
               batch_id AS "batchId", batch_to AS "batchTo", attempts, key_id AS "keyId", sealed_access AS bytes`,
    [keyIds, limit],
  );
  return rows.map(({keyId, bytes, ...hook}) => ({...hook, sealed: {keyId, bytes}}));
}

/** Notes a batch before it is sent. @returns its id; null where the subscriber is no longer ours */
export async function beginBatch(
  db: Queryable,
  {hookId, fence}: Claimed,
  to: string,
): Promise<string | null> {
  const {rows} = await db.query<{id: string}>(
    `UPDATE sync.feed_hooks SET batch_id = coalesce(batch_id, gen_random_uuid()), batch_to = $3, lease_until = now() + ${lease}
      WHERE ${isOurs} RETURNING batch_id AS id`,
    [hookId, fence, to],
  );
  return rows[0]?.id ?? null;
}

/** Goes on behind entries that are not sent. @returns whether the subscriber is still ours */
export async function moveOn(
  db: Queryable,
  {hookId, fence}: Claimed,
  cursor: string,
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.feed_hooks SET cursor = $3, lease_until = now() + ${lease} WHERE ${isOurs}`,
    [hookId, fence, cursor],
  );
  return rowCount === 1;
}

/** The subscriber took its batch. @returns whether it is still ours */
export async function noteTaken(db: Queryable, {hookId, fence}: Claimed): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.feed_hooks
        SET cursor = batch_to, batch_id = NULL, batch_to = NULL, attempts = 0, failing_since = NULL, last_error = NULL,
            sent_at = now(), lease_until = now() + ${lease}
      WHERE ${isOurs} AND batch_id IS NOT NULL`,
    [hookId, fence],
  );
  return rowCount === 1;
}

/** The subscriber did not take its batch: it is due again later, or stopped. */
export async function noteRefused(
  db: Queryable,
  {hookId, fence}: Claimed,
  {
    error,
    afterMs,
    stops,
  }: {readonly error: string; readonly afterMs: number; readonly stops: boolean},
): Promise<void> {
  await db.query(
    `UPDATE sync.feed_hooks
        SET attempts = attempts + 1, last_error = $3, failing_since = coalesce(failing_since, now()), lease_until = NULL,
            due_at = now() + $4 * interval '1 millisecond', stopped_at = CASE WHEN $5 THEN now() END
      WHERE ${isOurs}`,
    [hookId, fence, error, afterMs, stops],
  );
}

/** Gives the subscriber back: there is nothing more to send, or this worker ends. */
export async function release(db: Queryable, {hookId, fence}: Claimed): Promise<void> {
  await db.query(`UPDATE sync.feed_hooks SET lease_until = NULL WHERE ${isOurs}`, [hookId, fence]);
}
