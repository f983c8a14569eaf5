// Brings the schema up to date; migrations take turns. If nothing is missing, as at every start but
// the first, drizzle is not loaded.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {openPool, type Queryable} from '../postgres/database.ts';
import {readProcessId, reportWaits, type WaitOptions} from '../postgres/lock-waits.ts';
import {
  endTurn,
  findTurn,
  prepareTurn,
  refuseForeignSchemas,
  takeTurn,
} from '../postgres/migrations.ts';
import {renderMember} from '../star/member.ts';
import {members, questions} from '../star/star.ts';
import {allTables} from '../streams/all.ts';
import {
  checkMigrations,
  checkPublic,
  checkRoles,
  type Definitions,
  describeAddedColumns,
  findMigrationLack,
  isOutdated,
  readAppliedSource,
  readSource,
  type Source,
} from './checks.ts';

const oldestVersion = 15;
const pollMs = 500;

/**
 * Brings the schema up to date, including functions, rules and comments. Two migrations at once
 * take turns, each on separate sessions. If nothing is to be done, it does not wait for the other.
 * A role that was made later gets its rights.
 * @param pool - opened by `openPool`; only its address is used
 * @param isThorough - checks the comments even if nothing changed
 * @param reporter - how it reports the sessions that it waits for, if it waits for long
 * @throws {FatalError} Postgres is too old or not in UTF-8, or the database has migrations that
 *   this version does not know, or another program's schema of a name that is ours
 */
export async function migrateSchema(
  pool: pg.Pool,
  definitions: Definitions,
  isThorough = false,
  reporter: WaitOptions = {report: () => {}},
): Promise<{applied: number}> {
  // One session migrates, one has the turn, and one queries which sessions they wait for.
  const migrationPool = openPool(pool.options.connectionString ?? '', {
    max: 3,
    applicationName: 'fieldmirror migrate',
    statementTimeoutMs: 0,
    lockTimeoutMs: 0,
  });
  try {
    return {
      applied: await migrateInTurn(migrationPool, {definitions, isThorough, waitOptions: reporter}),
    };
  } finally {
    // Ends the sessions, and with them the turn, whatever happened.
    await migrationPool.end();
  }
}

interface MigrationOptions {
  readonly definitions: Definitions;
  readonly isThorough: boolean;
  readonly waitOptions: WaitOptions;
}

async function migrateInTurn(pool: pg.Pool, options: MigrationOptions): Promise<number> {
  const client = await pool.connect();
  try {
    const pids = [await readProcessId(client)];
    const {waitOptions} = options;
    const isDone = await reportWaits(pool, {pids, what: 'migrations', waitOptions}, () =>
      isUpToDate(pool, client, options),
    );
    if (isDone) return 0;
    return await takeTurnAndMigrate(pool, client, options);
  } finally {
    client.release();
  }
}

/**
 * @returns whether this login has nothing to do
 * @throws {FatalError} something is to be done, and this login may not do it
 */
async function isUpToDate(
  pool: pg.Pool,
  client: pg.PoolClient,
  options: MigrationOptions,
): Promise<boolean> {
  await checkServer(client);
  const comparison = await compareWithDatabase(client, options);
  const mayMigrate = (await findMigrationLack(client)) === null;
  if (mayMigrate) {
    if (comparison.isSame && !options.isThorough && !(await lacksRights(client))) return true;
  } else {
    if (comparison.isSame || (await waitForOwner(pool, client, options))) return true;
    await checkOwner(client);
  }
  if (comparison.applied.length === 0) await refuseForeignSchemas(client);
  await prepareTurn(client);
  return false;
}

async function takeTurnAndMigrate(
  pool: pg.Pool,
  client: pg.PoolClient,
  options: MigrationOptions,
): Promise<number> {
  const turnClient = await pool.connect();
  try {
    const pids = await Promise.all([readProcessId(client), readProcessId(turnClient)]);
    return await reportWaits(
      pool,
      {pids, what: 'migrations', waitOptions: options.waitOptions},
      async () => {
        await takeTurn(turnClient);
        const applied = await migrateDuringTurn(client, options);
        await endTurn(turnClient);
        return applied;
      },
    );
  } finally {
    turnClient.release(true);
  }
}

/**
 * @returns whether the database agrees with this version, after the session that migrates now has
 *   ended
 */
async function waitForOwner(
  pool: pg.Pool,
  client: pg.PoolClient,
  options: MigrationOptions,
): Promise<boolean> {
  const startedAt = performance.now();
  let reportedAt = startedAt;
  const patienceMs = options.waitOptions.patienceMs ?? 5_000;
  for (;;) {
    const pid = await findTurn(pool);
    if (pid === null) return (await compareWithDatabase(client, options)).isSame;
    if (performance.now() - reportedAt >= patienceMs) {
      reportedAt = performance.now();
      const seconds = Math.round((reportedAt - startedAt) / 1000);
      options.waitOptions.report(
        `migrations: waiting for the owner, who migrates (pid ${pid}), for ${seconds} s`,
      );
    }
    await wait(pollMs);
  }
}

