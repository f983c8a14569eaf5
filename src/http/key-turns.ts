import PQueue from 'p-queue';
import {Problem} from './problem.ts';

/** How many requests of one key are carried out at once, and how many more wait for their turn. */
export interface TurnLimits {
  readonly atOnce: number;
  readonly waiting: number;
}

/**
 * Turns of each key among its own requests: a key that sends many keeps itself waiting, and no
 * other key.
 */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #what: string;
  readonly #queues = new Map<string, PQueue>();

  /** @param what - `writes`, for the words of a refusal */
  constructor(what: string, limits: TurnLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /**
   * Does the work when its turn comes.
   * @param options.isPart - of a request that is under way: it waits, however many do
   * @throws {Problem} 429: as many requests of this key wait already as may
   */
  async take<T>(apiKeyId: string, work: () => Promise<T>, {isPart = false} = {}): Promise<T> {
    const {atOnce, waiting} = this.#limits;
    const queue = this.#queues.get(apiKeyId) ?? new PQueue({concurrency: atOnce});
    if (queue.size >= waiting && !isPart) {
      throw new Problem(429, 'too-many', {
        detail: `this key has ${atOnce} ${this.#what} under way and ${waiting} waiting`,
        hint: 'Send fewer at once, and this one again later; nothing was done.',
      });
    }
    this.#queues.set(apiKeyId, queue);
    try {
      return await queue.add(work);
    } finally {
      if (queue.pending + queue.size === 0) this.#queues.delete(apiKeyId);
    }
  }
}
