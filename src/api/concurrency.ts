// How many requests an account bears at once is documented nowhere, so it is learned as TCP learns
// a line: one more with every second answer in time until the service shows once that it is too
// much, and half as many then; from there on one more after each round of answers. Latencies are
// compared like with like: a page of a list takes its time, a single record does not. No clock and
// no timer in here: time comes in, a number comes out.

export interface ConcurrencyBounds {
  /** Requests at once to begin with; no more than `max`. */
  readonly initial: number;
  readonly max: number;
}

export const DEFAULT_CONCURRENCY: ConcurrencyBounds = {initial: 4, max: 16};

/**
 * The sign that an attempt's end gives: the service kept up, had too much, or neither can be said.
 */
export type Load = 'in-time' | 'too-much' | 'unknown';

/** An attempt under way. */
export interface BegunCall {
  readonly atMs: number;
  /** How often there had been too much when it began. */
  readonly round: number;
}

/**
 * The concurrency that an account is known to bear: always a whole number from 1 to `max`.
 * - grows by one with every second answer in time until it has halved once, and then after as many
 *   of them as are allowed at once; answers that came while there was room for more do not count,
 *   because they say nothing about more
 * - halves when there was too much, or when answers have become slow since more are asked at once
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
   * @param ended.kind - requests of one kind take about the same time; see `kindOf`
   */
  end(begun: BegunCall, ended: {readonly load: Load; readonly kind: string}, nowMs: number): void {
    const running = this.#running--;
    if (begun.round !== this.#round || ended.load === 'unknown') return;
    const isTooMuch =
      ended.load === 'too-much' || this.#latency.isSlow(ended.kind, nowMs - begun.atMs, running);
    if (isTooMuch) this.#halve();
    else if (running >= this.#concurrency) this.#count();
  }

  #halve(): void {
    this.#concurrency = Math.max(1, Math.floor(this.#concurrency / 2));
    this.#round++;
    this.#inTime = 0;
    this.#latency.forgetRecent();
  }

  #count(): void {
    const wasTooMuch = this.#round > 0;
    if (++this.#inTime < (wasTooMuch ? this.#concurrency : 2)) return;
    this.#concurrency = Math.min(this.#concurrency + 1, this.#max);
    this.#inTime = 0;
  }
}

/** Answers that make one judgement: by medians, for one slow answer says nothing of the service. */
const WINDOW = 8;
/**
 * Slow is more than so many times the best, and by more than so much: milliseconds on a near
 * network are jitter.
 */
const SLOW_FACTOR = 2;
const SLOW_FLOOR_MS = 500;
/** Within this factor two medians are the same. */
const SAME_FACTOR = 1.25;

/** The answers of requests of one kind, as measured. */
interface Known {
  /** The last answers, in milliseconds; at most a window of them. */
  recent: number[];
  /** The best median. */
  bestMs: number;
  /** The fewest requests at once under which about the best was seen. */
  bestRunning: number;
}

/** How long the answers of an account take, against the best that was seen of their kind. */
export class Latency {
  // Kinds come from our own code, so there are a few dozen of them.
  readonly #known = new Map<string, Known>();

  /**
   * Takes in one answer.
   * @param kind - requests of one kind should take about the same time
   * @param running - requests under way when it came, itself included
   * @returns true when answers of this kind have become slow and more requests at once than before
   *   may be the cause. Where they are as slow with no more requests than at the best, the service
   *   is: that is the new best.
   */
  isSlow(kind: string, ms: number, running: number): boolean {
    const known = this.#known.get(kind) ?? {recent: [], bestMs: Infinity, bestRunning: Infinity};
    this.#known.set(kind, known);
    known.recent = [...known.recent, ms].slice(-WINDOW);
    if (known.recent.length < WINDOW) return false;
    const median = medianOf(known.recent);
    const isSlow = median > Math.max(known.bestMs * SLOW_FACTOR, known.bestMs + SLOW_FLOOR_MS);
    if (isSlow && running > known.bestRunning) return true;
    keepBest(known, {median, running, isSlow});
    return false;
  }

  /**
   * Begins new windows: answers under other circumstances are not to be judged with those to come.
   */
  forgetRecent(): void {
    for (const known of this.#known.values()) known.recent = [];
  }
}

/**
 * The kind of a request: its method, its path without numbers, and its query's names. Values do not
 * matter.
 */
export function kindOfCall(
  method: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  return `${method} ${path.replace(/\d+/g, 'N')}?${Object.keys(query).sort().join('&')}`;
}

function keepBest(
  known: Known,
  {
    median,
    running,
    isSlow,
  }: {readonly median: number; readonly running: number; readonly isSlow: boolean},
): void {
  if (isSlow || median * SAME_FACTOR < known.bestMs) {
    known.bestMs = median;
    known.bestRunning = running;
  } else if (median <= known.bestMs * SAME_FACTOR) {
    known.bestMs = Math.min(known.bestMs, median);
    known.bestRunning = Math.min(known.bestRunning, running);
  }
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
