// When the queue or the warehouse goes away, half a dozen connections notice, again and again. An
// operator is told once when it goes and once when it is back, and between the two of each further
// reason for which a whole round of work failed: a connection that was cut says nothing of the
// read-only warehouse that the next one finds.

import type {Logger} from '../src/core/log.ts';

/**
 * The time without a failure before all is called well again: connections come back one after the
 * other.
 */
const quietMs = 10_000;

/** Remembers since when calls fail. */
export class Outage {
  readonly #log: Logger;
  readonly #now: () => number;
  /** Null: all is well. */
  #failing: {
    readonly since: number;
    lastAt: number;
    wellAgainAt: number | null;
    /** Reasons that were told, without their numbers. */
    readonly told: Set<string>;
  } | null = null;

  /** @param now - milliseconds of a clock that is never set */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** From the first failure until all has been well for a while. */
  get isUnderWay(): boolean {
    return this.#failing !== null;
  }

  /** One call failed, of many on many connections. */
  failed(reason: string): void {
    const now = this.#now();
    if (this.#failing !== null) {
      this.#failing.lastAt = now;
      this.#failing.wellAgainAt = null;
      return;
    }
    this.#failing = {
      since: now,
      lastAt: now,
      wellAgainAt: null,
      told: new Set([withoutNumbers(reason)]),
    };
    this.#log.warn(
      {event: 'outage.began', reason},
      'the queue or the warehouse is out of reach; nothing is lost, trying again',
    );
  }

  /** A whole round of work failed. */
  roundFailed(reason: string): void {
    this.failed(reason);
    const told = this.#failing?.told;
    if (told === undefined || told.has(withoutNumbers(reason))) return;
    told.add(withoutNumbers(reason));
    this.#log.warn(
      {event: 'outage.lasts', reason},
      'the queue or the warehouse is still out of reach',
    );
  }

  succeeded(): void {
    const failing = this.#failing;
    if (failing === null) return;
    const now = this.#now();
    failing.wellAgainAt ??= now;
    if (now - failing.lastAt < quietMs) return;
    const durationMs = Math.round(failing.wellAgainAt - failing.since);
    this.#failing = null;
    this.#log.warn(
      {event: 'outage.ended', durationMs},
      'the queue and the warehouse are within reach again; work goes on',
    );
  }
}

/** Ports and times differ from one failure to the next, and are no news. */
function withoutNumbers(reason: string): string {
  return reason.replaceAll(/\d+/g, '0');
}
