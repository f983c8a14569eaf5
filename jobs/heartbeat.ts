// A worker says that it is alive, in a row of its own, after a round in which it looked for work: one that hangs, or that
// cannot reach the queue, falls silent.

import type pg from 'pg';
import {
  noteWorker,
  removeWorker,
  type WorkerIdentity,
  type WorkerReach,
} from '../src/warehouse/health/workers.ts';

/** Who beats, and what it can do at the moment beside the accounts that it serves. */
export interface Heart extends WorkerIdentity {
  readonly reach: () => Omit<WorkerReach, 'accountIds'>;
}

const everyMs = 15_000;

export class Heartbeat {
  readonly #pool: pg.Pool;
  readonly #heart: Heart;
  readonly #clock: () => number;
  /** What was said last, and when: a change is said at once. */
  #said = '';
  #saidAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> = Promise.resolve();
  #hasStopped = false;

  /** @param clock - milliseconds that only grow */
  constructor(pool: pg.Pool, heart: Heart, clock: () => number = () => performance.now()) {
    this.#pool = pool;
    this.#heart = heart;
    this.#clock = clock;
  }

  /** Beats, unless the same was said a moment ago. */
  async beat(accountIds: readonly string[]): Promise<void> {
    const {reach, ...identity} = this.#heart;
    const now = {...reach(), accountIds};
    const saying = JSON.stringify(now);
    const isFresh = saying === this.#said && this.#clock() - this.#saidAt < everyMs;
    if (isFresh || this.#hasStopped) return;
    this.#beating = noteWorker(this.#pool, {...identity, ...now});
    await this.#beating;
    this.#said = saying;
    this.#saidAt = this.#clock();
  }

  /** Takes the row away: a worker that stopped is missed by nobody. Where the database is away, the row grows old. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    await this.#beating.catch(() => {});
    await removeWorker(this.#pool, this.#heart.workerId).catch(() => {});
  }
}
