// The tables of the queue, when it is in Postgres: the owner of the warehouse makes them, workers
// use them.

import {LATEST_SCHEMA_VERSION, runMigrations} from 'bullmq';
import pg from 'pg';
import {FatalError} from '../src/core/errors.ts';
import {readProcessId, tellWaits, type WaitWords} from '../src/postgres/lock-waits.ts';
import {takeTurn} from '../src/postgres/migration-turn.ts';
import {queueNames} from './wake.ts';

export const queueSchema = 'bullmq';

const connectTimeoutMs = 5_000;

/**
 * Makes missing or old tables, in the turn of migrations. A dedicated session: a migration's lock
 * and its transaction must share one.
 * @throws {FatalError} a part is missing, and we may not make it
 */
export async function migrateQueue(
  connectionString: string,
  words: WaitWords = {tell: () => {}},
): Promise<void> {
  const pool = new pg.Pool({connectionString, connectionTimeoutMillis: connectTimeoutMs, max: 3});
  pool.on('error', () => {});
  pool.on('connect', (each) => each.on('error', () => {}));
  const client = await pool.connect();
  try {
    // A worker may use the schema, but not make it: `IF NOT EXISTS` is refused even where it
    // exists.
    if (!(await isReady(client))) await makeReady(pool, client, words);
  } catch (cause) {
    if (!isError(cause, '42501')) throw cause;
    throw new FatalError(
      `the queue in Postgres: expected the schema ${queueSchema} in version ` +
        `${LATEST_SCHEMA_VERSION}, which this login may not make; let the owner of the warehouse ` +
        'run `fieldmirror migrate`, without REDIS_URL',
      {cause, kind: 'queue'},
    );
  } finally {
    client.release(true);
    await pool.end();
  }
}

/**
 * Two processes that start at once would grant on the same objects. The turn ends with the session.
 */
async function makeReady(pool: pg.Pool, client: pg.PoolClient, words: WaitWords): Promise<void> {
  const turn = await pool.connect();
  try {
    const pids = await Promise.all([readProcessId(client), readProcessId(turn)]);
    await tellWaits(pool, {pids, what: 'the tables of the queue', words}, async () => {
      await takeTurn(turn);
      if (await isReady(client)) return;
      await makeTurns(client, queueSchema);
      await client.query(`SET search_path = ${searchPathOf(queueSchema)}`);
      await runMigrations(client, queueSchema);
      await useTurns(client, queueSchema);
      await makeSequences(client);
      await client.query('SELECT sync.grant_queue()');
    });
  } finally {
    turn.release(true);
  }
}

async function isReady(client: pg.ClientBase): Promise<boolean> {
  try {
    const {rows} = await client.query<{isReady: boolean}>(
      `SELECT (SELECT max(version) FROM ${queueSchema}.migration) >= $1
              AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS queue
                               WHERE to_regclass('${queueSchema}.'
                                 || ${queueSchema}.job_id_seq_name(queue)) IS NULL)
              AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS stands
                WHERE to_regprocedure('${queueSchema}.' || stands) IS NULL)
              AND NOT EXISTS (SELECT FROM pg_proc
                WHERE pronamespace = '${queueSchema}'::regnamespace
                                 AND proconfig @> ARRAY['search_path=${queueSchema}'])
                AS "isReady"`,
      [LATEST_SCHEMA_VERSION, Object.values(queueNames), standIns],
    );
    return rows[0]?.isReady === true;
  } catch (error) {
    if (isError(error, '42P01') || isError(error, '3F000') || isError(error, '42883')) return false;
    throw error;
  }
}

/** BullMQ makes the sequence of a queue with its first job; a worker may not make it. */
async function makeSequences(client: pg.ClientBase): Promise<void> {
  for (const queue of Object.values(queueNames))
    await client.query('SELECT next_job_id($1)', [queue]);
}

function isError(error: unknown, code: string): boolean {
  return error instanceof pg.DatabaseError && error.code === code;
}

// BullMQ's functions take turns by advisory locks, and any login may take those: the queue would
// stand still. In their place they find functions of the same names in their own schema, which lock
// rows of a table that only a worker may lock.

/**
 * Where BullMQ's functions look for names: functions of the schema stand before those of Postgres.
 */
export const searchPathOf = (schema: string) => `${schema}, pg_catalog, pg_temp`;

const forms = [
  {parameters: 'bigint', key: '$1::text'},
  {parameters: 'integer, integer', key: `$1 || ' ' || $2`},
];

const kinds = [
  {name: 'pg_advisory_xact_lock', mode: 'UPDATE', returns: 'void'},
  {name: 'pg_advisory_xact_lock_shared', mode: 'SHARE', returns: 'void'},
  {name: 'pg_try_advisory_xact_lock', mode: 'UPDATE SKIP LOCKED', returns: 'boolean'},
];

/** The functions that stand in for those of Postgres, with their parameters. */
export const standIns = kinds.flatMap(({name}) =>
  forms.map(({parameters}) => `${name}(${parameters})`),
);

/** Makes the table and the functions; BullMQ's own may be there or not. */
export async function makeTurns(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE IF NOT EXISTS ${schema}.turn (key text PRIMARY KEY)`);
  for (const {name, mode, returns} of kinds)
    for (const {parameters, key} of forms)
      await client.query(
        `CREATE OR REPLACE FUNCTION ${schema}.${name}(${parameters}) RETURNS ${returns}
         LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
         BEGIN
           INSERT INTO ${schema}.turn (key) SELECT ${key}
            WHERE NOT EXISTS (SELECT FROM ${schema}.turn WHERE key = ${key}) ON CONFLICT DO NOTHING;
           PERFORM FROM ${schema}.turn WHERE key = ${key} FOR ${mode};
           ${returns === 'boolean' ? 'RETURN FOUND;' : ''}
         END $$`,
      );
}

/** Lets BullMQ's functions find those of `makeTurns`. */
export async function useTurns(client: pg.ClientBase, schema: string): Promise<void> {
  const {rows} = await client.query<{name: string}>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
      WHERE pronamespace = $1::regnamespace AND prokind = 'f'
      AND proconfig @> ARRAY['search_path=' || $1]`,
    [schema],
  );
  for (const {name} of rows)
    await client.query(`ALTER FUNCTION ${name} SET search_path = ${searchPathOf(schema)}`);
}
