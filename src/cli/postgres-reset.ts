// The verb `reset`: an installation begins anew. Only what Fieldmirror has made goes; the service
// hears nothing of it.

import {join} from 'node:path';
import type pg from 'pg';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';
import {dropOwnSchemas, listDependents} from '../health/own-schemas.ts';
import {inTransaction, openPool} from '../postgres/database.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {hasEmbedded, openEmbeddedPostgres, removeEmbedded} from '../postgres/embedded.ts';
import {callOf} from './next-steps.ts';
import {drawHeld, type Held, readHeld} from './postgres-held.ts';
import {print} from './report.ts';
import {tellStep} from './tell-step.ts';
import {typeBack} from './type-back.ts';
import {tellWait} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

const applicationName = 'fieldmirror reset';

/**
 * Removes the embedded Postgres, or our schemas from a warehouse of one's own, after showing what
 * goes; its name is typed back.
 * @throws {UsageError} another name was typed
 * @throws {FatalError} something works there, or things of others stand on our schemas: nothing is
 *   removed
 */
export async function reset(config: Config, {json}: Output): Promise<number> {
  if (config.databaseUrl === null) return await resetEmbedded(config, json);
  return await resetSchemas(config, config.directUrl ?? config.databaseUrl, json);
}

async function resetEmbedded({home}: Config, json: boolean): Promise<number> {
  const shown = join(home, 'postgres');
  if (!hasEmbedded(home)) return tellNothing(json, `there is no Postgres in ${shown}`);
  const openedAt = new Date();
  const embedded = await openEmbeddedPostgres(home, tellStep);
  let held: Held;
  try {
    held = await withPool(await embedded.url('warehouse'), async (pool) => {
      await refuseWorkers(pool, shown);
      refuseSessions(shown, await listSessions(pool, openedAt));
      return await askFor(
        pool,
        shown,
        'the data folder with every database in it, and its password',
      );
    });
  } finally {
    // The server stops, unless another process has joined meanwhile: then its folder is not
    // removed.
    await embedded.leave();
  }
  await removeEmbedded(home);
  print(json, {json: {removed: shown, ...held}, text: `${shown} is removed; ${next()}`});
  return 0;
}

async function resetSchemas({redisUrl}: Config, address: string, json: boolean): Promise<number> {
  return await withPool(address, async (pool) => {
    const {host, pathname} = new URL(address);
    const place = `${host}${pathname}`;
    if ((await readHeld(pool)).schemas.length === 0)
      return tellNothing(json, `${place} has no schema of Fieldmirror`);
    await refuseWorkers(pool, place);
    refuseDependents(place, await listDependents(pool));
    const database = decodeURIComponent(pathname.slice(1));
    const held = await askFor(
      pool,
      database,
      `these schemas of ${place}, with all that stands in them`,
    );
    await inTransaction(pool, async (client) => {
      refuseDependents(place, await listDependents(client));
      await dropOwnSchemas(client, held.schemas);
    });
    const wakeUps = redisUrl === null ? '' : '; wake-ups that Redis holds still find nothing to do';
    print(json, {
      json: {removed: place, ...held},
      text: `the schemas are removed${wakeUps}; ${next()}`,
    });
    return 0;
  });
}

const next = () =>
  `${callOf('start')} begins anew, with the settings that are there (the environment, .env). Backups, roles and files of settings stay`;

function tellNothing(json: boolean, reason: string): number {
  print(json, {json: {removed: null}, text: `nothing to remove: ${reason}`});
  return 0;
}

/** Shows what goes, and lets a person type its name back. */
async function askFor(pool: pg.Pool, name: string, goes: string): Promise<Held> {
  const held = await readHeld(pool);
  tellAside(
    `${drawHeld(held)}\nRemoved for good: ${goes}.\nThe service keeps what it has, and hears nothing of it.\n`,
  );
  await typeBack('to remove it', name);
  // A person thinks for a while; meanwhile work may have begun.
  await refuseWorkers(pool, name);
  return held;
}

async function refuseWorkers(pool: pg.Pool, place: string): Promise<void> {
  const {rows} = await pool.query(`SELECT to_regclass('sync.workers') IS NOT NULL AS "isThere"`);
  const workers = rows[0]?.isThere === true ? await listWorkers(pool) : [];
  const alive = workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0) return;
  const names = alive.map(({host, pid}) => `process ${pid} on ${host}`).join(', ');
  throw new FatalError(
    `reset: ${place}: expected no worker to run, got ${names}; stop it with Ctrl-C where it runs (one that was killed counts for a minute), and reset again`,
    {kind: 'in-use'},
  );
}

function refuseDependents(place: string, names: readonly string[]): void {
  if (names.length === 0) return;
  throw new FatalError(
    `reset: ${place}: expected nothing of yours to stand on the schemas that go, got ${names.join(', ')}; drop it, or keep it as a table of its own, and reset again`,
    {kind: 'dependents'},
  );
}

/** The sessions of others; the clock of the server is this machine's. */
async function listSessions(pool: pg.Pool, before: Date): Promise<string[]> {
  const {rows} = await pool.query<{name: string}>(
    `SELECT DISTINCT coalesce(nullif(application_name, ''), 'a client without a name') AS name FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND backend_start < $1 ORDER BY name`,
    [before],
  );
  return rows.map(({name}) => name);
}

function refuseSessions(place: string, names: readonly string[]): void {
  if (names.length === 0) return;
  throw new FatalError(
    `reset: ${place}: expected nothing to use it, got sessions of ${names.join(', ')}; stop ${callOf('start')}, the reference service and other clients, and reset again`,
    {kind: 'in-use'},
  );
}

async function withPool<T>(address: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  // A large history takes longer to remove than a statement of a worker may take.
  const pool = openPool(address, {
    max: 1,
    applicationName,
    statementTimeoutMs: 0,
    onWait: tellWait,
  });
  try {
    return await use(pool);
  } catch (error) {
    throw explainDatabaseError(error, address);
  } finally {
    await pool.end();
  }
}
