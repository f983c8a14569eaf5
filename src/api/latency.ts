// Latencies are compared like with like: a page of a list takes its time, a single record does not.
// Medians, because one slow answer among eight says nothing about the service.

/** Answers that make one judgement. */
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
   *   may be the cause.
   *   Where they are as slow with no more requests than at the best, the service is: that is the new best.
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
export function kindOf(
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
