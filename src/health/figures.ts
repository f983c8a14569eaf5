// Figures of records, sweeps, sizes and activity, of every account at once. They are read again and
// again, so each statement uses an index, and costs the same however long the past is. The tables
// of the warehouse are never counted: Postgres would read a million rows for one number. Their size
// is the estimate of Postgres. Ages are by the clock of the database.

import {statfs} from 'node:fs/promises';
import type {Queryable} from '../postgres/database.ts';
import type {Sweep, SweepEnd} from '../sweeps/sweeps.ts';
import type {FieldNews} from './account-status.ts';

/** Records of one stream in quarantine, still open. */
export interface OpenQuarantine {
  readonly accountId: string;
  readonly stream: string;
  readonly count: number;
}

/** Counts the records in quarantine that are still open; a stream without any is left out. */
export async function countOpenQuarantine(db: Queryable): Promise<OpenQuarantine[]> {
  const {rows} = await db.query<OpenQuarantine>(
    `SELECT account_id AS "accountId", stream, count(*)::integer AS count
       FROM sync.quarantine WHERE resolved_at IS NULL
      GROUP BY account_id, stream ORDER BY account_id, stream`,
  );
  return rows;
}

/** All changes of one kind in the fields that an account's service sends. */
export interface FieldEventCount extends Pick<FieldNews, 'accountId' | 'kind'> {
  readonly count: number;
}

/**
 * Counts the changes in the fields that the service sends; they are rare, and none is ever removed.
 */
export async function countFieldEvents(db: Queryable): Promise<FieldEventCount[]> {
  const {rows} = await db.query<FieldEventCount>(
    `SELECT account_id AS "accountId", kind, count(*)::integer AS count
       FROM sync.field_events GROUP BY account_id, kind ORDER BY account_id, kind`,
  );
  return rows;
}

/** One of our tables and its size. */
export interface TableSize {
  readonly schema: string;
  readonly table: string;
  /**
   * As of its last VACUUM or ANALYZE, all accounts and deleted rows included; null before the
   * first.
   */
  readonly rows: number | null;
  /** With its indexes and long values. */
  readonly bytes: number;
}

/** Reads the sizes of the tables that grow with use, as Postgres keeps them. */
export async function listTableSizes(db: Queryable): Promise<TableSize[]> {
  const {rows} = await db.query<TableSize>(
    `SELECT nspname AS schema, relname AS table, nullif(reltuples, -1)::float8 AS rows,
            pg_total_relation_size(class.oid)::float8 AS bytes
       FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
      WHERE nspname IN ('warehouse', 'history', 'mart', 'sync') AND relkind = 'r'
      ORDER BY nspname, relname`,
  );
  return rows;
}

/**
 * One stream of one account: the age of its last proof, and the figures of its last full sweep that
 * ended.
 */
export interface StreamFigures {
  readonly accountId: string;
  readonly stream: string;
  /** Seconds since the last certified sweep began; null if nothing was ever proven. */
  readonly provenAge: number | null;
  /** Null before the first full sweep has ended. */
  readonly lastFull: FullSweepFigures | null;
}

interface FullSweepFigures {
  readonly state: SweepEnd;
  /** Seconds since its end. */
  readonly age: number;
  /** Seconds from its start to its end; null if it never started. */
  readonly duration: number | null;
  readonly records: number;
  readonly pages: number;
}

/** Reads every account's figures of the named streams, including streams that were never swept. */
export async function listStreamFigures(
  db: Queryable,
  streams: readonly string[],
): Promise<StreamFigures[]> {
  const {rows} = await db.query<StreamFigures>(
    `SELECT account_id AS "accountId", asked.stream,
            extract(epoch FROM now() - proven.started_at)::float8 AS "provenAge",
            ended.figures AS "lastFull"
       FROM sync.accounts AS account CROSS JOIN unnest($1::text[]) AS asked (stream)
       LEFT JOIN LATERAL (
            SELECT started_at FROM sync.sweeps AS sweep
             WHERE sweep.account_id = account.account_id AND sweep.stream = asked.stream
               AND mode = 'full'
               AND sweep.state = 'certified'
             ORDER BY sweep_id DESC LIMIT 1) AS proven ON true
       LEFT JOIN LATERAL (
            SELECT json_build_object('state', sweep.state, 'age',
              extract(epoch FROM now() - ended_at),
                     'duration', extract(epoch FROM ended_at - started_at), 'records', records,
                     'pages', pages) AS figures
              FROM sync.sweeps AS sweep
             WHERE sweep.account_id = account.account_id AND sweep.stream = asked.stream
               AND mode = 'full'
               AND ended_at IS NOT NULL
             ORDER BY sweep_id DESC LIMIT 1) AS ended ON true
      ORDER BY account_id, asked.stream`,
    [streams],
  );
  return rows;
}

