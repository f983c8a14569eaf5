// What went on lately: records read and changes carried by the hour, and the verdict of each night.

import type {Queryable} from '../postgres/database.ts';
import type {Sweep} from '../sweeps/sweep.ts';

/** One hour of the last day. */
export interface Hour {
  /** ISO 8601, the beginning of the hour, by the database's clock. */
  readonly from: string;
  /** Records read by sweeps that ended in it. */
  readonly read: number;
  /** Of these, records that were new, changed, or gone. */
  readonly changed: number;
  /** Changes made here that were settled in it, by what became of them. */
  readonly done: number;
  readonly refused: number;
}

/** The last 24 hours, the oldest first; the last one is under way. */
export async function listHours(db: Queryable, accountIds: readonly string[]): Promise<Hour[]> {
  const {rows} = await db.query<Hour>(
    `WITH hours AS (
       SELECT generate_series(date_trunc('hour', now()) - interval '23 hours', date_trunc('hour', now()), interval '1 hour') AS "from"
     ), swept AS (
       SELECT date_trunc('hour', ended_at) AS "from", sum(records) AS read, sum(inserted + updated + revived + tombstoned) AS changed
         FROM sync.sweeps WHERE account_id = ANY ($1) AND ended_at >= date_trunc('hour', now()) - interval '23 hours'
        GROUP BY 1
     ), settled AS (
       SELECT date_trunc('hour', settled_at) AS "from", count(*) FILTER (WHERE state = 'done') AS done,
              count(*) FILTER (WHERE state = 'rejected') AS refused
         FROM sync.changes WHERE account_id = ANY ($1) AND settled_at >= date_trunc('hour', now()) - interval '23 hours'
        GROUP BY 1
     )
     SELECT "from", coalesce(read, 0)::float8 AS read, coalesce(changed, 0)::float8 AS changed,
            coalesce(done, 0)::float8 AS done, coalesce(refused, 0)::float8 AS refused
       FROM hours LEFT JOIN swept USING ("from") LEFT JOIN settled USING ("from") ORDER BY "from"`,
    [accountIds],
  );
  return rows;
}

/** The last full sweep of a stream that ended on one day of its account. */
export interface Night extends Pick<Sweep, 'accountId' | 'stream'> {
  /** Null where it was folded into its day with others. */
  readonly sweepId: string | null;
  /** `2026-11-24`, by the account's zone. */
  readonly day: string;
  readonly state: Sweep['state'];
}

/**
 * The verdicts of the last thirty days, the oldest first; a day without a full sweep is not among
 * them.
 */
export async function listNights(db: Queryable, accountIds: readonly string[]): Promise<Night[]> {
  const {rows} = await db.query<Night>(
    `SELECT DISTINCT ON (account_id, stream, day) sweep_id AS "sweepId", account_id AS "accountId", stream, day::text AS day, state
       FROM (SELECT sweep_id, account_id, stream, (ended_at AT TIME ZONE time_zone)::date AS day, sweeps.state, ended_at
               FROM sync.sweeps JOIN sync.accounts USING (account_id)
              WHERE account_id = ANY ($1) AND mode = 'full' AND ended_at >= now() - interval '30 days'
              UNION ALL
             SELECT NULL, account_id, stream, day, 'certified', last_ended_at FROM sync.sweep_days
              WHERE account_id = ANY ($1) AND mode = 'full' AND last_ended_at >= now() - interval '30 days') AS ended
      ORDER BY account_id, stream, day, ended_at DESC, sweep_id DESC`,
    [accountIds],
  );
  return rows;
}
