// How long history is kept, and its pruning. sync.retention has one row for each kind of thing that
// grows with time; the feed has a column in its own row, sync.feed_state.
// Pruning removes, batch by batch, the things that are no longer kept. One worker at a time prunes,
// and holds a lease in the database.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {formatAgo, formatNumber} from '../core/format.ts';
import {markThisProcess} from '../core/lease.ts';
import type {Logger} from '../core/log.ts';
import {Pulse, Rounds} from '../core/pauses.ts';
import type {Queryable} from '../postgres/database.ts';

/** A kind of thing that is kept for a time. */
export interface RetentionKind {
  readonly name: RetentionName;
  /** Its name in a sentence. */
  readonly label: string;
  /** Whole days; null: for ever. */
  readonly defaultDays: number | null;
  /** The fewest days allowed: with fewer, pruning would remove data that other features need. */
  readonly leastDays: number;
  /** True if it cannot be kept for ever. */
  readonly hasEnd?: boolean;
  /** Describes which things are kept and which are removed, for people and editors. */
  readonly about: string;
}

/** The kinds that have a row in sync.retention. */
export const retentionNames = [
  'quiet_sweeps',
  'settled_changes',
  'versions',
  'alerts',
  'audit',
  'sessions',
  'reports',
] as const;

/** The days of the feed are in its own row, sync.feed_state. */
type RetentionName = (typeof retentionNames)[number] | 'feed';

/** Every kind, in the order in which they are pruned and listed. */
export const retentionKinds: readonly RetentionKind[] = [
  {
    name: 'quiet_sweeps',
    label: 'quiet sweeps',
    defaultDays: 7,
    leastDays: 2,
    about:
      'Sweeps that succeeded and changed nothing: afterwards each day and stream has one row ' +
      'in sync.sweep_days. The newest of each stream and window stays.',
  },
  {
    name: 'settled_changes',
    label: 'settled changes',
    defaultDays: 90,
    // For 30 days, a repeated request of the HTTP API is answered with the changes of the first
    // one.
    leastDays: 31,
    about:
      'Changes that are over, with their attempts and conflicts. ' +
      'The versions that they wrote stay, with their author.',
  },
  {
    name: 'versions',
    label: 'versions',
    defaultDays: null,
    leastDays: 31,
    about:
      'Versions of rows that others have replaced. Once they are removed, ' +
      'there is no answer as of an earlier time.',
  },
  {
    name: 'alerts',
    label: 'fixed alerts',
    defaultDays: 90,
    leastDays: 2,
    about: 'Alerts whose problem was fixed, with the messages about them.',
  },
  {
    name: 'audit',
    label: 'audit',
    defaultDays: null,
    leastDays: 31,
    about: 'Entries of sync.audit: who did what in the console.',
  },
  {
    name: 'sessions',
    label: 'ended sessions',
    defaultDays: 90,
    leastDays: 2,
    about: 'Sessions and sign-in links of the console that are over.',
  },
  {
    name: 'reports',
    label: 'weekly reports',
    defaultDays: 730,
    leastDays: 31,
    about:
      'Mails of weekly reports that were sent or given up, and figures that a later report gave ' +
      'again. The newest report of each list, and what it gave for each week, stays.',
  },
  {
    name: 'feed',
    label: 'entries of the feed',
    defaultDays: 30,
    // A failing subscriber is stopped after a day; a person has the rest of a week to fix it.
    leastDays: 7,
    hasEnd: true,
    about:
      'Entries of the feed. What a subscriber that is not stopped has yet to be sent stays up ' +
      'to twice as long.',
  },
];

/** The kinds that have a row in sync.retention, as `retentionNames`. */
export const rowKinds = retentionKinds.filter(({name}) => name !== 'feed');

