import pLimit, {type LimitFunction} from 'p-limit';
import type {Sleep} from './retry.ts';

export interface LimiterOptions {
  readonly concurrency: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: Sleep;
}

/**
 * What the requests of one account share: how many run at once, and until when none starts at all. `concurrency` may
 * be changed at any time, and holds for the requests not yet started. A `hold` is for all of them: a 429 on one is
 * meant for the account.
 */
export class Limiter {
  readonly #limit: LimitFunction;
  readonly #options: LimiterOptions;
  #heldUntil = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#limit = pLimit(options.concurrency);
  }

  get concurrency(): number {
    return this.#limit.concurrency;
  }

  set concurrency(count: number) {
    this.#limit.concurrency = count;
  }

  /** Starts nothing new for so long. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#options.now() + ms);
  }

  /**
   * Runs a request when there is room. Once it runs, the signal is its own to heed.
   * @throws the signal's reason, at once, when it is aborted while the request waits; then it never starts
   */
  async run<T>(request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const turn = Promise.withResolvers<T>();
    const abort = () => turn.reject(signal?.reason);
    signal?.addEventListener('abort', abort, {once: true});
    void this.#limit(async () => {
      try {
        await this.#waitOut(signal);
        signal?.throwIfAborted();
        signal?.removeEventListener('abort', abort);
        turn.resolve(await request());
      } catch (error) {
        turn.reject(error);
      }
    });
    return await turn.promise;
  }

  async #waitOut(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.#heldUntil - this.#options.now();
    if (ms > 0 && signal?.aborted !== true) await this.#options.sleep(ms, signal);
  }
}
