// What a database shows of our migrations: which schemas are ours, and which session migrates now.
// The name of a schema alone proves nothing: `mart` is common. Migrations take turns by a lock that
// only the owner of the schema can take: a comment on a sequence, in a transaction that is rolled
// back. Any login could take an advisory lock, and a lock on a table would block the migrations.

import pg from 'pg';
import {FatalError} from '../core/errors.ts';
import type {Queryable} from './database.ts';

const migratedSchemas = ['warehouse', 'history', 'mart', 'masked', 'sync'];
/** The package of the queue makes its schema. */
const ownSchemas = [...migratedSchemas, 'bullmq'];

/**
 * The names that are ours in this database. The migrations make their schemas in one transaction,
 * and fail if one exists, so all are ours once one migration is applied. Before that only `sync` is
 * ours, if it holds nothing but the table of migrations.
 */
export async function listOwnNames(db: Queryable): Promise<readonly string[]> {
  if (await hasMigrations(db)) return ownSchemas;
  const {rows} = await db.query<{isOurs: boolean}>(
    `SELECT to_regclass('sync.migrations') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class
        WHERE relnamespace = to_regnamespace('sync') AND relname NOT LIKE 'migrations%')
        AS "isOurs"`,
  );
  return rows[0]?.isOurs === true ? ['sync'] : [];
}

/**
 * Checks that a database without our migrations has no schema of one of our names.
 * @throws {FatalError} it has one, which belongs to another program
 */
export async function refuseForeignSchemas(db: Queryable): Promise<void> {
  const {rows} = await db.query<{name: string}>(
    `SELECT nspname AS name FROM pg_namespace
      WHERE nspname = ANY($1) AND (nspname <> 'sync' OR EXISTS (SELECT FROM pg_class
        WHERE relnamespace = pg_namespace.oid AND relname NOT LIKE 'migrations%'))
      ORDER BY array_position($1, nspname::text)`,
    [migratedSchemas],
  );
  // Another session may have migrated before this query, and all of that is seen at once.
  if (rows.length === 0 || (await hasMigrations(db))) return;
  const found = rows.map(({name}) => name).join(', ');
  throw new FatalError(
    'migrations: expected no schema of a name that Fieldmirror uses ' +
      `(${migratedSchemas.join(', ')}), got ${found}, which another program has made; give ` +
      'Fieldmirror a separate database, or rename what is there (ALTER SCHEMA … RENAME TO …); ' +
      'nothing was changed',
    {kind: 'schema'},
  );
}

async function hasMigrations(db: Queryable): Promise<boolean> {
  const {rows: tables} = await db.query<{isThere: boolean}>(
    `SELECT to_regclass('sync.migrations') IS NOT NULL AS "isThere"`,
  );
  if (tables[0]?.isThere !== true) return false;
  const {rows} = await db.query<{isApplied: boolean}>(
    'SELECT EXISTS (SELECT FROM sync.migrations) AS "isApplied"',
  );
  return rows[0]?.isApplied === true;
}

/** The sequence of the table of applied migrations. */
const sequence = 'sync.migrations_id_seq';

/**
 * The table of applied migrations, as drizzle would make it. A transaction before that of the
 * migrations makes it, because the turn is a lock on its sequence. The sequence has a fixed name:
 * `serial` takes the next free name, and would see a name that another session has made and rolls
 * back.
 */
const createMigrationsTable = `
  CREATE SCHEMA IF NOT EXISTS sync;
  CREATE SEQUENCE ${sequence} AS integer;
  CREATE TABLE sync.migrations (id integer PRIMARY KEY DEFAULT nextval('${sequence}'),
    hash text NOT NULL, created_at bigint);
  ALTER SEQUENCE ${sequence} OWNED BY sync.migrations.id`;

/**
 * duplicate_object, duplicate_schema, duplicate_table, unique_violation: another session made it at
 * the same moment.
 */
const raceCodes: ReadonlySet<string | undefined> = new Set(['42710', '42P06', '42P07', '23505']);
const maxAttempts = 5;

/**
 * Makes the sequence that the lock is on, if the database does not have it yet. The login may make
 * the schema.
 */
export async function prepareTurn(client: pg.ClientBase): Promise<void> {
  for (let attempt = 1; !(await hasSequence(client)); attempt++) {
    try {
      await client.query(createMigrationsTable);
    } catch (error) {
      const isRace = error instanceof pg.DatabaseError && raceCodes.has(error.code);
      if (!isRace || attempt === maxAttempts) throw error;
    }
  }
}

async function hasSequence(db: Queryable): Promise<boolean> {
  const {rows} = await db.query<{isThere: boolean}>(
    `SELECT to_regclass($1) IS NOT NULL AS "isThere"`,
    [sequence],
  );
  return rows[0]?.isThere === true;
}

/** Waits for the turn, and holds it until `endTurn`. The session does nothing else meanwhile. */
export async function takeTurn(client: pg.ClientBase): Promise<void> {
  await client.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
  await client.query(`COMMENT ON SEQUENCE ${sequence} IS NULL`);
}

export async function endTurn(client: pg.ClientBase): Promise<void> {
  await client.query('ROLLBACK');
}

/**
 * The id of the Postgres process that has the turn; null if none has it. Any login may call this.
 */
export async function findTurn(db: Queryable): Promise<number | null> {
  const {rows} = await db.query<{pid: number}>(
    `SELECT pid FROM pg_locks
      WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database
        WHERE datname = current_database())
        AND relation = to_regclass($1) AND mode = 'ShareUpdateExclusiveLock' AND granted`,
    [sequence],
  );
  return rows[0]?.pid ?? null;
}
