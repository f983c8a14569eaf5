// How far changes have come, for a person who waits. By the database's clock.

import type {Queryable} from '../postgres/database.ts';

/** Changes of an account that go on by themselves. */
export interface MovingChanges {
  readonly accountId: string;
  /** Pending, being sent, or in doubt. */
  readonly left: number;
  /** Came to their end within the last minute. */
  readonly settledLastMinute: number;
}

/**
 * Counts the changes that go on by themselves, by account; an account without any is left out.
 * Changes are carried in the order in which they were made, so those that ended just now stand
 * around the oldest that is due: they are found there by the primary key, for the table may hold
 * years of changes.
 */
export async function countMovingChanges(
  db: Queryable,
  accountIds: readonly string[],
): Promise<MovingChanges[]> {
  const {rows} = await db.query<MovingChanges>(
    `WITH moving AS (
       SELECT account_id, count(*)::integer AS left_over,
              min(change_id) FILTER (WHERE state <> 'in_doubt' AND failures = 0 AND waits_for IS NULL) AS oldest
         FROM sync.changes
        WHERE account_id = ANY ($1) AND is_open AND state IN ('pending', 'sending', 'in_doubt')
        GROUP BY account_id)
     SELECT account_id AS "accountId", left_over AS "left",
            (SELECT count(*)::integer FROM sync.changes AS settled
              WHERE settled.change_id BETWEEN moving.oldest - 20000 AND moving.oldest + 20000
                AND settled.account_id = moving.account_id AND settled.settled_at > now() - interval '1 minute') AS "settledLastMinute"
       FROM moving ORDER BY account_id`,
    [accountIds],
  );
  return rows;
}
