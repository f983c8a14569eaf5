import PQueue from 'p-queue';
import type {Sleep} from '../core/back-off.ts';

/**
 * The purpose of a request. Waiting requests start in this order; within one, first come first
 * served.
 */
export type Urgency = 'write-back' | 'fresh' | 'full';

const PRIORITIES: Readonly<Record<Urgency, number>> = {'write-back': 2, fresh: 1, full: 0};

interface LimiterOptions {
  readonly concurrency: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: Sleep;
}

/**
 * The turns of one account's requests: how many run at once, which waiting one is next, and until
 * when none starts at all. `LearnedConcurrency` learns `concurrency`; it may be changed at any
 * time, and applies to the requests not yet started. A `hold` is for all of them: a 429 on one is
 * meant for the account.
 */
export class Limiter {
  readonly #queue: PQueue;
  readonly #options: LimiterOptions;
  readonly #waiting = new Set<AbortController>();
  readonly #stop = new AbortController();
  #heldUntil = 0;
  #isReleasing = false;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#queue = new PQueue({concurrency: options.concurrency});
  }

  get concurrency(): number {
    return this.#queue.concurrency;
  }

  set concurrency(count: number) {
    this.#queue.concurrency = count;
  }

  /** Aborted once and for all by `stop`, with its error as the reason. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Starts nothing new for this time; the longest hold counts. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#options.now() + ms);
    this.#queue.pause();
    if (this.#waiting.size > 0) void this.#release();
  }

  /**
   * Starts nothing any more: waiting and later requests fail with this error. Running ones
   * continue.
   */
  stop(error: Error): void {
    this.#stop.abort(error);
    for (const controller of this.#waiting) controller.abort(this.#stop.signal.reason);
  }

  /**
   * Runs a request when it is its turn. Once it runs, it handles the signal itself.
   * @throws the signal's reason, at once, if it is aborted while the request waits; the error of
   *   `stop` likewise. Then the request never starts
   */
  async run<T>(
    request: () => Promise<T>,
    {
      urgency = 'fresh',
      signal,
    }: {readonly urgency?: Urgency | undefined; readonly signal?: AbortSignal | undefined} = {},
  ): Promise<T> {
    this.#stop.signal.throwIfAborted();
    signal?.throwIfAborted();
    // With the signal itself, the queue would give up a running request, too; so it gets one for
    // the wait alone.
    const controller = new AbortController();
    const onAbort = () => controller.abort(signal?.reason);
    const endWait = () => {
      signal?.removeEventListener('abort', onAbort);
      this.#waiting.delete(controller);
    };
    signal?.addEventListener('abort', onAbort, {once: true});
    this.#waiting.add(controller);
    const start = async () => {
      endWait();
      return await request();
    };
    if (this.#queue.isPaused) void this.#release();
    try {
      return await this.#queue.add(start, {
        priority: PRIORITIES[urgency],
        signal: controller.signal,
      });
    } finally {
      endWait();
    }
  }

  // Runs only while requests wait: a hold that none of them meets needs no timer. A hold may be
  // made longer meanwhile.
  async #release(): Promise<void> {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    for (let until = 0; until < this.#heldUntil && !this.#stop.signal.aborted; ) {
      until = this.#heldUntil;
      await this.#waitUntil(until);
    }
    this.#isReleasing = false;
    this.#queue.start();
  }

  async #waitUntil(until: number): Promise<void> {
    const ms = until - this.#options.now();
    if (ms <= 0) return;
    try {
      await this.#options.sleep(ms, this.#stop.signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }
}