/** The sweeps of one stream that wait for a worker, or that a worker runs. */
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
    `SELECT account_id AS "accountId", stream, mode,
            extract(epoch FROM min(next_due_at))::float8 AS at
       FROM sync.schedules GROUP BY account_id, stream, mode ORDER BY account_id, stream, mode`,
  );
  return rows;
}

/** A size or the free space of something, in bytes. */
export interface Size {
  readonly name: string;
  /** Null if there is no such thing. */
  readonly bytes: number | null;
}

const databaseSize = 'pg_database_size(current_database())';

/** How many bytes the whole database takes on disk. */
export async function readDatabaseBytes(db: Queryable): Promise<number> {
  const {rows} = await db.query<{bytes: number}>(
    `SELECT ${databaseSize}::double precision AS bytes`,
  );
  return rows[0]?.bytes ?? 0;
}

/**
 * Reads the size on disk of the database, or of tables with their indexes. Postgres counts no rows:
 * it adds up the sizes of the files.
 */
export async function listSizes(db: Queryable, names: readonly string[]): Promise<Size[]> {
  const {rows} = await db.query<Size>(
    `SELECT name, CASE name WHEN 'database' THEN ${databaseSize}
       ELSE pg_total_relation_size(to_regclass(name)) END::double precision AS bytes
       FROM unnest($1::text[]) AS name`,
    [names],
  );
  return rows;
}

/** The free space for a folder, in bytes; null if it cannot be read. */
export async function readFreeBytes(folder: string): Promise<number | null> {
  try {
    const {bavail, bsize} = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** One hour of the last day. */
export interface Hour {
  /** ISO 8601, the beginning of the hour, by the database's clock. */
  readonly from: string;
  /** Records read by sweeps that ended in it. */
  readonly read: number;
  /** Of these, records that were new, changed, or deleted. */
  readonly changed: number;
  /** Changes made here that were settled in it, by their outcome. */
  readonly done: number;
  readonly refused: number;
}

/** The last 24 hours, the oldest first; the last one is in progress. */
export async function listHours(db: Queryable, accountIds: readonly string[]): Promise<Hour[]> {
  const {rows} = await db.query<Hour>(
    `WITH hours AS (
       SELECT generate_series(date_trunc('hour', now()) - interval '23 hours',
         date_trunc('hour', now()), interval '1 hour') AS "from"
     ), swept AS (
       SELECT date_trunc('hour', ended_at) AS "from", sum(records) AS read,
              sum(inserted + updated + revived + tombstoned) AS changed
         FROM sync.sweeps WHERE account_id = ANY ($1)
           AND ended_at >= date_trunc('hour', now()) - interval '23 hours'
        GROUP BY 1
     )
     SELECT "from", coalesce(read, 0)::float8 AS read, coalesce(changed, 0)::float8 AS changed,
            done::float8 AS done, refused::float8 AS refused
       FROM hours LEFT JOIN swept USING ("from")
      -- An hour at a time: to find the hour of each of 100,000 changes takes four times as long.
      CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE state = 'done') AS done,
               count(*) FILTER (WHERE state = 'rejected') AS refused
          FROM sync.changes WHERE account_id = ANY ($1)
           AND settled_at >= "from" AND settled_at < "from" + interval '1 hour') AS settled
      ORDER BY "from"`,
    [accountIds],
  );
  return rows;
}

/** The last full sweep of a stream that ended on one day of its account. */
export interface Night extends Pick<Sweep, 'accountId' | 'stream'> {
  /** Null if it was folded into its day with others. */
  readonly sweepId: string | null;
  /** `2026-11-24`, by the account's zone. */
  readonly day: string;
  readonly state: Sweep['state'];
}

/**
 * The verdicts of the last thirty days, the oldest first; a day without a full sweep is left out.
 */
export async function listNights(db: Queryable, accountIds: readonly string[]): Promise<Night[]> {
  const {rows} = await db.query<Night>(
    `SELECT DISTINCT ON (account_id, stream, day) sweep_id AS "sweepId", account_id AS "accountId",
            stream, day::text AS day, state
       FROM (SELECT sweep_id, account_id, stream, (ended_at AT TIME ZONE time_zone)::date AS day,
         sweeps.state, ended_at
               FROM sync.sweeps JOIN sync.accounts USING (account_id)
              WHERE account_id = ANY ($1) AND mode = 'full'
                AND ended_at >= now() - interval '30 days'
              UNION ALL
             SELECT NULL, account_id, stream, day, 'certified', last_ended_at FROM sync.sweep_days
              WHERE account_id = ANY ($1) AND mode = 'full'
                AND last_ended_at >= now() - interval '30 days') AS ended
      ORDER BY account_id, stream, day, ended_at DESC, sweep_id DESC`,
    [accountIds],
  );
  return rows;
}
