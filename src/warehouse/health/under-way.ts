// How far sweeps and changes have come, for a person who waits. By the database's clock.

import type {Queryable} from '../postgres/database.ts';
import type {SweepMode, SweepStage} from '../sweeps/sweep.ts';

/** A sweep that a worker has under way, and the last one of the same kind that read its list to the end. */
export interface RunningSweep {
  readonly accountId: string;
  readonly sweepId: string;
  readonly stream: string;
  readonly mode: SweepMode;
  readonly windowName: string | null;
  readonly recordNumber: string | null;
  readonly stage: SweepStage;
  /** Up to its checkpoint. */
  readonly records: number;
  readonly elapsedMs: number;
  /** Null where there is none. */
  readonly lastRecords: number | null;
}

/** Changes of an account that go on by themselves. */
export interface MovingChanges {
  readonly accountId: string;
  /** Pending, being sent, or in doubt. */
  readonly left: number;
  /** Came to their end within the last minute. */
  readonly settledLastMinute: number;
}

export async function listRunningSweeps(
  db: Queryable,
  accountIds: readonly string[],
): Promise<RunningSweep[]> {
  const {rows} = await db.query<RunningSweep>(
    `SELECT account_id AS "accountId", sweep_id AS "sweepId", stream, mode, window_name AS "windowName",
            record_number AS "recordNumber", stage, records::double precision,
            1000 * extract(epoch FROM now() - started_at)::double precision AS "elapsedMs",
            (SELECT records::double precision FROM sync.sweeps AS last
              WHERE last.account_id = running.account_id AND last.stream = running.stream AND last.mode = running.mode
                AND last.window_name IS NOT DISTINCT FROM running.window_name
                AND last.state IN ('certified', 'refreshed', 'uncertified')
              ORDER BY sweep_id DESC LIMIT 1) AS "lastRecords"
       FROM sync.sweeps AS running
      WHERE account_id = ANY ($1) AND state = 'running'
      ORDER BY account_id, sweep_id`,
    [accountIds],
  );
  return rows;
}

/**
 * Counts the changes that go on by themselves, by account; an account without any is left out. Changes are carried in the order
 * in which they were made, so those that ended just now stand around the oldest that is due: they are found there by the
 * primary key, for the table may hold years of changes.
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
