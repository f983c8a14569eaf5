// The background parts of workers, and the health of each: rows of sync.heartbeats.

import type {PulseReading} from '../core/rounds.ts';
import type {Queryable} from '../postgres/database.ts';
import {isOurs, type LockHolder, listHolders} from '../postgres/lock-waits.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {heartbeats} from './tables.ts';

/** Bounds of one part. */
interface PartBounds {
  /** The work of the part, as a subject of a sentence. */
  readonly what: string;
  /** The part needs a person when its last good round is older. */
  readonly lateMs: number;
  /** The longest time of a single round that has not failed; left out: `lateMs`. */
  readonly longestMs?: number;
}

const minuteMs = 60_000;

/** Every background part of a worker. */
export const parts = {
  rounds: {what: 'the check for due sweeps and changes', lateMs: minuteMs},
  star: {what: 'the refresh of the figures in mart', lateMs: minuteMs, longestMs: 10 * minuteMs},
  feed: {what: 'the feed', lateMs: minuteMs},
  hooks: {what: 'the sending of the feed to its subscribers', lateMs: minuteMs},
  alerts: {what: 'the check for what is wrong', lateMs: minuteMs},
  messages: {what: 'the sending of alerts', lateMs: minuteMs},
  // After each table and each file, the delivery notes that it continues.
  delivery: {
    ...{what: 'the delivery of the star', lateMs: 3 * minuteMs},
    longestMs: 10 * minuteMs,
  },
  // These two check once a minute.
  retention: {what: 'the removal of what is no longer kept', lateMs: 3 * minuteMs},
  reports: {what: 'the making and sending of weekly reports', lateMs: 3 * minuteMs},
} as const satisfies Readonly<Record<string, PartBounds>>;

export type PartName = keyof typeof parts;
export const partNames = Object.keys(parts) as readonly PartName[];

/** The bounds of a part. */
export function boundsOf(part: PartName): PartBounds {
  return parts[part];
}

const columns = ['worker_id', 'part', 'good_at', 'begun_at', 'last_error'] as const;

/** The health of a part of a live worker: a row of sync.heartbeats. */
export interface PartHealth
  extends ReadRow<typeof heartbeats.$inferSelect, (typeof columns)[number]> {
  /** The worker's machine and process; null if it has not yet looked for work. */
  readonly host: string | null;
  readonly pid: number | null;
}

/**
 * Stores the health of the parts of a worker, and removes other workers' parts noted over a day
 * ago.
 */
export async function noteParts(
  db: Queryable,
  workerId: string,
  readings: readonly (PulseReading & {readonly part: PartName})[],
): Promise<void> {
  await db.query(
    `WITH pruned AS (DELETE FROM sync.heartbeats WHERE noted_at < now() - interval '1 day'
       AND worker_id <> $1)
     INSERT INTO sync.heartbeats (worker_id, part, good_at, begun_at, last_error, noted_at)
     SELECT $1, part, now() - "goodAgoMs" * interval '1 millisecond',
            now() - "begunAgoMs" * interval '1 millisecond', error, now()
       FROM jsonb_to_recordset($2::jsonb) AS said (part text, "goodAgoMs" float8,
         "begunAgoMs" float8, error text)
         ON CONFLICT (worker_id, part) DO UPDATE
        SET good_at = EXCLUDED.good_at, begun_at = EXCLUDED.begun_at,
            last_error = EXCLUDED.last_error, noted_at = EXCLUDED.noted_at`,
    [workerId, JSON.stringify(readings)],
  );
}

/** A worker that stops properly leaves no row. */
export async function removeParts(db: Queryable, workerId: string): Promise<void> {
  await db.query('DELETE FROM sync.heartbeats WHERE worker_id = $1', [workerId]);
}

/**
 * The parts of every worker that has noted them within the last minute. The problem `no-worker`
 * reports the others.
 */
export async function listParts(db: Queryable): Promise<PartHealth[]> {
  const {rows} = await db.query<PartHealth>(
    `SELECT ${selectColumns(columns, 'beat')}, worker.host, worker.pid
       FROM sync.heartbeats AS beat LEFT JOIN sync.workers AS worker USING (worker_id)
      WHERE beat.noted_at > now() - interval '1 minute'
      ORDER BY beat.part, beat.good_at, beat.worker_id`,
  );
  return rows;
}

/** The sessions that sessions of Fieldmirror in this database wait for. */
export async function listOwnWaits(db: Queryable): Promise<LockHolder[]> {
  const {rows} = await db.query<{pid: number}>(
    `SELECT pid FROM pg_stat_activity AS session
      WHERE datname = current_database() AND ${isOurs}
        AND cardinality(pg_blocking_pids(pid)) > 0`,
  );
  if (rows.length === 0) return [];
  return await listHolders(
    db,
    rows.map(({pid}) => pid),
  );
}
