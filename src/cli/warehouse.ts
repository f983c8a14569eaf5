// The ground of every verb that asks the warehouse: opened in order and closed in reverse. A verb
// such as `status` gets along with it, and loads neither the API client nor a logger: these are
// `app.ts`.

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

/** The warehouse, migrated unless told otherwise. */
export interface Warehouse {
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  /**
   * The address of sessions of our own, and a pool of them: the same, unless a pooler is in
   * between.
   */
  readonly directUrl: string;
  readonly direct: pg.Pool;
  /** The place of the warehouse, for a person: never a password. */
  readonly place: string;
  /** Tells waits for locks to somebody else than standard error. */
  readonly tellWaitsTo: (tell: (line: string) => void) => void;
}

/** Eight sweeps at once, each with a transaction and a lease now and then. */
const poolSize = 16;
/** Stands for the embedded Postgres in errors. */
const embeddedUrl = 'postgres://127.0.0.1/warehouse';

/** Things to close, last opened first; a failure to close one does not keep the others open. */
class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close().catch(() => {});
  }
}

/** Until a step that was left when the command stopped has come to its end. */
const settleMs = 6_000;

/** The steps of an opening, each of which a stop cuts short. */
class Steps {
  readonly #signal: AbortSignal | undefined;
  readonly #left: Promise<unknown>[] = [];

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async wait<T>(work: Promise<T>): Promise<T> {
    const signal = this.#signal;
    if (signal === undefined) return await work;
    const stopped = Promise.withResolvers<never>();
    const stop = () => {
      this.#left.push(work.catch(() => {}));
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
    if (this.#left.length === 0) return;
    await Promise.race([Promise.all(this.#left), wait(settleMs, undefined, {ref: false})]);
  }
}

/** The things that are opened while a command runs. */
export interface Opening {
  readonly config: Config;
  readonly closers: Pick<Closers, 'add'>;
  /** The embedded Postgres, joined once, at its first use. */
  readonly embedded: () => Promise<EmbeddedPostgres>;
  /**
   * Waits for a step of the opening, and no longer than until the command shall stop.
   * @throws the reason of the stop
   */
  readonly step: <T>(work: Promise<T>) => Promise<T>;
}

interface OpeningOptions {
  readonly migrates: boolean;
  /** For how long a statement waits for a lock; left out: as long as a worker does. */
  readonly lockTimeoutMs?: number;
}

/** For a verb that tells how things stand: what is locked is left out of the answer. */
export const briefLockTimeoutMs = 500;

/**
 * Does something with the warehouse, and closes it whatever happens.
 * @param options.migrates - whether the schema is brought up to date first
 * @param options.lockTimeoutMs - for a verb that would rather say who holds a lock than wait for it
 * @param options.makes - whether an embedded Postgres is made where none is; a verb that migrates
 *   makes one
 * @param use - may open more, which is closed before the warehouse is
 * @throws {RetryableError | FatalError} Postgres cannot be reached, is too old, or refuses us; or
 *   there is none yet
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
  const join = async () => {
    if (!(options.makes ?? options.migrates)) requireEmbedded(config.home);
    const embedded = await openEmbeddedPostgres(config.home, printStep);
    embedded.keepUp();
    closers.add(() => embedded.leave());
    return embedded;
  };
  const embedded = () => {
    joined ??= join();
    return joined;
  };
  const opening: Opening = {config, closers, embedded, step: (work) => steps.wait(work)};
  try {
    return await use(await opening.step(openPostgres(opening, options)), opening);
  } catch (error) {
    if (error === options.signal?.reason) throw error;
    throw explainDatabaseError(error, config.databaseUrl ?? embeddedUrl);
  } finally {
    // A Postgres of our own is stopped only where nothing of ours uses it any more.
    if (joined !== null) await steps.settle();
    await closers.close();
  }
}

async function openPostgres(
  {config, closers, embedded}: Opening,
  options: OpeningOptions,
): Promise<Warehouse> {
  const databaseUrl = config.databaseUrl ?? (await (await embedded()).url('warehouse'));
  const {directUrl} = config;
  const {lockTimeoutMs} = options;
  let tell = printWait;
  const onWait = (line: string) => tell(line);
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
  const tellWaitsTo = (other: (line: string) => void) => {
    tell = other;
  };
  return {pool, direct, databaseUrl, directUrl: directUrl ?? databaseUrl, place, tellWaitsTo};
}

/** For a person who looks on: a start that waits says for whom. */
export function printWait(line: string): void {
  printErr(`${line}\n`);
}

/** Loads the definitions of the star only now: a verb that migrates nothing does without them. */
export async function bringUpToDate(
  direct: pg.Pool,
  isThorough = false,
): Promise<{readonly applied: number}> {
  const {definitions, migrateSchema} = await import('../schema/migrate.ts');
  return await migrateSchema(direct, definitions, isThorough, {tell: printWait});
}

/**
 * A verb that only looks makes no Postgres: it would be an empty one.
 * @throws {FatalError} there is none yet
 */
export function requireEmbedded(home: string): void {
  if (hasEmbedded(home)) return;
  throw new FatalError(
    `warehouse: expected a Postgres in ${join(home, 'postgres')}, got none: ` +
      'nothing is mirrored yet; fieldmirror start makes it and fills it, ' +
      'fieldmirror init sets up an account of yours first',
    {kind: 'schema'},
  );
}
