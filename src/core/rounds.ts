import {setTimeout as wait} from 'node:timers/promises';
import type {Pulse} from './pulse.ts';

/** Work that is done again and again beside other work. */
export interface RoundsPlan {
  /** From the beginning of a round to that of the next one, at least. */
  readonly everyMs: number;
  readonly pulse: Pulse;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Logs why a round failed; it is tried again. */
  readonly onFailure: (error: unknown) => void;
}

const stopMs = 3_000;

/**
 * The rounds of one part of a worker: never two at once, and whoever begins one does not wait for
 * it.
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
   * Begins a round, unless one is under way or was begun a moment ago. Never fails, and waits for
   * nothing.
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

  /** Resolves when no round is under way. */
  async settled(): Promise<void> {
    await this.#round;
  }

  /** Ends the round under way within seconds, and begins no other one. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.race([this.#round, wait(stopMs, undefined, {ref: false})]);
  }
}
