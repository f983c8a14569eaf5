// How many requests an account bears at once is documented nowhere, so it is learned as TCP learns
// a line: one more with every second answer in time until the service shows once that it is too
// much, and half as many then; from there on one more after each round of answers. No clock and no
// timer in here: time comes in, a number comes out.

import {Latency} from './latency.ts';

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
export interface Begun {
  readonly atMs: number;
  /** How often there had been too much when it began. */
  readonly round: number;
}

/**
 * The concurrency that an account is known to bear: always a whole number from 1 to `max`.
 * - grows by one with every second answer in time until it has halved once, and then after as many
 *   of them as are allowed at once;
 *   answers that came while there was room for more do not count, because they say nothing about more
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
  begin(nowMs: number): Begun {
    this.#running++;
    return {atMs: nowMs, round: this.#round};
  }

  /**
   * Ends an attempt, once.
   * @param ended.kind - requests of one kind take about the same time; see `kindOf`
   */
  end(begun: Begun, ended: {readonly load: Load; readonly kind: string}, nowMs: number): void {
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
