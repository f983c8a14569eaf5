// Claims on changes, by the database's clock. If a worker was lost while it sent a change, the
// change may have arrived: it is in doubt for every later worker.

import {markThisProcess} from '../core/lease.ts';
import type {Queryable} from '../postgres/database.ts';
import type {RecentWrite} from '../rows/change-values.ts';
import {recentWrites} from '../rows/table-sql.ts';
import {type Change, changeColumns} from './change.ts';

/** A change that this process holds for as long as its lease lasts. */
export interface ClaimedChange extends Change {
  /** Name of the account. */
  readonly accountName: string;
  /** By the database's clock. */
  readonly claimedAt: string;
  /** Version of the account's row: it differs if the account was written since. */
  readonly accountVersion: string;
  /**
   * How long ago its latest request ended, or its worker was lost, in milliseconds by the
   * database's clock: from then on no request leaves, though one may still arrive. Null if none was
   * sent.
   */
  readonly requestEndedAgoMs: number | null;
  /**
   * How long ago, in milliseconds, the latest request ended of another update or delete of the
   * record that was sent twice or more. One of its requests was lost, and may still arrive. Null if
   * there is none.
   */
  readonly sentAgainAgoMs: number | null;
  /** Kinds of values that the service altered, and that no person has checked yet. */
  readonly stoppedKinds: readonly string[];
  /**
   * True if the service has answered that it wrote the change; the record is still to be read back.
   */
  readonly isWritten: boolean;
  /**
   * Earlier changes of the same row that were done a short while ago, in their order: a reading may
   * be older than they are.
   */
  readonly recentWrites: readonly RecentWrite[];
}

/**
 * SQL that ends the open attempts of the changes which the query above it has put in doubt,
 * `doubted (change_id, reason)`: from now on no request of theirs leaves.
 */
export const endDoubted = `
  UPDATE sync.attempts AS attempt SET ended_at = clock_timestamp(), outcome = 'in-doubt',
         answer = doubted.reason
    FROM doubted WHERE attempt.change_id = doubted.change_id AND ended_at IS NULL`;

/**
 * SQL for when the last request of a change that was sent can have left. That is its end rather
 * than its start, because it may have waited long for its turn.
 * @param change - the alias of sync.changes in the query
 */
const lastRequestEnd = (change: string) =>
  `greatest(${change}.sent_at,
     (SELECT max(ended_at) FROM sync.attempts WHERE change_id = ${change}.change_id))`;

/** The proof that this process still holds a change. */
export type ChangeClaim = Pick<Change, 'changeId' | 'fence'>;

/**
 * Claims changes of an active account that are due, the longest due first. A change that waits for
 * another is not due.
 * @param limit - how many at most
 */
export async function claimChanges(
  db: Queryable,
  accountId: string,
  {limit, leaseMs}: {readonly limit: number; readonly leaseMs: number},
): Promise<ClaimedChange[]> {
  await doubtLost(db, accountId);
  const {rows} = await db.query<ClaimedChange>(
    `WITH ready AS (
       SELECT change_id FROM sync.changes
        WHERE account_id = $1 AND state IN ('pending', 'in_doubt') AND waits_for IS NULL
          AND due_at <= now()
          AND (lease_until IS NULL OR lease_until < now())
          AND EXISTS (SELECT FROM sync.accounts WHERE account_id = $1 AND state = 'active')
          AND NOT (SELECT sync.is_copy())
        ORDER BY due_at, change_id LIMIT $2 FOR UPDATE SKIP LOCKED), claimed AS (
       UPDATE sync.changes AS held SET fence = fence + 1,
              lease_until = now() + $3 * interval '1 millisecond', holder = $4
         FROM ready WHERE held.change_id = ready.change_id
    RETURNING held.*)
     SELECT ${changeColumns}, now() AS "claimedAt",
            (SELECT name FROM sync.accounts WHERE account_id = $1) AS "accountName",
            (SELECT xmin::text FROM sync.accounts WHERE account_id = $1) AS "accountVersion",
            extract(epoch FROM now() - CASE state
              WHEN 'in_doubt' THEN ${lastRequestEnd('claimed')}
              ELSE sent_at END)::double precision * 1000
              AS "requestEndedAgoMs",
            (SELECT extract(epoch FROM now() - max(${lastRequestEnd('other')}))::double precision
                    * 1000
               FROM sync.changes AS other
              WHERE other.row_id = claimed.row_id AND other.table_name = claimed.table_name
                AND other.sends > 1 AND other.operation <> 'create'
                AND other.change_id <> claimed.change_id) AS "sentAgainAgoMs",
            ARRAY(SELECT DISTINCT kind FROM sync.alterations
                   WHERE account_id = $1 AND is_stop) AS "stoppedKinds",
            state = 'in_doubt' AND EXISTS (
              SELECT FROM sync.attempts
               WHERE change_id = claimed.change_id AND outcome = 'done') AS "isWritten",
            ${recentWrites('own.row_id = claimed.row_id AND own.table_name = claimed.table_name')}
              AS "recentWrites"
       FROM claimed ORDER BY change_id`,
    [accountId, limit, leaseMs, await markThisProcess()],
  );
  return rows;
}

