// How many requests of an account run at once, and which one is next. The number is documented
// nowhere, so it is learned, as TCP learns a line. There is one more with every second answer in
// time until the service is overloaded once, and half as many then. From there on there is one more
// after each round of answers. Latencies are compared within one kind of request: a page of a list
// is slow, a single record is not. The caller passes clock and timer.

import PQueue from 'p-queue';
import type {Sleep} from '../core/pauses.ts';

export interface ConcurrencyBounds {
  /** Requests at once to begin with; no more than `max`. */
  readonly initial: number;
  readonly max: number;
}

export const DEFAULT_CONCURRENCY: ConcurrencyBounds = {initial: 4, max: 16};

/** What an attempt's end shows: the service kept up, was overloaded, or neither is known. */
export type Load = 'in-time' | 'too-much' | 'unknown';

/** An attempt in progress. */
export interface BegunCall {
  readonly atMs: number;
  /** How often the service had been overloaded when it began. */
  readonly round: number;
}

/**
 * The concurrency that an account is known to handle: always a whole number from 1 to `max`.
 * - grows by one with every second answer in time until it has halved once, and then after as many
 *   of them as are allowed at once. Answers that came while there was room for more do not count,
 *   because they show nothing about more
 * - halves if the service is overloaded, or if answers have become slow since more are requested at
 *   once
 * - attempts that began before the last halving change nothing: a burst of refusals is one sign,
 *   not many
 */
export class LearnedConcurrency {
  readonly #max: number;
  readonly #latency = new Latency();
  #concurrency: number;
  #round = 0;
  #running = 0;
  #inTime = 0;

  constructor({initial, max}: ConcurrencyBounds) {
    this.#max = max;
    this.#concurrency = Math.min(initial, max);
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** @param nowMs - on a clock that never goes back */
  begin(nowMs: number): BegunCall {
    this.#running++;
    return {atMs: nowMs, round: this.#round};
  }

  /**
   * Ends an attempt, once.
   * @param ended.kind - requests of one kind take about the same time; see `classifyRequest`
   */
  end(begun: BegunCall, ended: {readonly load: Load; readonly kind: string}, nowMs: number): void {
    const running = this.#running--;
    if (begun.round !== this.#round || ended.load === 'unknown') return;
    const isOverloaded =
      ended.load === 'too-much' || this.#latency.isSlow(ended.kind, nowMs - begun.atMs, running);
    if (isOverloaded) this.#halve();
    else if (running >= this.#concurrency) this.#count();
  }

  #halve(): void {
    this.#concurrency = Math.max(1, Math.floor(this.#concurrency / 2));
    this.#round++;
    this.#inTime = 0;
    this.#latency.forgetRecent();
  }

  #count(): void {
    const hasHalved = this.#round > 0;
    if (++this.#inTime < (hasHalved ? this.#concurrency : 2)) return;
    this.#concurrency = Math.min(this.#concurrency + 1, this.#max);
    this.#inTime = 0;
  }
}

/**
 * How many answers are judged together. Medians are compared, because one slow answer shows nothing
 * of the service.
 */
const WINDOW = 8;
/**
 * Answers are slow if they take more than this many times the best, and more than this much longer:
 * milliseconds on a near network are jitter.
 */
const SLOW_FACTOR = 2;
const SLOW_FLOOR_MS = 500;
/** Within this factor two medians are the same. */
const SAME_FACTOR = 1.25;

/** The answers of requests of one kind, as measured. */
interface KindStatistics {
  /** The last answers, in milliseconds; at most a window of them. */
  recent: number[];
  /** The best median. */
  bestMs: number;
  /** The fewest requests at once under which about the best was seen. */
  bestRunning: number;
}

/** How long the answers of an account take, compared with the best that was seen of their kind. */
export class Latency {
  // Kinds come from our own code, so there are a few dozen of them.
  readonly #known = new Map<string, KindStatistics>();

  /**
   * Records one answer.
   * @param kind - requests of one kind should take about the same time
   * @param running - requests in progress when it came, itself included
   * @returns true if answers of this kind have become slow and more requests at once than before
   *   may be the cause. If they are as slow with no more requests than at the best, the service is
   *   slow: that is the new best.
   */
  isSlow(kind: string, ms: number, running: number): boolean {
    const statistics = this.#known.get(kind) ?? {
      recent: [],
      bestMs: Infinity,
      bestRunning: Infinity,
    };
    this.#known.set(kind, statistics);
    statistics.recent = [...statistics.recent, ms].slice(-WINDOW);
    if (statistics.recent.length < WINDOW) return false;
    const median = computeMedian(statistics.recent);
    const isSlow =
      median > Math.max(statistics.bestMs * SLOW_FACTOR, statistics.bestMs + SLOW_FLOOR_MS);
    if (isSlow && running > statistics.bestRunning) return true;
    updateBest(statistics, {median, running, isSlow});
    return false;
  }

  /**
   * Begins new windows: answers under other circumstances are not judged together with those to
   * come.
   */
  forgetRecent(): void {
    for (const statistics of this.#known.values()) statistics.recent = [];
  }
}

/**
 * The kind of a request: its method, its path without numbers, and its query's names. Values do not
 * matter.
 */
export function classifyRequest(
  method: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  return `${method} ${path.replace(/\d+/g, 'N')}?${Object.keys(query).sort().join('&')}`;
}

function updateBest(
  statistics: KindStatistics,
  {
    median,
    running,
    isSlow,
  }: {readonly median: number; readonly running: number; readonly isSlow: boolean},
): void {
  if (isSlow || median * SAME_FACTOR < statistics.bestMs) {
    statistics.bestMs = median;
    statistics.bestRunning = running;
  } else if (median <= statistics.bestMs * SAME_FACTOR) {
    statistics.bestMs = Math.min(statistics.bestMs, median);
    statistics.bestRunning = Math.min(statistics.bestRunning, running);
  }
}

function computeMedian(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

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
