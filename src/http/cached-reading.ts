import {setTimeout as wait} from 'node:timers/promises';
import {RetryableError} from '../core/errors.ts';

export interface ReadingOptions {
  /** For so long after its end a reading, or its failure, is told again. */
  readonly freshMs: number;
  /** How long an asker waits for a reading under way. */
  readonly patienceMs: number;
  /** Milliseconds on a clock that never goes back. */
  readonly clock?: () => number;
}

interface Held<T> {
  readonly promise: Promise<T>;
  /** Null while it is under way. */
  endedAt: number | null;
}

/**
 * Reads at most once per interval, and one reading at a time, however many ask: a flood costs its
 * source no more than one asker.
 */
export class CachedReading<T> {
  readonly #read: () => Promise<T>;
  readonly #options: ReadingOptions;
  readonly #clock: () => number;
  #held: Held<T> | null = null;

  constructor(read: () => Promise<T>, options: ReadingOptions) {
    this.#read = read;
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /**
   * The last reading, or a new one where it is no longer fresh.
   * @throws the error of the reading; {RetryableError} it takes too long: it goes on, and a later
   *   asker is told
   */
  async get(): Promise<T> {
    const {promise} = this.#fresh() ?? this.#begin();
    const answered = new AbortController();
    const {patienceMs} = this.#options;
    const tooLate = wait(patienceMs, undefined, {signal: answered.signal, ref: false}).then(() => {
      throw new RetryableError(
        `expected an answer within ${patienceMs / 1000} s, got none; it may be busy`,
      );
    });
    tooLate.catch(() => {});
    try {
      return await Promise.race([promise, tooLate]);
    } finally {
      answered.abort();
    }
  }

  #fresh(): Held<T> | null {
    if (this.#held === null) return null;
    const {endedAt} = this.#held;
    return endedAt === null || this.#clock() - endedAt < this.#options.freshMs ? this.#held : null;
  }

  #begin(): Held<T> {
    const held: Held<T> = {promise: this.#read(), endedAt: null};
    const end = () => {
      held.endedAt = this.#clock();
    };
    held.promise.then(end, end);
    this.#held = held;
    return held;
  }
}
