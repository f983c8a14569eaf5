// A batch that a subscriber does not take, as a person decides on it: sent again, skipped, and of
// the skipped ones sent again late or dropped.

import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import type {FeedHook} from './feed-hooks.ts';
import type {ClaimedHook} from './hook-claims.ts';
import {mostEntries} from './hook-tables.ts';

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
 * Nothing can be sent to a subscriber of a file of settings before it has its address.
 * @throws {UsageError}
 */
export function refuseWaiting({name, hasAddress}: Pick<FeedHook, 'name' | 'hasAddress'>): void {
  if (hasAddress) return;
  throw new UsageError(
    `subscriber ${name} waits for its address, so that nothing can be sent to it: fieldmirror hooks add ${name} --url URL`,
  );
}

/**
 * Lets a subscriber be sent its batch again at once, stopped or not.
 * @param after - begins at this cursor instead, and forgets the batch; null: goes on where it is
 * @returns false where there is none of that name
 * @throws SQLSTATE FM410 or 22023: the cursor cannot be read from
 */
export async function retryHook(
  db: Queryable,
  name: string,
  after: string | null,
): Promise<boolean> {
  if (after !== null) await db.query('SELECT FROM sync.feed($1, 0)', [after]);
  const {rowCount} = await db.query(
    `UPDATE sync.feed_hooks
        SET stopped_at = NULL, attempts = 0, due_at = now(), failing_since = NULL, last_error = NULL,
            cursor = coalesce($2, cursor), fence = CASE WHEN $2::text IS NULL THEN fence ELSE fence + 1 END,
            batch_id = CASE WHEN $2::text IS NULL THEN batch_id END, batch_to = CASE WHEN $2::text IS NULL THEN batch_to END,
            lease_until = CASE WHEN $2::text IS NULL THEN lease_until END
      WHERE name = $1`,
    [name, after],
  );
  return rowCount === 1;
}

/**
 * Puts the batch that a subscriber does not take aside, and goes on behind it.
 * @returns the number of the dead letter; null where its last try did not fail
 */
export async function skipBatch(db: Queryable, name: string): Promise<string | null> {
  const {rows} = await db.query<{letterId: string}>(
    `WITH held AS (
       SELECT * FROM sync.feed_hooks WHERE name = $1 AND batch_id IS NOT NULL AND failing_since IS NOT NULL FOR UPDATE
     ), moved AS (
       UPDATE sync.feed_hooks AS hook
          SET cursor = held.batch_to, batch_id = NULL, batch_to = NULL, attempts = 0, failing_since = NULL, last_error = NULL,
              stopped_at = NULL, due_at = now(), lease_until = NULL, fence = hook.fence + 1
         FROM held WHERE hook.hook_id = held.hook_id)
     INSERT INTO sync.feed_dead_letters (hook_id, batch_id, after_cursor, to_cursor, attempts, reason, failing_since, skipped_by)
     SELECT hook_id, batch_id, cursor, batch_to, attempts, last_error, failing_since, sync.decider() FROM held RETURNING letter_id AS "letterId"`,
    [name],
  );
  return rows[0]?.letterId ?? null;
}

/** The dead letters of all subscribers, the oldest first. */
export async function listDeadLetters(db: Queryable): Promise<DeadLetter[]> {
  const {rows} = await db.query<DeadLetter>(
    `SELECT letter_id AS "letterId", hook.name AS hook, after_cursor AS "afterCursor", to_cursor AS "toCursor", letter.attempts, reason,
            skipped_at AS "skippedAt", skipped_by AS "skippedBy"
       FROM sync.feed_dead_letters AS letter JOIN sync.feed_hooks AS hook USING (hook_id) ORDER BY letter_id`,
  );
  return rows;
}

/**
 * A dead letter of a subscriber, as a batch that can be sent; null where there is none of that
 * number. It may have more entries than its subscriber takes by now.
 */
export async function readDeadLetter(
  db: Queryable,
  {name, letterId}: {readonly name: string; readonly letterId: string},
): Promise<ClaimedHook | null> {
  const {rows} = await db.query<Omit<ClaimedHook, 'sealed'> & {keyId: string; bytes: Buffer}>(
    `SELECT hook.hook_id AS "hookId", hook.name, hook.account_id AS "accountId", hook.tables, hook.leaves_out AS "leavesOut", hook.masks, ${mostEntries} AS most,
            hook.fence, letter.after_cursor AS cursor, letter.batch_id AS "batchId", letter.to_cursor AS "batchTo", letter.attempts,
            hook.key_id AS "keyId", hook.sealed_access AS bytes
       FROM sync.feed_dead_letters AS letter JOIN sync.feed_hooks AS hook USING (hook_id) WHERE hook.name = $1 AND letter.letter_id = $2`,
    [name, letterId],
  );
  return rows.map(({keyId, bytes, ...hook}) => ({...hook, sealed: {keyId, bytes}}))[0] ?? null;
}

/** Forgets a dead letter: it was taken, or a person drops it. @returns false where there is none */
export async function deleteDeadLetter(db: Queryable, letterId: string): Promise<boolean> {
  const {rowCount} = await db.query('DELETE FROM sync.feed_dead_letters WHERE letter_id = $1', [
    letterId,
  ]);
  return rowCount === 1;
}
