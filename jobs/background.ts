// The parts of a worker that go on beside the queue. Each has a heartbeat, and all are noted in
// rows, so that `status`, `doctor` and alerts see by the same code which of them does not do its
// work. No part waits for another one.

import type pg from 'pg';
import {Pulse} from '../src/core/rounds.ts';
import {noteParts, type PartName, removeParts} from '../src/health/heartbeats.ts';

/** A part that is begun again and again; see `Rounds`. */
export interface BackgroundPart {
  begin(): void;
  stop(): Promise<void>;
}

/** What a part gets from its worker. */
export interface BackgroundSurroundings {
  /** The heartbeat of a part: whoever takes it must keep it going. */
  readonly pulse: (part: PartName) => Pulse;
  /** The accounts that are served at the moment. */
  readonly listServed: () => readonly string[];
}

export interface BackgroundTimes {
  /** Between two looks whether a part is due. */
  readonly tickMs: number;
  readonly noteMs: number;
  /** Milliseconds that only grow, by which heartbeats are measured. */
  readonly clock: () => number;
}

const usualTimes: BackgroundTimes = {tickMs: 2_000, noteMs: 10_000, clock: () => performance.now()};

export class Background {
  readonly #pool: pg.Pool;
  readonly #workerId: string | null;
  readonly #times: BackgroundTimes;
  readonly #pulses = new Map<PartName, Pulse>();
  readonly #parts: BackgroundPart[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #noting: Promise<void> | null = null;

  /** @param workerId - as in sync.workers; null: nothing is noted */
  constructor(pool: pg.Pool, workerId: string | null, times: Partial<BackgroundTimes> = {}) {
    this.#pool = pool;
    this.#workerId = workerId;
    this.#times = {...usualTimes, ...times};
  }

  /** The heartbeat of a part, which counts from now. */
  pulse(part: PartName): Pulse {
    const pulse = this.#pulses.get(part) ?? new Pulse(this.#times.clock);
    this.#pulses.set(part, pulse);
    return pulse;
  }

  /** Adds parts that are begun at every tick. */
  add(...parts: readonly BackgroundPart[]): void {
    this.#parts.push(...parts);
  }

  /** Begins every part, and notes how they fare, whatever becomes of the worker's other work. */
  begin(): void {
    const tick = () => {
      for (const part of this.#parts) part.begin();
    };
    const {tickMs, noteMs} = this.#times;
    tick();
    this.#note();
    this.#timers.push(
      setInterval(tick, tickMs),
      setInterval(() => this.#note(), noteMs),
    );
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([...this.#parts.map((part) => part.stop()), this.#noting]);
    if (this.#workerId !== null) await removeParts(this.#pool, this.#workerId).catch(() => {});
  }

  /**
   * A warehouse that is away gets no note; then the rows grow old, and the worker counts as lost.
   */
  #note(): void {
    const workerId = this.#workerId;
    if (workerId === null || this.#noting !== null) return;
    const readings = [...this.#pulses].map(([part, pulse]) => ({part, ...pulse.read()}));
    this.#noting = noteParts(this.#pool, workerId, readings)
      .catch(() => {})
      .finally(() => {
        this.#noting = null;
      });
  }
}
