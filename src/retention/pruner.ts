import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {Pulse, Rounds} from '../core/rounds.ts';
import {prune} from './prune.ts';

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
    const removed = await prune({pool, signal, restMs: hourMs, onBatch: () => pulse.good()});
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