/** The changes of an account that processes have in hand. */
export interface HeldChanges {
  readonly count: number;
  /**
   * Milliseconds until the last of their leases ends, unless it is renewed; 0 if there is none. By
   * the database's clock.
   */
  readonly leaseMs: number;
}

/** Reads how many changes of an account are in hand. */
export async function readHeldChanges(db: Queryable, accountId: string): Promise<HeldChanges> {
  const {rows} = await db.query<HeldChanges>(
    `SELECT count(*)::integer AS count,
            coalesce(extract(epoch FROM max(lease_until) - now()), 0)::double precision * 1000
              AS "leaseMs"
       FROM sync.changes
      WHERE account_id = $1 AND state IN ('pending', 'in_doubt', 'sending')
        AND lease_until > now()`,
    [accountId],
  );
  return rows[0] ?? {count: 0, leaseMs: 0};
}

/** An account that has changes to carry. */
export interface DueAccount {
  readonly accountId: string;
  readonly name: string;
}

/**
 * Lists accounts that have changes to carry now. The query runs every few seconds. Its order, which
 * an EXISTS would not keep, makes Postgres use the index. Without it Postgres reads the whole table
 * if many changes wait and few are due.
 */
export async function listAccountsWithDueChanges(
  db: Queryable,
  accountIds: readonly string[],
): Promise<DueAccount[]> {
  const {rows} = await db.query<DueAccount>(
    `SELECT account_id AS "accountId", name FROM sync.accounts AS account
      WHERE account_id = ANY ($1) AND state = 'active' AND NOT (SELECT sync.is_copy())
        AND ((SELECT true FROM sync.changes
               WHERE account_id = account.account_id AND state IN ('pending', 'in_doubt')
                 AND waits_for IS NULL AND due_at <= now()
                 AND (lease_until IS NULL OR lease_until < now())
               ORDER BY due_at, change_id LIMIT 1)
             OR EXISTS (SELECT FROM sync.changes
                         WHERE account_id = account.account_id AND state = 'sending'
                           AND lease_until < now()))`,
    [accountIds],
  );
  return rows;
}

/**
 * Renews the leases of changes. An author whose transaction is open may lock the row of one of them
 * for long: the others do not wait for it, and it keeps its lease.
 * @returns for each claim whether it still holds; null if another transaction has locked the change
 */
export async function renewClaims(
  db: Queryable,
  claims: readonly ChangeClaim[],
  leaseMs: number,
): Promise<(boolean | null)[]> {
  const {rows} = await db.query<{changeId: string; renewed: number | null}>(
    `WITH free AS (
       SELECT change_id FROM sync.changes WHERE change_id = ANY ($1::bigint[])
          FOR UPDATE SKIP LOCKED
     ), renewed AS (
       UPDATE sync.changes AS held SET lease_until = now() + $3 * interval '1 millisecond'
         FROM unnest($1::bigint[], $2::integer[]) AS claim (change_id, fence)
         JOIN free USING (change_id)
        WHERE held.change_id = claim.change_id AND held.fence = claim.fence
          AND held.lease_until IS NOT NULL
    RETURNING held.change_id, held.fence)
     SELECT change_id AS "changeId", fence AS renewed
       FROM free LEFT JOIN renewed USING (change_id)`,
    [claims.map(({changeId}) => changeId), claims.map(({fence}) => fence), leaseMs],
  );
  const fences = new Map(rows.map(({changeId, renewed}) => [changeId, renewed]));
  return claims.map(({changeId, fence}) => {
    const renewed = fences.get(changeId);
    return renewed === undefined ? null : renewed === fence;
  });
}

/**
 * Puts changes of lost workers in doubt. A request may leave until the lease of its worker expires:
 * only then does the time begin in which it may arrive.
 */
async function doubtLost(db: Queryable, accountId: string): Promise<void> {
  await db.query(
    `WITH doubted AS (
       UPDATE sync.changes SET state = 'in_doubt', lease_until = NULL, due_at = now(),
              fence = fence + 1,
              reason = 'its worker was lost while it was being sent'
        WHERE change_id IN (
          SELECT change_id FROM sync.changes
           WHERE account_id = $1 AND state = 'sending' AND lease_until < now()
             AND NOT (SELECT sync.is_copy())
           FOR UPDATE SKIP LOCKED)
    RETURNING change_id, reason)
     ${endDoubted}`,
    [accountId],
  );
}
