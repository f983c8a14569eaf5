// The pruning of all workers together: one at a time, by a lease of the database.

import type {Queryable} from '../postgres/database.ts';
import type {RetentionName} from './retention-kinds.ts';

/** The proof that a pruning is still ours. */
export interface Pruning {
  readonly fence: number;
}

/** A batch takes far less; a worker that is killed in one holds up the next for as long. */
const lease = "interval '5 minutes'";

/**
 * Takes the pruning up, unless another one is under way.
 * @param restMs - how long ago the last one must have ended
 * @returns null where there is nothing to do
 */
export async function takePruning(db: Queryable, restMs: number): Promise<Pruning | null> {
  const {rows} = await db.query<Pruning>(
    `INSERT INTO sync.prunings AS held (lease_until) VALUES (now() + ${lease})
         ON CONFLICT (is_only) DO UPDATE SET fence = held.fence + 1, lease_until = EXCLUDED.lease_until
      WHERE coalesce(held.ended_at <= now() - $1 * interval '1 millisecond', true) AND coalesce(held.lease_until < now(), true)
     RETURNING fence`,
    [restMs],
  );
  return rows[0] ?? null;
}

/**
 * How long the pruning that is under way stays its worker's, unless it goes on: milliseconds by the
 * database's clock.
 */
export async function readPruningLeaseMs(db: Queryable): Promise<number> {
  const {rows} = await db.query<{leaseMs: number}>(
    `SELECT extract(epoch FROM lease_until - now())::double precision * 1000 AS "leaseMs" FROM sync.prunings WHERE lease_until > now()`,
  );
  return rows[0]?.leaseMs ?? 0;
}

/**
 * Removes one batch of a kind, and keeps the pruning ours for longer.
 * @param at - ISO 8601: the moment from which ages are counted; null: now
 * @returns how many were removed; null where another worker has taken the pruning over: nothing was
 */
export async function pruneBatch(
  db: Queryable,
  {fence}: Pruning,
  {
    kind,
    most,
    at,
  }: {readonly kind: RetentionName; readonly most: number; readonly at: string | null},
): Promise<number | null> {
  const {rows} = await db.query<{gone: number}>(
    `WITH ours AS (
       UPDATE sync.prunings SET lease_until = now() + ${lease} WHERE fence = $1 AND lease_until IS NOT NULL RETURNING fence
     )
     SELECT sync.prune($2, $3, coalesce($4::timestamptz, now()))::integer AS gone FROM ours`,
    [fence, kind, most, at],
  );
  return rows[0]?.gone ?? null;
}

/**
 * A transaction that has run for longer may still write a version with an older moment; its pair
 * stays as it is.
 */
const joinedAfter = "interval '1 hour'";
/**
 * An entry of the feed names the versions before and after it: until its days are over, they stay
 * apart.
 */
const namedFrom = `(SELECT at - interval '1 day' FROM sync.feed_entries ORDER BY entry_id LIMIT 1)`;

/**
 * Joins one batch of versions of write-backs, and keeps the pruning ours for longer. When nothing
 * is left to join, that is noted.
 * @returns as `pruneBatch`
 */
export async function joinBatch(
  db: Queryable,
  {fence}: Pruning,
  most: number,
): Promise<number | null> {
  const {rows} = await db.query<{joined: number}>(
    `WITH ours AS (
       SELECT joined_to, least(now() - ${joinedAfter}, ${namedFrom}) AS until FROM sync.prunings WHERE fence = $1 AND lease_until IS NOT NULL FOR UPDATE
     ), done AS MATERIALIZED (
       SELECT until, sync.join_versions(joined_to, until, $2) AS joined FROM ours
     )
     UPDATE sync.prunings SET lease_until = now() + ${lease}, joined_to = CASE done.joined WHEN 0 THEN done.until ELSE joined_to END
       FROM done WHERE fence = $1 RETURNING done.joined::integer AS joined`,
    [fence, most],
  );
  return rows[0]?.joined ?? null;
}

/** Ends a pruning that came to its end. */
export async function endPruning(db: Queryable, {fence}: Pruning): Promise<void> {
  await db.query(
    'UPDATE sync.prunings SET lease_until = NULL, ended_at = now() WHERE fence = $1 AND lease_until IS NOT NULL',
    [fence],
  );
}

/** Gives back a pruning that was cut short: another worker goes on at once. */
export async function giveBackPruning(db: Queryable, {fence}: Pruning): Promise<void> {
  await db.query('UPDATE sync.prunings SET lease_until = NULL WHERE fence = $1', [fence]);
}

/** How many things of a kind are no longer kept, and are still here. */
export async function countPrunable(db: Queryable, kind: RetentionName): Promise<number> {
  const {rows} = await db.query<{count: number}>(
    'SELECT sync.count_prunable($1)::float8 AS count',
    [kind],
  );
  return rows[0]?.count ?? 0;
}
