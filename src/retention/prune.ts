import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {endPruning, giveBackPruning, joinBatch, pruneBatch, takePruning} from './prunings.ts';
import type {RetentionName} from './retention-kinds.ts';
import {retentionKinds} from './retention-kinds.ts';

/** How many of a kind were removed, or pairs of versions joined. */
export interface Removed {
  readonly kind: RetentionName | 'joined_versions';
  readonly count: number;
}

export interface PruneTerms {
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
export async function prune(terms: PruneTerms): Promise<readonly Removed[] | null> {
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
