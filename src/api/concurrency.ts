// Learns how many requests an account handles at once, which is documented nowhere, as TCP learns a
// line. There is one more with every second answer in time until the service is overloaded once,
// and half as many then. From there on there is one more after each round of answers. Latencies are
// compared within one kind of request: a page of a list is slow, a single record is not. There is
// no clock and no timer here: the caller passes the time.

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
