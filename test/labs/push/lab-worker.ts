// One worker of the product in this process, which can die and stall at every step. A dead worker
// loses its connections to the database and to the service, as a killed process does.

import type pg from 'pg';
import {createClient} from '../../../src/api/client.ts';
import {createTransport, type Transport} from '../../../src/api/transport.ts';
import type {Logger} from '../../../src/core/log.ts';
import {Secret} from '../../../src/core/secret.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {pushAccount} from '../../../src/push/push.ts';
import type {PushStep} from '../../../src/push/run.ts';
import type {Random} from '../../../src/service/vocabulary.ts';

export interface WorkerPlace {
  readonly databaseUrl: string;
  readonly accountId: string;
  readonly service: {readonly url: string; readonly token: string};
  readonly timeZone: string;
  readonly log: Logger;
  /** Rewrites the product's statements, to make a mutant. */
  readonly rewrite?: ((sql: string) => string) | undefined;
  /**
   * Seconds that have passed in the laboratory, beside those of the machine: they measure a lease.
   */
  readonly passedSeconds?: (() => number) | undefined;
  /** Called at every step of every change. */
  readonly onStep?: () => Promise<void>;
  /**
   * How often the database ended all sessions: a worker that had one then may fail, the next must
   * not.
   */
  readonly countOutages?: () => number;
}

/** The chance that a step of a change is the worker's last, or that the worker stalls there. */
export interface Frailty {
  readonly death: number;
  readonly stall: number;
}

/** Steps outside transactions: a lock held through a stall would stop all others, time included. */
const stallSteps: ReadonlySet<PushStep> = new Set([
  'claimed',
  'read',
  'sending-committed',
  'turn',
  'answered',
  'read-back',
  'end-committed',
  'checked',
]);

/** Ends every session of a worker, as a restart of Postgres does. */
export async function endSessions(databaseUrl: string, name = 'lab worker%'): Promise<void> {
  const killer = openPool(databaseUrl, {max: 1, applicationName: 'killer'});
  await killer.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE application_name LIKE $1 AND datname = current_database()`,
    [name],
  );
  await killer.end();
}

const nowhere = 'postgres://127.0.0.1:1/nowhere';

let lastWorker = 0;

export class LabWorker {
  readonly #place: WorkerPlace;
  readonly #random: Random;
  readonly #frailty: Frailty;
  readonly #name = `lab worker ${++lastWorker}`;
  readonly #pool: pg.Pool;
  readonly #transport: Transport;
  readonly #stalled: (() => void)[] = [];
  #firstStall = Promise.withResolvers<'stalled'>();
  #running: Promise<'ended'> | null = null;
  /** After one stall a worker stalls no more. */
  #isAwake = false;
  readonly #outagesBefore: number | undefined;
  isDead = false;

  constructor(place: WorkerPlace, random: Random, frailty: Frailty) {
    this.#place = place;
    this.#random = random;
    this.#frailty = frailty;
    this.#outagesBefore = place.countOutages?.();
    this.#pool = openPool(place.databaseUrl, {max: 6, applicationName: this.#name});
    if (place.rewrite !== undefined) rewriteStatements(this.#pool, place.rewrite);
    const {url, token} = place.service;
    this.#transport = createTransport({
      baseUrl: url,
      token: new Secret(token),
      retry: {attempts: 1},
      concurrency: {initial: 8, max: 8},
    });
  }

  /**
   * Carries due changes until none is due, the worker dies, or one stalls; the rest then goes on.
   */
  async work(): Promise<'ended' | 'stalled'> {
    this.#firstStall = Promise.withResolvers();
    this.#running = this.#carry();
    return await Promise.race([this.#running, this.#firstStall.promise]);
  }

  /** Lets stalled changes go on to their end. */
  async wake(): Promise<void> {
    this.#isAwake = true;
    for (const wake of this.#stalled.splice(0)) wake();
    await this.#running;
  }

  async close(): Promise<void> {
    this.isDead = true;
    await this.wake();
    await this.#transport.close();
    await this.#pool.end();
  }

  async #carry(): Promise<'ended'> {
    const {accountId, databaseUrl, log, timeZone, passedSeconds = () => 0} = this.#place;
    const account = {api: createClient(this.#transport), timeZone};
    const deps = {
      pool: this.#pool,
      databaseUrl,
      openAccount: async () => account,
      log,
      clocks: () => [performance.now() + passedSeconds() * 1_000],
      onStep: (step: PushStep) => this.#pass(step),
    };
    try {
      await pushAccount(deps, accountId, new AbortController().signal);
    } catch (error) {
      if (!this.isDead && this.#place.countOutages?.() === this.#outagesBefore) throw error;
    }
    return 'ended';
  }

  async #pass(step: PushStep): Promise<void> {
    await this.#place.onStep?.();
    if (!this.isDead && this.#random.isTrue(this.#frailty.death)) await this.#die();
    if (
      !this.isDead &&
      !this.#isAwake &&
      stallSteps.has(step) &&
      this.#random.isTrue(this.#frailty.stall)
    ) {
      this.#firstStall.resolve('stalled');
      await new Promise<void>((wake) => this.#stalled.push(wake));
    }
    if (this.isDead) throw new Error('the worker is dead');
  }

  async #die(): Promise<void> {
    this.isDead = true;
    // A dead worker does not connect again either.
    this.#pool.options.connectionString = nowhere;
    await this.#transport.close();
    await endSessions(this.#place.databaseUrl, this.#name);
  }
}

function rewriteStatements(pool: pg.Pool, rewrite: (sql: string) => string): void {
  pool.on('connect', (client) => {
    const query: (...given: unknown[]) => unknown = client.query.bind(client);
    Object.assign(client, {
      query: (text: unknown, ...rest: unknown[]) =>
        query(typeof text === 'string' ? rewrite(text) : text, ...rest),
    });
  });
}
