// The base of every verb that uses the warehouse: it is opened in order and closed in reverse. A
// verb such as `status` needs only this, and loads neither the API client nor a logger, which
// `app.ts` loads.

import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {printErr, printStep} from '../core/text.ts';
import {checkDirect} from '../postgres/checks.ts';
import {openPool} from '../postgres/database.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {type EmbeddedPostgres, hasEmbedded, openEmbeddedPostgres} from '../postgres/embedded.ts';
import {checkMigrations} from '../schema/checks.ts';

/** The warehouse, migrated unless `migrates` is false. */
export interface Warehouse {
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  /**
   * The address of direct sessions, and a pool of them. Both are the same as above, unless a pooler
   * is in between.
   */
  readonly directUrl: string;
  readonly direct: pg.Pool;
  /** The place of the warehouse, for a person: never a password. */
  readonly place: string;
  /** Sends reports of waits for locks to a function instead of standard error. */
  readonly tellWaitsTo: (report: (line: string) => void) => void;
}

/** Eight sweeps at once, each with a transaction, and sometimes a lease. */
const poolSize = 16;
/** The address in errors of an embedded Postgres that could not be opened. */
const unopenedUrl = 'postgres://127.0.0.1/warehouse';

/** Closes things, last opened first; if one fails to close, the others are still closed. */
class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close().catch(() => {});
  }
}

/** The longest wait for a step that was left when the command stopped. */
const settleMs = 6_000;

