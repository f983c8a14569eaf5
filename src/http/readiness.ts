// Checks whether this process can do its work: at most once a second, however many requests come.
// The log shows when the warehouse or the queue stops answering, and when it answers again.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {listWorkers} from '../accounts/workers.ts';
import {errorNumbers, RetryableError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {readNow} from '../postgres/checks.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {checkMigrations} from '../schema/checks.ts';

/** `ok`, or why the queue cannot be used, in words that any caller may read. */
export type QueueCheck = () => Promise<string>;

export interface ReadinessDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Left out if this process runs no workers. */
  readonly queue?: QueueCheck;
  readonly reading?: Partial<ReadingOptions>;
}

/** One thing that must be right before work can be done. */
interface ReadinessCheck {
  readonly check: 'warehouse' | 'migrations' | 'workers' | 'queue';
  /** `unknown` if it could not be checked, because another check failed. */
  readonly verdict: 'ok' | 'failed' | 'unknown';
  readonly reason?: string;
  /** What to do. */
  readonly next?: string;
}

interface Readiness {
  readonly isReady: boolean;
  readonly checks: readonly ReadinessCheck[];
}

const defaultReading: ReadingOptions = {freshMs: 1_000, patienceMs: 5_000};
/** Any caller may read the answer, so addresses appear in the log alone. */
const nextStep = 'the log of this process says why; fieldmirror doctor says how to fix it';

/**
 * Checks whether this process can do its work: at most once a second, however many requests come.
 */
export class ReadinessProbe {
  readonly #databaseUrl: string;
  readonly #ofWarehouse: CachedReading<readonly ReadinessCheck[]>;
  readonly #ofQueue: CachedReading<ReadinessCheck> | null;
  readonly #warehouseAbsence: OutageLog;
  readonly #queueAbsence: OutageLog;

  constructor({pool, log, queue, reading}: ReadinessDeps) {
    const options = {...defaultReading, ...reading};
    this.#databaseUrl = pool.options.connectionString ?? '';
    this.#ofWarehouse = new CachedReading(() => checkWarehouse(pool), options);
    this.#ofQueue =
      queue === undefined ? null : new CachedReading(() => checkQueue(queue), options);
    this.#warehouseAbsence = new OutageLog(log, 'readyz: the warehouse');
    this.#queueAbsence = new OutageLog(log, 'readyz: the queue');
  }

  async look(): Promise<Readiness> {
    const [warehouseChecks, queueChecks] = await Promise.all([
      this.#checkWarehouse(),
      this.#checkQueue(),
    ]);
    const checks = [...warehouseChecks, ...queueChecks];
    return {isReady: checks.every(({verdict}) => verdict === 'ok'), checks};
  }

  async #checkWarehouse(): Promise<readonly ReadinessCheck[]> {
    try {
      const checks = await this.#ofWarehouse.get();
      this.#warehouseAbsence.noteHere();
      return checks;
    } catch (error) {
      this.#warehouseAbsence.noteAway(explainDatabaseError(error, this.#databaseUrl).message);
      return [
        {
          check: 'warehouse',
          verdict: 'failed',
          reason: 'it does not answer, or refuses us',
          next: nextStep,
        },
        {check: 'migrations', verdict: 'unknown'},
        {check: 'workers', verdict: 'unknown'},
      ];
    }
  }

  async #checkQueue(): Promise<readonly ReadinessCheck[]> {
    if (this.#ofQueue === null) return [];
    try {
      const check = await this.#ofQueue.get();
      this.#queueAbsence.noteHere();
      return [check];
    } catch (error) {
      this.#queueAbsence.noteAway(error instanceof Error ? error.message : String(error));
      return [{check: 'queue', verdict: 'failed', reason: 'it does not answer', next: nextStep}];
    }
  }
}

