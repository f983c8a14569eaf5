import type pg from 'pg';
import type {Logger} from '../../base/log.ts';
import {prune} from './prune.ts';

const hourMs = 3_600_000;
/** The row of all workers is asked no more often than this. */
const askMs = 60_000;

/** Prunes once an hour, beside the other work of a worker: whichever worker comes first does it for all. */
export class Pruner {
  readonly #deps: {readonly pool: pg.Pool; readonly log: Logger; readonly signal: AbortSignal};
  readonly #clock: () => number;
  #askedAt = Number.NEGATIVE_INFINITY;
  #atWork: Promise<void> | null = null;

  /** @param clock - milliseconds that only grow */
  constructor(
    deps: {readonly pool: pg.Pool; readonly log: Logger; readonly signal: AbortSignal},
    clock: () => number = () => performance.now(),
  ) {
    this.#deps = deps;
    this.#clock = clock;
  }

  /** Begins a pruning where one is due, and does not wait for its end. */
  begin(): void {
    if (this.#atWork !== null || this.#clock() - this.#askedAt < askMs) return;
    this.#askedAt = this.#clock();
    this.#atWork = this.#prune().finally(() => {
      this.#atWork = null;
    });
  }

  /** Resolves when none is under way in this process. */
  async settled(): Promise<void> {
    await this.#atWork;
  }

  async #prune(): Promise<void> {
    const {pool, log, signal} = this.#deps;
    const begunAt = performance.now();
    try {
      const removed = await prune({pool, signal, restMs: hourMs});
      if (removed === null || removed.length === 0) return;
      const counts = Object.fromEntries(removed.map(({kind, count}) => [kind, count]));
      const durationMs = Math.round(performance.now() - begunAt);
      log.info({event: 'warehouse.pruned', ...counts, durationMs}, 'what is no longer kept was removed');
    } catch (error) {
      if (signal.aborted) return;
      log.warn(
        {event: 'warehouse.not_pruned', reason: String(error)},
        'what is no longer kept was not removed; it is tried again within minutes',
      );
    }
  }
}
