// Facts about sweeps for people: one sweep with all its facts, past sweeps, their usual cost, and
// the state of each stream.

import pg from 'pg';
import {type Cause, causeNumbers} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {nameTable} from '../rows/table-sql.ts';
import type {MirrorTable} from '../streams/table.ts';
import {isQuiet} from './evidence.ts';
import {
  isEndedFull,
  readSweep,
  rowsLeft,
  type Sweep,
  type SweepState,
  sweepColumns,
} from './sweeps.ts';
import {listTombstones, type Tombstone} from './tombstones.ts';

/** All facts about a sweep. */
export interface SweepStory {
  readonly sweep: Sweep;
  /** Rows that it marked deleted, or would mark. */
  readonly tombstones: readonly Tombstone[];
  /** The usual cost of such sweeps; null if it is the first. */
  readonly usual: UsualSweep | null;
  /** The number of the documentation page with cause and fix; null if nothing has to be fixed. */
  readonly docs: string | null;
}

/** @returns null when there is none of that number */
export async function readSweepStory(db: Queryable, sweepId: string): Promise<SweepStory | null> {
  const sweep = isId(sweepId) ? await readSweep(db, sweepId) : null;
  if (sweep === null) return null;
  return {
    sweep,
    tombstones: await listTombstones(db, sweepId),
    usual: await readUsual(db, sweep),
    docs: findSweepDocs(sweep.state),
  };
}

/** How long a sweep took, or has taken so far, in milliseconds; null before it began. */
export function measureSweepMs({startedAt, endedAt}: Sweep, now: string): number | null {
  return startedAt === null
    ? null
    : Math.max(0, Date.parse(endedAt ?? now) - Date.parse(startedAt));
}

/** Selects the sweeps to list; null matches all. */
interface SweepFilter {
  readonly accountIds: readonly string[] | null;
  readonly stream: string | null;
  readonly mode?: Sweep['mode'] | null;
  readonly state?: Sweep['state'] | null;
  /** Only sweeps older than this one: the last on the page before. */
  readonly before?: string | null;
  /** Leaves out those that `listQuietRuns` counts. */
  readonly isFolded?: boolean;
  readonly limit: number;
}

const isMatch = `($1::bigint[] IS NULL OR account_id = ANY ($1))
  AND ($2::text IS NULL OR stream = $2) AND ($3::text IS NULL OR mode = $3)
  AND ($4::text IS NULL OR state = $4)`;
/** A full sweep proves something even if it changes nothing. */
const isFoldable = `mode <> 'full' AND ${isQuiet}`;

/** The latest sweeps, the newest first. */
export async function listSweeps(db: Queryable, filter: SweepFilter): Promise<Sweep[]> {
  const {before = null, isFolded = false} = filter;
  const {rows} = await db.query<Sweep>(
    `SELECT ${sweepColumns} FROM sync.sweeps
      WHERE ${isMatch} AND ($5::bigint IS NULL OR sweep_id < $5) AND NOT ($6 AND ${isFoldable})
      ORDER BY sweep_id DESC LIMIT $7`,
    [...valuesOf(filter), before, isFolded, filter.limit],
  );
  return rows;
}

function valuesOf({accountIds, stream, mode = null, state = null}: SweepFilter) {
  return [accountIds, stream, mode, state];
}

/** Sweeps of windows and of single records that ended on one day and changed nothing. */
export interface QuietRuns extends Pick<Sweep, 'accountId'> {
  /** The number of the newest. */
  readonly sweepId: string;
  /** The targets, by name: `jobs today` is a window, `jobs by number` single records. */
  readonly targets: readonly string[];
  /** In the zone of the account. */
  readonly day: string;
  readonly count: number;
  readonly requests: number;
  /** The median of their durations. */
  readonly ms: number;
  /** When the last of them ended. */
  readonly lastEndedAt: string;
}

