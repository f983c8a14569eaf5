// The tables of the queue, when it is in Postgres: the owner of the warehouse makes them, workers use them.

import {LATEST_SCHEMA_VERSION, runMigrations} from 'bullmq';
import pg from 'pg';
import {FatalError} from '../../src/base/errors.ts';
import {queueNames} from './wake-queue.ts';

export const schema = 'bullmq';

const connectTimeoutMs = 5_000;

/**
 * Makes missing or old tables. A dedicated session: a migration's lock and its transaction must share one.
 * @throws {FatalError} a part is missing, and we may not make it
 */
export async function migrateQueue(connectionString: string): Promise<void> {
  const client = new pg.Client({connectionString, connectionTimeoutMillis: connectTimeoutMs});
  client.on('error', () => {});
  await client.connect();
  try {
    // A worker may use the schema, but not make it: `IF NOT EXISTS` is refused even where it exists.
    if (await isReady(client)) return;
    // Two processes that start at once would grant on the same objects. The lock ends with the session.
    await client.query(`SELECT pg_advisory_lock(720368547, hashtext('${schema}'))`);
    if (await isReady(client)) return;
    await runMigrations(client, schema);
    await makeSequences(client);
    await client.query('SELECT sync.grant_queue()');
  } catch (cause) {
    if (!isError(cause, '42501')) throw cause;
    throw new FatalError(
      `the queue in Postgres: expected the schema ${schema} in version ${LATEST_SCHEMA_VERSION}, which this login may not make; let the owner of the warehouse run \`fieldmirror migrate\`, without REDIS_URL`,
      {cause, kind: 'queue'},
    );
  } finally {
    await client.end();
  }
}

async function isReady(client: pg.Client): Promise<boolean> {
  try {
    const {rows} = await client.query<{isReady: boolean}>(
      `SELECT (SELECT max(version) FROM ${schema}.migration) >= $1
              AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS queue
                               WHERE to_regclass('${schema}.' || ${schema}.job_id_seq_name(queue)) IS NULL) AS "isReady"`,
      [LATEST_SCHEMA_VERSION, Object.values(queueNames)],
    );
    return rows[0]?.isReady === true;
  } catch (error) {
    if (isError(error, '42P01') || isError(error, '3F000') || isError(error, '42883')) return false;
    throw error;
  }
}

/** BullMQ makes the sequence of a queue with its first job; a worker may not make it. */
async function makeSequences(client: pg.Client): Promise<void> {
  await client.query(`SET search_path = ${schema}, pg_temp`);
  for (const queue of Object.values(queueNames)) await client.query('SELECT next_job_id($1)', [queue]);
}

function isError(error: unknown, code: string): boolean {
  return error instanceof pg.DatabaseError && error.code === code;
}
