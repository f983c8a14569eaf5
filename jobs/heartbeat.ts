// A worker notes that it is alive, in a row of its own, after each round in which it looked for
// work. A worker that hangs, or cannot reach the queue, falls silent.

import type pg from 'pg';
import {
  noteWorker,
  removeWorker,
  type WorkerIdentity,
  type WorkerReach,
} from '../src/accounts/workers.ts';

/** The worker that beats, and its reach at the moment beside the accounts that it serves. */
export interface Heart extends WorkerIdentity {
  readonly reach: () => Omit<WorkerReach, 'accountIds'>;
}

const everyMs = 15_000;

export class Heartbeat {
  readonly #pool: pg.Pool;
  readonly #heart: Heart;
  readonly #clock: () => number;
  /** The state noted last, and when: a change is noted at once. */
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

  /** Notes the worker's state, unless the same was noted a moment ago. */
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

  /**
   * Removes the row: a worker that stopped is not missed. Where the database is away, the row grows
   * old.
   */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    await this.#beating.catch(() => {});
    await removeWorker(this.#pool, this.#heart.workerId).catch(() => {});
  }
}
