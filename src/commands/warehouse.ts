// The ground of every verb that asks the warehouse: opened in order and closed in reverse. A verb such as `status` gets along
// with it, and loads neither the API client nor a logger: these are `world.ts`.

import type pg from 'pg';
import type {Config} from '../base/config.ts';
import {tellAside} from '../base/terminal.ts';
import {type EmbeddedPostgres, openEmbeddedPostgres} from '../warehouse/embedded/embedded.ts';
import {openPool} from '../warehouse/postgres/database.ts';
import {explainDatabaseError} from '../warehouse/postgres/database-errors.ts';
import {checkDirect} from '../warehouse/postgres/sessions/check-direct.ts';
import {requireEmbedded} from './servers/postgres/require-embedded.ts';
import {tellStep} from './terminal/tell-step.ts';

/** The warehouse, migrated unless told otherwise. */
export interface Warehouse {
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  /** The address of sessions of our own, and a pool of them: the same, unless a pooler is in between. */
  readonly directUrl: string;
  readonly direct: pg.Pool;
  /** The place of the warehouse, for a person: never a password. */
  readonly place: string;
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

/** The things that are opened while a command runs. */
export interface Opening {
  readonly config: Config;
  readonly closers: Pick<Closers, 'add'>;
  /** The embedded Postgres, joined once, at its first use. */
  readonly embedded: () => Promise<EmbeddedPostgres>;
}

/**
 * Does something with the warehouse, and closes it whatever happens.
 * @param options.migrates - whether the schema is brought up to date first
 * @param options.makes - whether an embedded Postgres is made where none is; a verb that migrates makes one
 * @param use - may open more, which is closed before the warehouse is
 * @throws {RetryableError | FatalError} Postgres cannot be reached, is too old, or refuses us; or there is none yet
 * @throws {UsageError} no permission on the data folder
 */
export async function withWarehouse<T>(
  config: Config,
  options: {readonly migrates: boolean; readonly makes?: boolean},
  use: (warehouse: Warehouse, opening: Opening) => Promise<T>,
): Promise<T> {
  const closers = new Closers();
  let joined: Promise<EmbeddedPostgres> | null = null;
  const join = async () => {
    if (!(options.makes ?? options.migrates)) requireEmbedded(config.home);
    const embedded = await openEmbeddedPostgres(config.home, tellStep);
    embedded.keepUp();
    closers.add(() => embedded.leave());
    return embedded;
  };
  const embedded = () => {
    joined ??= join();
    return joined;
  };
  const opening = {config, closers, embedded};
  try {
    return await use(await openPostgres(opening, options), opening);
  } catch (error) {
    throw explainDatabaseError(error, config.databaseUrl ?? embeddedUrl);
  } finally {
    await closers.close();
  }
}

async function openPostgres(
  {config, closers, embedded}: Opening,
  options: {readonly migrates: boolean},
): Promise<Warehouse> {
  const databaseUrl = config.databaseUrl ?? (await (await embedded()).url('warehouse'));
  const {directUrl} = config;
  const shared = {max: poolSize, applicationName: 'fieldmirror'};
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
  return {pool, direct, databaseUrl, directUrl: directUrl ?? databaseUrl, place};
}

/** For a person who looks on: a start that waits says for whom. */
export function tellWait(line: string): void {
  tellAside(`${line}\n`);
}

/** Loads the definitions of the star only now: a verb that migrates nothing does without them. */
async function bringUpToDate(direct: pg.Pool): Promise<void> {
  const [{migrate}, {definitions}] = await Promise.all([
    import('../warehouse/schema/migrate.ts'),
    import('../insight/definitions.ts'),
  ]);
  await migrate(direct, definitions, false, {tell: tellWait});
}