/** The steps of an opening; a stop interrupts each of them. */
class Steps {
  readonly #signal: AbortSignal | undefined;
  readonly #unfinished: Promise<unknown>[] = [];

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async wait<T>(work: Promise<T>): Promise<T> {
    const signal = this.#signal;
    if (signal === undefined) return await work;
    const stopped = Promise.withResolvers<never>();
    const stop = () => {
      this.#unfinished.push(work.catch(() => {}));
      stopped.reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, {once: true});
    try {
      return await Promise.race([work, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Waits for steps that were left, for some seconds at most. */
  async settle(): Promise<void> {
    if (this.#unfinished.length === 0) return;
    await Promise.race([Promise.all(this.#unfinished), wait(settleMs, undefined, {ref: false})]);
  }
}

/** The things that are opened while a command runs. */
export interface Opening {
  readonly config: Config;
  readonly closers: Pick<Closers, 'add'>;
  /** The embedded Postgres, joined once, at its first use. */
  readonly embedded: () => Promise<EmbeddedPostgres>;
  /**
   * Waits for a step of the opening, but only until the command must stop.
   * @throws the reason of the stop
   */
  readonly step: <T>(work: Promise<T>) => Promise<T>;
}

interface OpeningOptions {
  readonly migrates: boolean;
  /** How long a statement waits for a lock; if left out, as long as a worker does. */
  readonly lockTimeoutMs?: number;
}

/** For a verb that reports the state: a locked part is left out of the answer. */
export const briefLockTimeoutMs = 500;

/**
 * Calls `use` with the warehouse, and closes the warehouse in every case.
 * @param options.migrates - whether the schema is brought up to date first
 * @param options.lockTimeoutMs - for a verb that names the holder of a lock rather than wait for it
 * @param options.makes - whether an embedded Postgres is created if there is none; a verb that
 *   migrates creates one
 * @param use - may open more, which is closed before the warehouse is
 * @throws {RetryableError | FatalError} Postgres cannot be reached, is too old, or refuses access;
 *   or there is none yet
 * @throws {UsageError} no permission on the data folder
 */
export async function withWarehouse<T>(
  config: Config,
  options: OpeningOptions & {readonly makes?: boolean; readonly signal?: AbortSignal | undefined},
  use: (warehouse: Warehouse, opening: Opening) => Promise<T>,
): Promise<T> {
  const closers = new Closers();
  const steps = new Steps(options.signal);
  let joined: Promise<EmbeddedPostgres> | null = null;
  let openedUrl: string | null = null;
  const joinEmbedded = async () => {
    if (!(options.makes ?? options.migrates)) requireEmbedded(config.home);
    const embedded = await openEmbeddedPostgres(config.home, printStep);
    embedded.keepUp();
    closers.add(() => embedded.leave());
    return embedded;
  };
  const embedded = () => {
    joined ??= joinEmbedded();
    return joined;
  };
  const opening: Opening = {config, closers, embedded, step: (work) => steps.wait(work)};
  try {
    const onAddress = (url: string) => {
      openedUrl = url;
    };
    return await use(await opening.step(openPostgres(opening, options, onAddress)), opening);
  } catch (error) {
    if (error === options.signal?.reason) throw error;
    throw explainDatabaseError(error, config.databaseUrl ?? openedUrl ?? unopenedUrl);
  } finally {
    // Our own Postgres is stopped only after nothing of this process uses it any more.
    if (joined !== null) await steps.settle();
    await closers.close();
  }
}

async function openPostgres(
  {config, closers, embedded}: Opening,
  options: OpeningOptions,
  onAddress: (url: string) => void,
): Promise<Warehouse> {
  const databaseUrl = config.databaseUrl ?? (await (await embedded()).url('warehouse'));
  onAddress(databaseUrl);
  const {directUrl} = config;
  const {lockTimeoutMs} = options;
  let reportWait = printWait;
  const onWait = (line: string) => reportWait(line);
  const shared = {
    max: poolSize,
    applicationName: 'fieldmirror',
    onWait,
    ...(lockTimeoutMs === undefined ? {} : {lockTimeoutMs}),
  };
  const pool = openPool(databaseUrl, {...shared, sharesSessions: directUrl !== null});
  closers.add(() => pool.end());
  const direct = directUrl === null ? pool : openPool(directUrl, {...shared, max: 1});
  if (directUrl !== null) {
    closers.add(() => direct.end());
    await checkDirect(pool, direct);
  }
  if (options.migrates) await bringUpToDate(direct);
  const {host, port, pathname} = new URL(databaseUrl);
  const place =
    config.databaseUrl === null
      ? `embedded Postgres in ${config.home}/postgres, port ${port}`
      : `${host}${pathname}${directUrl === null ? '' : `, directly ${new URL(directUrl).host}`}`;
  const tellWaitsTo = (report: (line: string) => void) => {
    reportWait = report;
  };
  return {pool, direct, databaseUrl, directUrl: directUrl ?? databaseUrl, place, tellWaitsTo};
}

/** For a person who is watching: a start that waits prints which session it waits for. */
export function printWait(line: string): void {
  printErr(`${line}\n`);
}

/**
 * Opens a pool for a statement that takes longer than the statement timeout of a worker: it
 * searches or removes all versions, or all messages.
 */
export function openPatientPool(address: string, applicationName = 'fieldmirror'): pg.Pool {
  return openPool(address, {max: 1, applicationName, statementTimeoutMs: 0, onWait: printWait});
}

/** Loads the definitions of the star only now: a verb that migrates nothing does not need them. */
export async function bringUpToDate(
  direct: pg.Pool,
  isThorough = false,
): Promise<{readonly applied: number}> {
  const {definitions, migrateSchema} = await import('../schema/migrate.ts');
  return await migrateSchema(direct, definitions, isThorough, {report: printWait});
}

/**
 * Checks that the schema is the one of this version, for a verb that does not migrate.
 * @throws {FatalError} it is another one
 */
export async function requireMigrated(pool: pg.Pool, place: string): Promise<void> {
  const {problem} = await checkMigrations(pool);
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
}

/**
 * A verb that only reads creates no Postgres: it would be an empty one.
 * @throws {FatalError} there is none yet
 */
export function requireEmbedded(home: string): void {
  if (hasEmbedded(home)) return;
  throw new FatalError(
    `warehouse: expected a Postgres in ${join(home, 'postgres')}, got none: ` +
      'nothing is mirrored yet; fieldmirror start makes it and fills it, ' +
      'fieldmirror init sets up your own account first',
    {kind: 'schema'},
  );
}
