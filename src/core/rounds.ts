// Work that a worker does again and again beside other work, and its heartbeat.

import {setTimeout as wait} from 'node:timers/promises';

/** The state of one part of a worker; times are milliseconds before now. */
export interface PulseReading {
  /** Since its last good round; before the first one, since the part was made. */
  readonly goodAgoMs: number;
  /** Since the round in progress began; null if there is none. */
  readonly begunAgoMs: number | null;
  /** Why the last round failed; null after a good one. */
  readonly error: string | null;
}

/** The heartbeat of one part of a worker: its rounds are good, fail, or do not end. */
export class Pulse {
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number;
  #goodAt: number;
  #begunAt: number | null = null;
  #error: string | null = null;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.#goodAt = now();
  }

  /** Does one round, and notes how it ended. @throws the error of `work` */
  async round<T>(work: () => Promise<T>): Promise<T> {
    this.#begunAt = this.now();
    try {
      const result = await work();
      this.good();
      return result;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      this.#begunAt = null;
    }
  }

  /** Notes that the part does its work: a long round calls it after each step. */
  good(): void {
    this.#goodAt = this.now();
    this.#error = null;
  }

  read(): PulseReading {
    const now = this.now();
    return {
      goodAgoMs: now - this.#goodAt,
      begunAgoMs: this.#begunAt === null ? null : now - this.#begunAt,
      error: this.#error,
    };
  }
}

/** Work that is done again and again beside other work. */
interface RoundsPlan {
  /** The least time from the beginning of one round to that of the next one. */
  readonly everyMs: number;
  readonly pulse: Pulse;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Logs why a round failed; it is tried again. */
  readonly onFailure: (error: unknown) => void;
}

const stopMs = 3_000;

/**
 * The rounds of one part of a worker: never two at once, and the caller that begins one does not
 * wait for it.
 */
export class Rounds {
  readonly #plan: RoundsPlan;
  readonly #stopping = new AbortController();
  #round: Promise<void> | null = null;
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(plan: RoundsPlan) {
    this.#plan = plan;
  }

  /**
   * Begins a round, unless one is in progress, one began less than `everyMs` ago, or the rounds
   * were stopped. It never throws, and does not wait.
   */
  begin(): void {
    const {everyMs, pulse, work, onFailure} = this.#plan;
    const {signal} = this.#stopping;
    if (this.#round !== null || signal.aborted || pulse.now() - this.#begunAt < everyMs) return;
    this.#begunAt = pulse.now();
    this.#round = pulse
      .round(() => work(signal))
      .catch((error: unknown) => {
        if (!signal.aborted) onFailure(error);
      })
      .finally(() => {
        this.#round = null;
      });
  }

  /** Resolves when no round is in progress. */
  async settled(): Promise<void> {
    await this.#round;
  }

  /**
   * Aborts the round in progress, waits a few seconds at most for its end, and begins no other one.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.race([this.#round, wait(stopMs, undefined, {ref: false})]);
  }
}
