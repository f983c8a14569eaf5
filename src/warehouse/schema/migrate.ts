// drizzle takes no lock, so migrations run under one of ours. Where nothing is missing, as at every start but the first,
// drizzle is not loaded.

import type pg from 'pg';
import {FatalError} from '../../base/errors.ts';
import {openPool} from '../postgres/database.ts';
import {isOutdated, readAppliedSource} from './apply-source.ts';
import type {Definitions} from './definitions.ts';
import {checkMigrations} from './migration-check.ts';
import {readSource} from './read-source.ts';

const oldestVersion = 15;
/** Chosen once, at random: the session that holds it in this database is migrating the database. */
const lockKey = '7203685477580001';

/**
 * Brings the schema up to date, and with it functions, rules and comments. Two at once take turns, each on a
 * session of its own.
 * @param pool - opened by `openPool`; only its address is used
 * @param isThorough - looks at the comments even where nothing changed
 * @throws {FatalError} Postgres is too old or not in UTF-8, or the database knows migrations that we do not
 */
export async function migrate(
  pool: pg.Pool,
  definitions: Definitions,
  isThorough = false,
): Promise<{applied: number}> {
  const own = openPool(pool.options.connectionString ?? '', {
    max: 1,
    applicationName: 'fieldmirror migrate',
    statementTimeoutMs: 0,
  });
  try {
    const client = await own.connect();
    try {
      return {applied: await migrateAlone(client, definitions, isThorough)};
    } finally {
      client.release();
    }
  } finally {
    // Ends the session, and with it the lock, whatever happened.
    await own.end();
  }
}

async function migrateAlone(
  client: pg.PoolClient,
  definitions: Definitions,
  isThorough: boolean,
): Promise<number> {
  await checkServer(client);
  // Waiting for another one to finish, or for a lock on a large table, is no failure here.
  await client.query(
    `SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)`,
  );
  await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
  return await migrateLocked(client, definitions, isThorough);
}

async function migrateLocked(
  client: pg.PoolClient,
  definitions: Definitions,
  isThorough: boolean,
): Promise<number> {
  const before = await checkMigrations(client);
  if (before.unknown.length > 0) throw new FatalError(`migrations: ${before.problem}`, {kind: 'schema'});
  const source = readSource(definitions);
  const isSame = before.missing.length === 0 && !isOutdated(await readAppliedSource(client), source);
  if (isSame && !isThorough) return 0;
  await checkOwner(client);
  const {applyComments, applyDefinitions, applyMigrations} = await import('./apply-migrations.ts');
  if (isSame) {
    await applyComments(client, definitions);
    return 0;
  }
  await applyMigrations(client);
  await inTransaction(client, () => applyDefinitions(client, definitions, source));
  const {problem} = await checkMigrations(client);
  if (problem !== null) throw new FatalError(`migrations: after applying them: ${problem}`, {kind: 'schema'});
  return before.missing.length;
}

/**
 * A worker's login must not migrate: it would fail at the first statement, in words that name no next step.
 */
async function checkOwner(client: pg.PoolClient): Promise<void> {
  const {rows} = await client.query<{may: boolean; login: string}>(
    `SELECT CASE WHEN to_regnamespace('sync') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
                 ELSE pg_has_role((SELECT nspowner FROM pg_namespace WHERE nspname = 'sync'), 'USAGE') END AS may,
            current_user AS login`,
  );
  if (rows[0]?.may === true) return;
  throw new FatalError(
    `migrations: the schema is not of this version, and ${rows[0]?.login} may not change it: run \`fieldmirror migrate\` as the owner of the warehouse`,
    {kind: 'schema'},
  );
}

async function inTransaction(client: pg.PoolClient, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await work();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function checkServer(client: pg.PoolClient): Promise<void> {
  const {rows} = await client.query<{version: string; encoding: string}>(
    `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding`,
  );
  const problem = findServerProblem(rows[0] ?? {version: 'unknown', encoding: 'unknown'});
  if (problem !== null) throw new FatalError(`Postgres: ${problem}`, {kind: 'warehouse'});
}

/** The reason why a server cannot hold the warehouse, and the next step; null where it can. */
export function findServerProblem(server: {
  readonly version: string;
  readonly encoding: string;
}): string | null {
  if (!(Number.parseInt(server.version, 10) >= oldestVersion)) {
    return `expected version ${oldestVersion} or newer, got ${server.version}; upgrade it, or set DATABASE_URL to another`;
  }
  if (server.encoding === 'UTF8') return null;
  return `expected a database in UTF8, got ${server.encoding}; create one with ENCODING 'UTF8' TEMPLATE template0`;
}
