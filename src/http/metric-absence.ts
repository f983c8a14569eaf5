import {errorNumbers} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';

/**
 * Logs that something went, once, and once that it is back: it is asked for many times a minute.
 */
export class Absence {
  readonly #log: Logger;
  readonly #thing: string;
  #isAway = false;

  /** @param thing - `the warehouse`, with the part of the program before it that misses it */
  constructor(log: Logger, thing: string) {
    this.#log = log;
    this.#thing = thing;
  }

  noteHere(): void {
    if (this.#isAway) this.#log.info(`${this.#thing} answers again`);
    this.#isAway = false;
  }

  noteAway(reason: string): void {
    if (!this.#isAway)
      this.#log.warn({reason, docs: errorNumbers.outage}, `${this.#thing} does not answer`);
    this.#isAway = true;
  }
}