/** How long one kind of thing is kept. Instants are ISO 8601 in UTC. */
export interface Retention {
  readonly kind: RetentionName;
  /** Whole days; null: for ever. */
  readonly days: number | null;
  /** Things older than this may have been removed; null if nothing was ever removed. */
  readonly prunedTo: string | null;
  /** How many were removed in total. */
  readonly removed: number;
}

const secondsPerDay = 86_400;

/** Inserts the default row of each kind that has no row yet; existing rows stay as they are. */
export async function applyRetention(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO sync.retention (kind, kept_for)
     SELECT kind, make_interval(days => days)
     FROM jsonb_to_recordset($1::jsonb) AS preset (kind text, days integer)
         ON CONFLICT (kind) DO NOTHING`,
    [JSON.stringify(rowKinds.map(({name, defaultDays}) => ({kind: name, days: defaultDays})))],
  );
}

/** How long everything is kept. */
export interface RetentionStory {
  /** In the order of pruning. */
  readonly kinds: readonly Retention[];
  /** When the last pruning ended, ISO 8601; null before the first. */
  readonly prunedAt: string | null;
}

/** Reads how long things are kept and when the last pruning ended, in one statement. */
export async function readRetention(db: Queryable): Promise<RetentionStory> {
  const {rows} = await db.query<Retention & {prunedAt: string | null}>(
    `SELECT kind, ceil(extract(epoch FROM kept_for) / ${secondsPerDay})::integer AS days,
      pruned_to AS "prunedTo", removed::float8 AS removed,
            (SELECT ended_at FROM sync.prunings) AS "prunedAt"
       FROM (SELECT kind, kept_for, pruned_to, removed FROM sync.retention
              UNION ALL
             SELECT 'feed', make_interval(days => keep_days),
               (SELECT at FROM sync.feed_entries WHERE removed_to > 0 AND position > removed_to
               ORDER BY position LIMIT 1), removed_to
               FROM sync.feed_state) AS held
      ORDER BY array_position($1::text[], kind)`,
    [retentionKinds.map(({name}) => name)],
  );
  return {kinds: rows.map(({prunedAt, ...kind}) => kind), prunedAt: rows[0]?.prunedAt ?? null};
}

/** Sets how long a kind is kept. @param days - null: for ever, if the kind allows that */
export async function setRetention(
  db: Queryable,
  kind: RetentionName,
  days: number | null,
): Promise<void> {
  if (kind === 'feed') {
    await db.query('UPDATE sync.feed_state SET keep_days = $1', [days]);
    return;
  }
  await db.query('UPDATE sync.retention SET kept_for = make_interval(days => $2) WHERE kind = $1', [
    kind,
    days,
  ]);
}

/**
 * `kept: quiet sweeps 7 days, …, audit for ever; pruned 12 min ago` @param now - ISO 8601, by the
 * database's clock
 */
export function describeRetention({kinds, prunedAt}: RetentionStory, now: string): string {
  const parts = kinds.map(({kind, days}) => `${wordsOf(kind)} ${describeDays(days)}`);
  const pruned = prunedAt === null ? 'not pruned yet' : `pruned ${formatAgo(prunedAt, now)}`;
  return `kept: ${parts.join(', ')}; ${pruned}`;
}

/** `7 days`, `for ever` */
export function describeDays(days: number | null): string {
  return days === null ? 'for ever' : `${formatNumber(days)} days`;
}

/** `quiet sweeps` */
export function wordsOf(kind: RetentionName): string {
  return findKind(kind)?.label ?? kind;
}

/**
 * Makes the end of an error message about a thing that was not found: since when its kind is kept.
 * Empty if none of its kind was ever removed.
 */
export async function describePruned(db: Queryable, kind: RetentionName): Promise<string> {
  const {prunedTo = null} =
    (await readRetention(db)).kinds.find((candidate) => candidate.kind === kind) ?? {};
  const hint = kind === 'quiet_sweeps' ? '; sync.sweep_days has their days' : '';
  return prunedTo === null
    ? ''
    : `; ${wordsOf(kind)} from before ${prunedTo} are no longer kept${hint}`;
}

function findKind(kind: RetentionName): RetentionKind | undefined {
  return retentionKinds.find(({name}) => name === kind);
}

/** How many of a kind were removed, or pairs of versions joined. */
export interface Removed {
  readonly kind: RetentionName | 'joined_versions';
  readonly count: number;
}

interface PruneOptions {
  readonly pool: pg.Pool;
  readonly signal: AbortSignal;
  /** How long ago the last pruning must have ended. */
  readonly restMs: number;
  /** The most that one transaction removes. */
  readonly batch?: number;
  /** ISO 8601: the moment from which ages are counted; now if left out. */
  readonly at?: string;
  /** Called after each batch. */
  readonly onBatch?: () => void;
}

/** A batch of this size takes a few milliseconds. */
const usualBatch = 500;

/**
 * Removes the things that are no longer kept, in batches; each batch is a separate transaction.
 * After each batch it waits for as long as the batch took, so that the database can do its other
 * work.
 * @returns how many were removed, by kind, without kinds of which none were removed; null if
 *   another process prunes, or if the last pruning ended less than `restMs` ago
 */
export async function pruneHistory(options: PruneOptions): Promise<readonly Removed[] | null> {
  const {pool, signal} = options;
  const pruning = await claimPruning(pool, options.restMs);
  if (pruning === null) return null;
  const removed: Removed[] = [];
  try {
    const {batch = usualBatch, at = null} = options;
    for (const {name: kind} of retentionKinds) {
      const count = await repeatBatches(options, () =>
        pruneBatch(pool, pruning, {kind, most: batch, at}),
      );
      if (count > 0) removed.push({kind, count});
    }
    const joined = await repeatBatches(options, () => joinBatch(pool, pruning, batch));
    if (joined > 0) removed.push({kind: 'joined_versions', count: joined});
  } catch (error) {
    await releasePruning(pool, pruning).catch(() => {});
    throw error;
  }
  if (signal.aborted) await releasePruning(pool, pruning);
  else await endPruning(pool, pruning);
  return removed;
}

/** Runs batches until one does nothing. @returns the sum of their counts */
async function repeatBatches(
  {signal, onBatch}: Pick<PruneOptions, 'signal' | 'onBatch'>,
  doBatch: () => Promise<number | null>,
): Promise<number> {
  let count = 0;
  while (!signal.aborted) {
    const begunAt = performance.now();
    const removedCount = await doBatch();
    onBatch?.();
    count += removedCount ?? 0;
    // Nothing is left, or another worker continues the pruning.
    if (removedCount === null || removedCount === 0) break;
    await wait(performance.now() - begunAt, undefined, {signal}).catch(() => {});
  }
  return count;
}

const hourMs = 3_600_000;
/** A worker checks the row that all workers share no more often than this. */
const checkEveryMs = 60_000;

/**
 * Prunes once an hour, beside the other work of a worker. Whichever worker comes first prunes for
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
  return new Rounds({everyMs: checkEveryMs, pulse, work, onFailure});
}

/** The proof that this process still holds the pruning. */
interface Pruning {
  readonly fence: number;
}

/**
 * A batch takes far less. If a worker is killed during a batch, the next pruning waits until this
 * lease ends.
 */
const leaseInterval = "interval '5 minutes'";

/**
 * Claims the pruning, unless another one is in progress.
 * @param restMs - how long ago the last one must have ended
 * @returns null if another one is in progress, or the last one ended more recently
 */
export async function claimPruning(db: Queryable, restMs: number): Promise<Pruning | null> {
  const {rows} = await db.query<Pruning>(
    `INSERT INTO sync.prunings AS held (lease_until, holder) VALUES (now() + ${leaseInterval}, $2)
         ON CONFLICT (is_only) DO UPDATE SET fence = held.fence + 1,
           lease_until = EXCLUDED.lease_until, holder = EXCLUDED.holder
      WHERE coalesce(held.ended_at <= now() - $1 * interval '1 millisecond', true)
      AND coalesce(held.lease_until < now(), true)
     RETURNING fence`,
    [restMs, await markThisProcess()],
  );
  return rows[0] ?? null;
}

/**
 * Reads how long the lease of the current pruning still lasts, unless its worker renews it:
 * milliseconds by the database's clock, 0 if no pruning is in progress.
 */
export async function readPruningLeaseMs(db: Queryable): Promise<number> {
  const {rows} = await db.query<{leaseMs: number}>(
    `SELECT extract(epoch FROM lease_until - now())::double precision * 1000 AS "leaseMs"
     FROM sync.prunings WHERE lease_until > now()`,
  );
  return rows[0]?.leaseMs ?? 0;
}

/**
 * Removes one batch of a kind, and renews the lease of the pruning.
 * @param at - ISO 8601: the moment from which ages are counted; null: now
 * @returns how many were removed; null if another worker has taken over the pruning: then none were
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
       UPDATE sync.prunings SET lease_until = now() + ${leaseInterval}
         WHERE fence = $1 AND lease_until IS NOT NULL RETURNING fence
     )
     SELECT sync.prune($2, $3, coalesce($4::timestamptz, now()))::integer AS gone FROM ours`,
    [fence, kind, most, at],
  );
  return rows[0]?.gone ?? null;
}

