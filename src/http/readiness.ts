import type pg from 'pg';
import {listWorkers} from '../accounts/workers.ts';
import type {Logger} from '../core/log.ts';
import {readNow} from '../postgres/checks.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {CachedReading, type ReadingOptions} from './cached-reading.ts';
import {Absence} from './metric-absence.ts';

/** `ok`, or why the queue cannot be used: in words that may be told to anyone. */
export type QueueCheck = () => Promise<string>;

export interface ReadinessDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Left out where this process runs no workers. */
  readonly queue?: QueueCheck;
  readonly reading?: Partial<ReadingOptions>;
}

/** One thing that must be right before work can be done. */
export interface Check {
  readonly check: 'warehouse' | 'migrations' | 'workers' | 'queue';
  /** `unknown` where it could not be looked at, because another check failed. */
  readonly verdict: 'ok' | 'failed' | 'unknown';
  readonly reason?: string;
  /** What to do. */
  readonly next?: string;
}

export interface Readiness {
  readonly isReady: boolean;
  readonly checks: readonly Check[];
}

const defaults: ReadingOptions = {freshMs: 1_000, patienceMs: 5_000};
/** The answer is open to all: addresses are told in the log alone. */
const next = 'the log of this process says why; fieldmirror doctor says how to mend it';

/** Looks whether this process can do its work: at most once a second, however many ask. */
export class ReadinessProbe {
  readonly #databaseUrl: string;
  readonly #ofWarehouse: CachedReading<readonly Check[]>;
  readonly #ofQueue: CachedReading<Check> | null;
  readonly #warehouseAbsence: Absence;
  readonly #queueAbsence: Absence;

  constructor({pool, log, queue, reading}: ReadinessDeps) {
    const options = {...defaults, ...reading};
    this.#databaseUrl = pool.options.connectionString ?? '';
    this.#ofWarehouse = new CachedReading(() => checkWarehouse(pool), options);
    this.#ofQueue =
      queue === undefined ? null : new CachedReading(() => checkQueue(queue), options);
    this.#warehouseAbsence = new Absence(log, 'readyz: the warehouse');
    this.#queueAbsence = new Absence(log, 'readyz: the queue');
  }

  async look(): Promise<Readiness> {
    const [ofWarehouse, ofQueue] = await Promise.all([
      this.#lookAtWarehouse(),
      this.#lookAtQueue(),
    ]);
    const checks = [...ofWarehouse, ...ofQueue];
    return {isReady: checks.every(({verdict}) => verdict === 'ok'), checks};
  }

  async #lookAtWarehouse(): Promise<readonly Check[]> {
    try {
      const checks = await this.#ofWarehouse.get();
      this.#warehouseAbsence.noteHere();
      return checks;
    } catch (error) {
      this.#warehouseAbsence.noteAway(explainDatabaseError(error, this.#databaseUrl).message);
      return [
        {check: 'warehouse', verdict: 'failed', reason: 'it does not answer, or refuses us', next},
        {check: 'migrations', verdict: 'unknown'},
        {check: 'workers', verdict: 'unknown'},
      ];
    }
  }

  async #lookAtQueue(): Promise<readonly Check[]> {
    if (this.#ofQueue === null) return [];
    try {
      const check = await this.#ofQueue.get();
      this.#queueAbsence.noteHere();
      return [check];
    } catch (error) {
      this.#queueAbsence.noteAway(error instanceof Error ? error.message : String(error));
      return [{check: 'queue', verdict: 'failed', reason: 'it does not answer', next}];
    }
  }
}

async function checkWarehouse(pool: pg.Pool): Promise<Check[]> {
  await readNow(pool);
  const migrations = await checkSchema(pool);
  const isMigrated = migrations.verdict === 'ok';
  return [
    {check: 'warehouse', verdict: 'ok'},
    migrations,
    isMigrated ? await checkWorkers(pool) : {check: 'workers', verdict: 'unknown'},
  ];
}

async function checkSchema(pool: pg.Pool): Promise<Check> {
  const {problem, unknown} = await checkMigrations(pool);
  if (problem === null) return {check: 'migrations', verdict: 'ok'};
  const mend = unknown.length > 0 ? 'update fieldmirror' : 'run fieldmirror migrate as the owner';
  return {check: 'migrations', verdict: 'failed', reason: problem, next: mend};
}

async function checkWorkers(pool: pg.Pool): Promise<Check> {
  const workers = await listWorkers(pool);
  if (workers.some(({isAlive}) => isAlive)) return {check: 'workers', verdict: 'ok'};
  const reason = 'no worker has looked for work within the last minute';
  return {check: 'workers', verdict: 'failed', reason, next: 'fieldmirror start'};
}

async function checkQueue(queue: QueueCheck): Promise<Check> {
  const reason = await queue();
  return reason === 'ok'
    ? {check: 'queue', verdict: 'ok'}
    : {check: 'queue', verdict: 'failed', reason, next};
}
