// Pruning: what is no longer kept is removed, batch by batch, by one worker at a time, which holds
// a lease of the database.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {Pulse, Rounds} from '../core/rounds.ts';
import type {Queryable} from '../postgres/database.ts';
import {type RetentionName, retentionKinds} from './retention.ts';

/** How many of a kind were removed, or pairs of versions joined. */
export interface Removed {
  readonly kind: RetentionName | 'joined_versions';
  readonly count: number;
}

interface PruneTerms {
  readonly pool: pg.Pool;
  readonly signal: AbortSignal;
  /** How long ago the last pruning must have ended. */
  readonly restMs: number;
  /** The most that one transaction removes. */
  readonly batch?: number;
  /** ISO 8601: the moment from which ages are counted, unless it is now. */
  readonly at?: string;
  /** Is told after each batch that it was done. */
  readonly onBatch?: () => void;
}

/** A batch of so many takes some milliseconds. */
const usualBatch = 500;

/**
 * Removes what is no longer kept, in batches that are transactions of their own. After each the
 * database has as long for its other work.
 * @returns what was removed, by kind, and nothing of a kind of which nothing was; null where
 *   another one prunes, or the last one
 *   ended a moment ago
 */
export async function pruneHistory(terms: PruneTerms): Promise<readonly Removed[] | null> {
  const {pool, signal} = terms;
  const pruning = await takePruning(pool, terms.restMs);
  if (pruning === null) return null;
  const removed: Removed[] = [];
  try {
    const {batch = usualBatch, at = null} = terms;
    for (const {name: kind} of retentionKinds) {
      const count = await repeat(terms, () => pruneBatch(pool, pruning, {kind, most: batch, at}));
      if (count > 0) removed.push({kind, count});
    }
    const joined = await repeat(terms, () => joinBatch(pool, pruning, batch));
    if (joined > 0) removed.push({kind: 'joined_versions', count: joined});
  } catch (error) {
    await giveBackPruning(pool, pruning).catch(() => {});
    throw error;
  }
  if (signal.aborted) await giveBackPruning(pool, pruning);
  else await endPruning(pool, pruning);
  return removed;
}

/** Does batches until one has done nothing. @returns what they did together */
async function repeat(
  {signal, onBatch}: Pick<PruneTerms, 'signal' | 'onBatch'>,
  doBatch: () => Promise<number | null>,
): Promise<number> {
  let count = 0;
  while (!signal.aborted) {
    const begunAt = performance.now();
    const done = await doBatch();
    onBatch?.();
    count += done ?? 0;
    // Nothing was left, or another worker goes on.
    if (done === null || done === 0) break;
    await wait(performance.now() - begunAt, undefined, {signal}).catch(() => {});
  }
  return count;
}

const hourMs = 3_600_000;
/** The row of all workers is asked no more often than this. */
const askMs = 60_000;

/**
 * Prunes once an hour, beside the other work of a worker: whichever worker comes first does it for
 * all.
 */
export function makePruner(
  {pool, log}: {readonly pool: pg.Pool; readonly log: Logger},
  pulse = new Pulse(),
): Rounds {
  const work = async (signal: AbortSignal) => {
    const begunAt = performance.now();
    const removed = await pruneHistory({pool, signal, restMs: hourMs, onBatch: () => pulse.good()});
    if (removed === null || removed.length === 0) return;
    const counts = Object.fromEntries(removed.map(({kind, count}) => [kind, count]));
    const durationMs = Math.round(performance.now() - begunAt);
    log.info(
      {event: 'warehouse.pruned', ...counts, durationMs},
      'what is no longer kept was removed',
    );
  };
  const onFailure = (error: unknown) =>
    log.warn(
      {event: 'warehouse.not_pruned', reason: String(error)},
      'what is no longer kept was not removed; it is tried again within minutes',
    );
  return new Rounds({everyMs: askMs, pulse, work, onFailure});
}

/** The proof that a pruning is still ours. */
interface Pruning {
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
         ON CONFLICT (is_only) DO UPDATE SET fence = held.fence + 1,
           lease_until = EXCLUDED.lease_until
      WHERE coalesce(held.ended_at <= now() - $1 * interval '1 millisecond', true)
      AND coalesce(held.lease_until < now(), true)
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
    `SELECT extract(epoch FROM lease_until - now())::double precision * 1000 AS "leaseMs"
     FROM sync.prunings WHERE lease_until > now()`,
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
       UPDATE sync.prunings SET lease_until = now() + ${lease}
         WHERE fence = $1 AND lease_until IS NOT NULL RETURNING fence
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
async function joinBatch(db: Queryable, {fence}: Pruning, most: number): Promise<number | null> {
  const {rows} = await db.query<{joined: number}>(
    `WITH ours AS (
       SELECT joined_to, least(now() - ${joinedAfter}, ${namedFrom}) AS until FROM sync.prunings
       WHERE fence = $1 AND lease_until IS NOT NULL FOR UPDATE
     ), done AS MATERIALIZED (
       SELECT until, sync.join_versions(joined_to, until, $2) AS joined FROM ours
     )
     UPDATE sync.prunings SET lease_until = now() + ${lease},
       joined_to = CASE done.joined WHEN 0 THEN done.until ELSE joined_to END
       FROM done WHERE fence = $1 RETURNING done.joined::integer AS joined`,
    [fence, most],
  );
  return rows[0]?.joined ?? null;
}

/** Ends a pruning that came to its end. */
async function endPruning(db: Queryable, {fence}: Pruning): Promise<void> {
  await db.query(
    `UPDATE sync.prunings SET lease_until = NULL, ended_at = now()
      WHERE fence = $1 AND lease_until IS NOT NULL`,
    [fence],
  );
}

/** Gives back a pruning that was cut short: another worker goes on at once. */
async function giveBackPruning(db: Queryable, {fence}: Pruning): Promise<void> {
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