/**
 * Compares the database with this version.
 * @throws {FatalError} the database has migrations that this version does not know
 */
async function compareWithDatabase(
  client: pg.PoolClient,
  {definitions}: Pick<MigrationOptions, 'definitions'>,
): Promise<{
  readonly missing: number;
  readonly applied: readonly string[];
  readonly source: Source;
  readonly isSame: boolean;
}> {
  const {unknown, problem, missing, applied} = await checkMigrations(client);
  if (unknown.length > 0) throw new FatalError(`migrations: ${problem}`, {kind: 'schema'});
  const source = readSource(definitions);
  const isSame = missing.length === 0 && !isOutdated(await readAppliedSource(client), source);
  return {missing: missing.length, applied, source, isSame};
}

async function migrateDuringTurn(
  client: pg.PoolClient,
  options: MigrationOptions,
): Promise<number> {
  const {missing, applied, source, isSame} = await compareWithDatabase(client, options);
  const {definitions, isThorough} = options;
  if (isSame && !isThorough && !(await lacksRights(client))) return 0;
  const {applyComments, applyMigrations} = await import('./apply-migrations.ts');
  if (isSame) {
    await applyComments(client, definitions);
    return 0;
  }
  if (applied.length > 0) await refuseAddedColumns(client);
  await applyMigrations(client, {definitions, source, applied});
  const {problem} = await checkMigrations(client);
  if (problem !== null)
    throw new FatalError(`migrations: after applying them: ${problem}`, {kind: 'schema'});
  return missing;
}

/**
 * Refuses columns that a person added to tables of the warehouse. Their history would take them for
 * ours, and its view would then keep the person from dropping them.
 */
async function refuseAddedColumns(client: pg.ClientBase): Promise<void> {
  const added = await describeAddedColumns(client);
  if (added === null) return;
  throw new FatalError(`migrations: ${added}; nothing was changed`, {kind: 'schema'});
}

/** A way in which the schema of a database is not that of this version, with the next step. */
interface SchemaProblem {
  readonly what: 'migrations' | 'columns' | 'functions';
  readonly found: string;
}

/** @returns null if the tables, functions, views and rights are those of this version */
export async function findSchemaProblem(db: Queryable): Promise<SchemaProblem | null> {
  const {problem} = await checkMigrations(db);
  // A login that may not migrate would be sent to a verb that sends it back.
  if (problem !== null)
    return {what: 'migrations', found: (await findMigrationLack(db)) ?? problem};
  const addedColumns = await describeAddedColumns(db);
  if (addedColumns !== null) return {what: 'columns', found: addedColumns};
  const source = readSource(definitions);
  const applied = await readAppliedSource(db);
  if (!isOutdated(applied, source)) return null;
  const state = applied?.version === source.version ? 'another state of it' : applied?.version;
  const found =
    (await findMigrationLack(db)) ??
    `expected the functions, views and rights of version ${source.version}, got those of ` +
      `${state}; run \`fieldmirror migrate\``;
  return {what: 'functions', found};
}

/**
 * Refuses a login that may not migrate, such as a worker's: it would fail at the first statement.
 */
async function checkOwner(client: pg.PoolClient): Promise<void> {
  const lack = await findMigrationLack(client);
  if (lack !== null) throw new FatalError(`migrations: ${lack}`, {kind: 'schema'});
}

/**
 * Whether rights are wrong, and a login that may migrate can correct them. Either a role was made
 * after the last migration, or the database was restored, which gives PUBLIC its rights back. The
 * schema is of this version.
 */
async function lacksRights(client: pg.PoolClient): Promise<boolean> {
  if ((await checkRoles(client)).ungranted.length > 0) return true;
  const rights = await checkPublic(client);
  return rights?.isOwners === true && rights.temporary;
}

async function checkServer(client: pg.PoolClient): Promise<void> {
  const {rows} = await client.query<{version: string; encoding: string}>(
    `SELECT current_setting('server_version') AS version,
            current_setting('server_encoding') AS encoding`,
  );
  const problem = findServerProblem(rows[0] ?? {version: 'unknown', encoding: 'unknown'});
  if (problem !== null) throw new FatalError(`Postgres: ${problem}`, {kind: 'warehouse'});
}

/** The reason why a server cannot hold the warehouse, and the next step; null if it can. */
export function findServerProblem(server: {
  readonly version: string;
  readonly encoding: string;
}): string | null {
  if (!(Number.parseInt(server.version, 10) >= oldestVersion)) {
    return (
      `expected version ${oldestVersion} or newer, got ${server.version}; ` +
      'upgrade it, or set DATABASE_URL to another'
    );
  }
  if (server.encoding === 'UTF8') return null;
  const create = "create one with ENCODING 'UTF8' TEMPLATE template0";
  return `expected a database in UTF8, got ${server.encoding}; ${create}`;
}

/**
 * Everything that `migrate` brings a warehouse in line with: its tables, the star, and the answers
 * that depend on it.
 */
export const definitions: Definitions = {
  tables: allTables,
  star: [...members, ...questions].map(renderMember),
};
