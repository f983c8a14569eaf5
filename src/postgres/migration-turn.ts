// Migrations take turns. The lock is one that only the owner of the schema can take: a comment on a
// sequence, in a transaction that is rolled back. An advisory lock would be anybody's, and a lock
// on a table would stand in the way of the migrations.

import pg from 'pg';
import type {Queryable} from './database.ts';

/** Belongs to the table of the migrations that were applied. */
const sequence = 'sync.migrations_id_seq';

/**
 * As drizzle would make it, in one transaction before that of the migrations, because the turn is
 * on it. The sequence is named: `serial` takes the next free name, and would see one that another
 * session has made and takes back.
 */
const ledger = `
  CREATE SCHEMA IF NOT EXISTS sync;
  CREATE SEQUENCE ${sequence} AS integer;
  CREATE TABLE sync.migrations (id integer PRIMARY KEY DEFAULT nextval('${sequence}'),
    hash text NOT NULL, created_at bigint);
  ALTER SEQUENCE ${sequence} OWNED BY sync.migrations.id`;

/**
 * duplicate_object, duplicate_schema, duplicate_table, unique_violation: another one made it in the
 * same moment.
 */
const madeMeanwhile: ReadonlySet<string | undefined> = new Set([
  '42710',
  '42P06',
  '42P07',
  '23505',
]);
const attempts = 5;

/** Makes what the lock is on, in a database that has nothing yet. The login may make the schema. */
export async function prepareTurn(client: pg.ClientBase): Promise<void> {
  for (let attempt = 1; !(await hasSequence(client)); attempt++) {
    try {
      await client.query(ledger);
    } catch (error) {
      const isRace = error instanceof pg.DatabaseError && madeMeanwhile.has(error.code);
      if (!isRace || attempt === attempts) throw error;
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

/** Waits for the turn, and has it until `endTurn`. The session does nothing else meanwhile. */
export async function takeTurn(client: pg.ClientBase): Promise<void> {
  await client.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
  await client.query(`COMMENT ON SEQUENCE ${sequence} IS NULL`);
}

export async function endTurn(client: pg.ClientBase): Promise<void> {
  await client.query('ROLLBACK');
}

/** The process of Postgres that has the turn; null where nobody has. Everybody may ask. */
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
