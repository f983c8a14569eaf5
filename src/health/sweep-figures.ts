// Figures of the sweeps and schedules of every account, read again and again by whoever watches:
// each statement goes by an index, and costs the same however long the past is. Ages are by the
// clock of the database.

import type {Queryable} from '../postgres/database.ts';
import type {SweepEnd} from '../sweeps/sweep.ts';

/**
 * One stream of one account: how old its knowledge is, and the figures of its last full sweep that
 * ended.
 */
export interface StreamFigures {
  readonly accountId: string;
  readonly stream: string;
  /** Seconds since the last certified sweep began; null where nothing was ever proven. */
  readonly provenAge: number | null;
  /** Null before the first full sweep has ended. */
  readonly lastFull: FullSweepFigures | null;
}

export interface FullSweepFigures {
  readonly state: SweepEnd;
  /** Seconds since its end. */
  readonly age: number;
  /** Seconds from its start to its end; null where it never started. */
  readonly duration: number | null;
  readonly records: number;
  readonly pages: number;
}

/** Reads every account's figures of the streams named, also of streams that were never swept. */
export async function listStreamFigures(
  db: Queryable,
  streams: readonly string[],
): Promise<StreamFigures[]> {
  const {rows} = await db.query<StreamFigures>(
    `SELECT account_id AS "accountId", asked.stream,
            extract(epoch FROM now() - proven.started_at)::float8 AS "provenAge", ended.figures AS "lastFull"
       FROM sync.accounts AS account CROSS JOIN unnest($1::text[]) AS asked (stream)
       LEFT JOIN LATERAL (
            SELECT started_at FROM sync.sweeps AS sweep
             WHERE sweep.account_id = account.account_id AND sweep.stream = asked.stream AND mode = 'full'
               AND sweep.state = 'certified'
             ORDER BY sweep_id DESC LIMIT 1) AS proven ON true
       LEFT JOIN LATERAL (
            SELECT json_build_object('state', sweep.state, 'age', extract(epoch FROM now() - ended_at),
                     'duration', extract(epoch FROM ended_at - started_at), 'records', records, 'pages', pages) AS figures
              FROM sync.sweeps AS sweep
             WHERE sweep.account_id = account.account_id AND sweep.stream = asked.stream AND mode = 'full'
               AND ended_at IS NOT NULL
             ORDER BY sweep_id DESC LIMIT 1) AS ended ON true
      ORDER BY account_id, asked.stream`,
    [streams],
  );
  return rows;
}

/** The sweeps of one stream that wait for a worker, or that one is carrying. */
export interface UnfinishedSweeps {
  readonly accountId: string;
  readonly stream: string;
  readonly state: 'due' | 'running';
  readonly count: number;
}

/** Counts the sweeps that have not ended, of any mode. */
export async function countUnfinishedSweeps(db: Queryable): Promise<UnfinishedSweeps[]> {
  const {rows} = await db.query<UnfinishedSweeps>(
    `SELECT account_id AS "accountId", stream, state, count(*)::integer AS count
       FROM sync.sweeps WHERE state IN ('due', 'running')
      GROUP BY account_id, stream, state ORDER BY account_id, stream, state`,
  );
  return rows;
}

/** The schedules of one stream and mode. */
export interface NextDue {
  readonly accountId: string;
  readonly stream: string;
  readonly mode: 'full' | 'window';
  /** When the first of them is due: seconds since 1970. */
  readonly at: number;
}

/** Reads when the next sweep of each stream is due by schedule. */
export async function listNextDue(db: Queryable): Promise<NextDue[]> {
  const {rows} = await db.query<NextDue>(
    `SELECT account_id AS "accountId", stream, mode, extract(epoch FROM min(next_due_at))::float8 AS at
       FROM sync.schedules GROUP BY account_id, stream, mode ORDER BY account_id, stream, mode`,
  );
  return rows;
}