async function checkWarehouse(pool: pg.Pool): Promise<ReadinessCheck[]> {
  await readNow(pool);
  const migrations = await checkSchema(pool);
  const isMigrated = migrations.verdict === 'ok';
  return [
    {check: 'warehouse', verdict: 'ok'},
    migrations,
    isMigrated ? await checkWorkers(pool) : {check: 'workers', verdict: 'unknown'},
  ];
}

async function checkSchema(pool: pg.Pool): Promise<ReadinessCheck> {
  const {problem, unknown} = await checkMigrations(pool);
  if (problem === null) return {check: 'migrations', verdict: 'ok'};
  const fix = unknown.length > 0 ? 'update fieldmirror' : 'run fieldmirror migrate as the owner';
  return {check: 'migrations', verdict: 'failed', reason: problem, next: fix};
}

async function checkWorkers(pool: pg.Pool): Promise<ReadinessCheck> {
  const workers = await listWorkers(pool);
  if (workers.some(({isAlive}) => isAlive)) return {check: 'workers', verdict: 'ok'};
  const reason = 'no worker has checked for work within the last minute';
  return {check: 'workers', verdict: 'failed', reason, next: 'fieldmirror start'};
}

async function checkQueue(queue: QueueCheck): Promise<ReadinessCheck> {
  const reason = await queue();
  return reason === 'ok'
    ? {check: 'queue', verdict: 'ok'}
    : {check: 'queue', verdict: 'failed', reason, next: nextStep};
}

export interface ReadingOptions {
  /** How long after its end a reading, or its failure, is returned again. */
  readonly freshMs: number;
  /** How long a caller waits for a reading in progress. */
  readonly patienceMs: number;
  /** Milliseconds on a clock that never goes back. */
  readonly clock?: () => number;
}

interface TimedReading<T> {
  readonly promise: Promise<T>;
  /** Null while the reading is in progress. */
  endedAt: number | null;
}

/**
 * Reads at most once per interval, and one reading at a time, however many callers there are. A
 * flood of callers costs the source no more than one.
 */
export class CachedReading<T> {
  readonly #read: () => Promise<T>;
  readonly #options: ReadingOptions;
  readonly #clock: () => number;
  #lastReading: TimedReading<T> | null = null;

  constructor(read: () => Promise<T>, options: ReadingOptions) {
    this.#read = read;
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /**
   * Returns the last reading, or a new one if the last is no longer fresh.
   * @throws the error of the reading; {RetryableError} it takes too long: it continues, and a later
   *   caller gets its result
   */
  async get(): Promise<T> {
    const {promise} = this.#fresh() ?? this.#begin();
    const timeoutController = new AbortController();
    const {patienceMs} = this.#options;
    const timeout = wait(patienceMs, undefined, {
      signal: timeoutController.signal,
      ref: false,
    }).then(() => {
      throw new RetryableError(
        `expected an answer within ${patienceMs / 1000} s, got none; it may be busy`,
      );
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([promise, timeout]);
    } finally {
      timeoutController.abort();
    }
  }

  #fresh(): TimedReading<T> | null {
    if (this.#lastReading === null) return null;
    const {endedAt} = this.#lastReading;
    return endedAt === null || this.#clock() - endedAt < this.#options.freshMs
      ? this.#lastReading
      : null;
  }

  #begin(): TimedReading<T> {
    const reading: TimedReading<T> = {promise: this.#read(), endedAt: null};
    const markEnded = () => {
      reading.endedAt = this.#clock();
    };
    reading.promise.then(markEnded, markEnded);
    this.#lastReading = reading;
    return reading;
  }
}

/**
 * Logs once that something does not answer, and once that it answers again: it is checked many
 * times a minute.
 */
export class OutageLog {
  readonly #log: Logger;
  readonly #thing: string;
  #isAway = false;

  /** @param name - the part of the program that needs it, and its name: `readyz: the warehouse` */
  constructor(log: Logger, name: string) {
    this.#log = log;
    this.#thing = name;
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