/**
 * A transaction that has run for longer may still write a version with an older moment. That pair
 * of versions is not joined.
 */
const joinDelay = "interval '1 hour'";
/**
 * An entry of the feed names the versions before and after it. They are not joined as long as the
 * entry is kept.
 */
const namedFrom = `(SELECT at - interval '1 day' FROM sync.feed_entries ORDER BY entry_id LIMIT 1)`;

/**
 * Joins one batch of versions of write-backs, and renews the lease of the pruning. If nothing is
 * left to join, it stores in `joined_to` up to where that is so.
 * @returns how many pairs were joined; null as `pruneBatch`
 */
async function joinBatch(db: Queryable, {fence}: Pruning, most: number): Promise<number | null> {
  const {rows} = await db.query<{joined: number}>(
    `WITH ours AS (
       SELECT joined_to, least(now() - ${joinDelay}, ${namedFrom}) AS until FROM sync.prunings
       WHERE fence = $1 AND lease_until IS NOT NULL FOR UPDATE
     ), done AS MATERIALIZED (
       SELECT until, sync.join_versions(joined_to, until, $2) AS joined FROM ours
     )
     UPDATE sync.prunings SET lease_until = now() + ${leaseInterval},
       joined_to = CASE done.joined WHEN 0 THEN done.until ELSE joined_to END
       FROM done WHERE fence = $1 RETURNING done.joined::integer AS joined`,
    [fence, most],
  );
  return rows[0]?.joined ?? null;
}

/** Marks a pruning as ended. */
async function endPruning(db: Queryable, {fence}: Pruning): Promise<void> {
  await db.query(
    `UPDATE sync.prunings SET lease_until = NULL, ended_at = now()
      WHERE fence = $1 AND lease_until IS NOT NULL`,
    [fence],
  );
}

/** Gives back a pruning that was interrupted, so that another worker can continue it at once. */
async function releasePruning(db: Queryable, {fence}: Pruning): Promise<void> {
  await db.query('UPDATE sync.prunings SET lease_until = NULL WHERE fence = $1', [fence]);
}

/** Counts the things of a kind that are no longer kept but not yet removed. */
export async function countPrunable(db: Queryable, kind: RetentionName): Promise<number> {
  const {rows} = await db.query<{count: number}>(
    'SELECT sync.count_prunable($1)::float8 AS count',
    [kind],
  );
  return rows[0]?.count ?? 0;
}