/** Counts the quiet runs of each day, the newest first. */
export async function listQuietRuns(db: Queryable, filter: SweepFilter): Promise<QuietRuns[]> {
  const {rows} = await db.query<QuietRuns>(
    `SELECT account_id AS "accountId", max(sweep_id) AS "sweepId",
            (ended_at AT TIME ZONE time_zone)::date::text AS day,
            array_agg(DISTINCT stream || ' ' || coalesce(window_name, 'by number')) AS targets,
            count(*)::integer AS count, sum(requests)::float8 AS requests,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY
              1000 * extract(epoch FROM ended_at - started_at))::float8 AS ms,
            max(ended_at) AS "lastEndedAt"
       FROM (SELECT * FROM sync.sweeps WHERE ${isMatch} AND ${isFoldable}) AS quiet
       JOIN (SELECT account_id, time_zone FROM sync.accounts) AS account USING (account_id)
      GROUP BY account_id, day
     HAVING $5::bigint IS NULL OR max(sweep_id) < $5
      ORDER BY max(sweep_id) DESC LIMIT $6`,
    [...valuesOf(filter), filter.before ?? null, filter.limit],
  );
  return rows;
}

/** The usual cost of sweeps like this one, from the last ten before it; null if there was none. */
interface UsualSweep {
  readonly seconds: number;
  /** Of the first pass alone; null if none of them noted its end. */
  readonly readSeconds: number | null;
  readonly requests: number;
  readonly records: number;
  readonly changed: number;
}

/**
 * Reads the medians of the ten sweeps before one, of the same stream, mode and window, that ended
 * without failing.
 */
async function readUsual(
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
    `SELECT count(*)::integer AS count, ${median('extract(epoch FROM ended_at - started_at)')}
      AS seconds,
            ${median("extract(epoch FROM (evidence->>'readAt')::timestamptz - started_at)")}
              AS "readSeconds",
            ${median('requests')} AS requests, ${median('records')} AS records,
            ${median('inserted + updated + revived + tombstoned')} AS changed
       FROM (SELECT started_at, ended_at, evidence, requests, records, inserted, updated, revived,
         tombstoned FROM sync.sweeps
              WHERE account_id = $1 AND stream = $2 AND mode = $3
              AND window_name IS NOT DISTINCT FROM $4 AND sweep_id < $5
                AND state IN ('certified', 'refreshed', 'uncertified')
              ORDER BY sweep_id DESC LIMIT 10) AS before`,
    [accountId, stream, mode, windowName, sweepId],
  );
  const [usual] = rows;
  return usual === undefined || usual.count === 0 ? null : usual;
}

/** The usual cost of sweeps of one kind: medians of the last ten that ended without failing. */
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
 * Reads the usual cost of the sweeps of some accounts, for each stream, mode and window with a
 * sweep that ended.
 */
export async function listUsualCosts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<UsualCost[]> {
  const median = (value: string) =>
    `(percentile_disc(0.5) WITHIN GROUP (ORDER BY ${value}))::float8`;
  const {rows} = await db.query<UsualCost>(
    `SELECT account_id AS "accountId", stream, mode, window_name AS "windowName",
      ${median('requests')} AS requests,
            ${median('pages')} AS pages, ${median('extract(epoch FROM ended_at - started_at)')}
              AS seconds
       FROM (SELECT *, row_number() OVER (PARTITION BY account_id, stream, mode, window_name
         ORDER BY sweep_id DESC) AS nth
               FROM sync.sweeps
              WHERE account_id = ANY ($1) AND mode <> 'record'
              AND state IN ('certified', 'refreshed', 'uncertified')) AS past
      WHERE nth <= 10
      GROUP BY account_id, stream, mode, window_name`,
    [accountIds],
  );
  return rows;
}

/** The state of one stream, from its stored sweeps and its quarantine. */
export interface StreamNotes {
  readonly stream: string;
  /** The last sweep of each mode and window, whatever its result. */
  readonly sweeps: readonly Sweep[];
  /** Records in quarantine, still open. */
  readonly quarantined: number;
}

/**
 * Reads the state of some streams of an account, in the order given. The cost does not depend on
 * the number of rows and past sweeps.
 */
