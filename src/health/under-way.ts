// How far sweeps have come, for a person who waits. By the database's clock.

import type {Queryable} from '../postgres/database.ts';
import type {SweepMode, SweepStage} from '../sweeps/sweep.ts';

/**
 * A sweep that a worker has under way, and the last one of the same kind that read its list to the
 * end.
 */
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
