import type {Queryable} from '../postgres/database.ts';
import {type Sweep, sweepColumns} from './sweep.ts';

/** The sweeps to list; null leaves a condition open. */
export interface SweepFilter {
  readonly accountIds: readonly string[] | null;
  readonly stream: string | null;
  readonly mode?: Sweep['mode'] | null;
  readonly state?: Sweep['state'] | null;
  /** Only older ones: the number of the last on the page before. */
  readonly before?: string | null;
  readonly limit: number;
}

/** The latest sweeps, the newest first. */
export async function listSweeps(db: Queryable, filter: SweepFilter): Promise<Sweep[]> {
  const {accountIds, stream, mode = null, state = null, before = null, limit} = filter;
  const {rows} = await db.query<Sweep>(
    `SELECT ${sweepColumns} FROM sync.sweeps
      WHERE ($1::bigint[] IS NULL OR account_id = ANY ($1)) AND ($2::text IS NULL OR stream = $2)
        AND ($3::text IS NULL OR mode = $3) AND ($4::text IS NULL OR state = $4)
        AND ($5::bigint IS NULL OR sweep_id < $5)
      ORDER BY sweep_id DESC LIMIT $6`,
    [accountIds, stream, mode, state, before, limit],
  );
  return rows;
}

/** What sweeps like this one usually take, by the last ten before it; null where there was none. */
export interface UsualSweep {
  readonly seconds: number;
  /** Of the first pass alone; null where none of them noted its end. */
  readonly readSeconds: number | null;
  readonly requests: number;
  readonly records: number;
  readonly changed: number;
}

/**
 * Reads the medians of the ten sweeps before one, of the same stream, mode and window, that came to
 * an end without failing.
 */
export async function readUsual(
  db: Queryable,
  {
    sweepId,
    accountId,
    stream,
    mode,
    windowName,
  }: Pick<Sweep, 'sweepId' | 'accountId' | 'stream' | 'mode' | 'windowName'>,
): Promise<UsualSweep | null> {
  const median = (value: string) => `percentile_disc(0.5) WITHIN GROUP (ORDER BY ${value})`;
  const {rows} = await db.query<UsualSweep & {count: number}>(
    `SELECT count(*)::integer AS count, ${median('extract(epoch FROM ended_at - started_at)')} AS seconds,
            ${median("extract(epoch FROM (evidence->>'readAt')::timestamptz - started_at)")} AS "readSeconds",
            ${median('requests')} AS requests, ${median('records')} AS records,
            ${median('inserted + updated + revived + tombstoned')} AS changed
       FROM (SELECT started_at, ended_at, evidence, requests, records, inserted, updated, revived, tombstoned FROM sync.sweeps
              WHERE account_id = $1 AND stream = $2 AND mode = $3 AND window_name IS NOT DISTINCT FROM $4 AND sweep_id < $5
                AND state IN ('certified', 'refreshed', 'uncertified')
              ORDER BY sweep_id DESC LIMIT 10) AS before`,
    [accountId, stream, mode, windowName, sweepId],
  );
  const [usual] = rows;
  return usual === undefined || usual.count === 0 ? null : usual;
}

/** What sweeps of one kind usually cost, by the last ten that came to an end: medians. */
export interface UsualCost {
  readonly accountId: string;
  readonly stream: string;
  readonly mode: 'full' | 'window';
  readonly windowName: string | null;
  /** All requests of the sweep. */
  readonly requests: number;
  /** Pages of its first pass. */
  readonly pages: number;
  readonly seconds: number;
}

/**
 * Reads what the sweeps of some accounts usually cost, of each stream, mode and window that came to
 * an end.
 */
export async function listUsualCosts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<UsualCost[]> {
  const median = (value: string) =>
    `(percentile_disc(0.5) WITHIN GROUP (ORDER BY ${value}))::float8`;
  const {rows} = await db.query<UsualCost>(
    `SELECT account_id AS "accountId", stream, mode, window_name AS "windowName", ${median('requests')} AS requests,
            ${median('pages')} AS pages, ${median('extract(epoch FROM ended_at - started_at)')} AS seconds
       FROM (SELECT *, row_number() OVER (PARTITION BY account_id, stream, mode, window_name ORDER BY sweep_id DESC) AS nth
               FROM sync.sweeps
              WHERE account_id = ANY ($1) AND mode <> 'record' AND state IN ('certified', 'refreshed', 'uncertified')) AS past
      WHERE nth <= 10
      GROUP BY account_id, stream, mode, window_name`,
    [accountIds],
  );
  return rows;
}