export async function readStreamNotes(
  db: Queryable,
  accountId: string,
  streams: readonly string[],
): Promise<StreamNotes[]> {
  const sweeps = await listLatestSweeps(db, accountId);
  const quarantined = await countQuarantined(db, accountId);
  return streams.map((stream) => ({
    stream,
    sweeps: sweeps.filter((sweep) => sweep.stream === stream),
    quarantined: quarantined.get(stream) ?? 0,
  }));
}

/**
 * The number of live rows of a stream after its last full sweep that ended; null before the first.
 * The query counts no rows.
 */
export async function readRowsLeft(
  db: Queryable,
  accountId: string,
  stream: string,
): Promise<number | null> {
  const {rows} = await db.query<{rows: number}>(
    `SELECT ${rowsLeft} AS rows FROM sync.sweeps
      WHERE account_id = $1 AND stream = $2 AND ${isEndedFull}
      ORDER BY sweep_id DESC LIMIT 1`,
    [accountId, stream],
  );
  return rows[0]?.rows ?? null;
}

/**
 * Counts the live rows of a table, without those that exist only here and have no number. If these
 * are most of a large table, Postgres reads all of it.
 */
export async function countRows(
  db: Queryable,
  table: MirrorTable,
  accountId: string,
): Promise<number> {
  const keyCondition = table.key
    .map((name) => ` AND ${pg.escapeIdentifier(name)} IS NOT NULL`)
    .join('');
  const {rows} = await db.query<{count: string}>(
    `SELECT count(*) FROM ${nameTable(table)}
     WHERE account_id = $1 AND _deleted_at IS NULL${keyCondition}`,
    [accountId],
  );
  return Number(rows[0]?.count);
}

/**
 * The last sweep of each stream, mode and window; sweeps of single records count as one. The query
 * finds each by an index, starting from the one before: there are few kinds, and very many sweeps
 * of each.
 */
export async function listLatestSweeps(db: Queryable, accountId: string): Promise<Sweep[]> {
  const {rows} = await db.query<Sweep>(
    `WITH RECURSIVE ${lastOfEach('kind', 'mode', 'true')},
       ${lastOfEach('swept', 'window_name', "mode = 'window'")}
     SELECT sweep.* FROM (SELECT sweep_id FROM kind WHERE mode <> 'window'
                           UNION ALL SELECT sweep_id FROM swept) AS last
      CROSS JOIN LATERAL (SELECT ${sweepColumns} FROM sync.sweeps AS held
        WHERE held.sweep_id = last.sweep_id LIMIT 1) AS sweep
      ORDER BY stream, mode, "windowName"`,
    [accountId],
  );
  return rows;
}

/** A part of a recursive WITH: the last sweep of each stream and value of a column. */
function lastOfEach(name: string, column: string, condition: string): string {
  const last = (behind: string) => `SELECT stream, ${column}, sweep_id FROM sync.sweeps
    WHERE account_id = $1 AND ${condition} AND ${behind}
    ORDER BY stream DESC, ${column} DESC, sweep_id DESC LIMIT 1`;
  return `${name} AS ((${last('true')}) UNION ALL
    SELECT next.* FROM ${name} CROSS JOIN LATERAL (
      ${last(`(stream, ${column}) < (${name}.stream, ${name}.${column})`)}) AS next)`;
}

/** @returns a map from stream to the number of its records in quarantine, still open */
export async function countQuarantined(
  db: Queryable,
  accountId: string,
): Promise<Map<string, number>> {
  const {rows} = await db.query<{stream: string; count: string}>(
    `SELECT stream, count(*) FROM sync.quarantine WHERE account_id = $1 AND resolved_at IS NULL
     GROUP BY stream`,
    [accountId],
  );
  return new Map(rows.map((row) => [row.stream, Number(row.count)]));
}

/** The documentation page for a record in quarantine. */
export const quarantineCause = causeNumbers.quarantine;

const sweepCauses: Readonly<Partial<Record<SweepState, Cause>>> = {
  uncertified: 'unproven',
  stopped: 'approval',
  failed: 'failed',
};

/**
 * The documentation page for a state, such as `A06` for uncertified; null if nothing has to be
 * fixed.
 */
export function findSweepDocs(state: SweepState): string | null {
  const {[state]: cause} = sweepCauses;
  return cause === undefined ? null : causeNumbers[cause];
}
