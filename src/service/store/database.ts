import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import pg from 'pg';
import {FatalError} from '../../base/errors.ts';
import type {Logger} from '../../base/log.ts';

/** A runner of statements: the pool, or the connection of a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

const SCHEMA_LOCK = 7_302_114;

/**
 * Connects to the service's own database and brings the schema `service` about. Running it again changes nothing.
 * @throws {FatalError} the database is unreachable, refuses us, or is older than Postgres 14
 */
export async function openDatabase(databaseUrl: string, log?: Logger): Promise<pg.Pool> {
  const database = new pg.Pool({
    connectionString: databaseUrl,
    max: 8,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: 'fieldmirror service',
  });
  // An idle connection that breaks is replaced with the next query; without a listener it would end the process.
  database.on('error', (error) =>
    log?.warn(
      {event: 'service.connection_broke', message: error.message},
      'reference service: an idle connection broke',
    ),
  );
  try {
    await installSchema(database);
    return database;
  } catch (cause) {
    await database.end();
    throw new FatalError(explain(databaseUrl, cause), {cause});
  }
}

/** Runs the work in one transaction. A connection on which anything failed is thrown away, not put back. */
export async function inTransaction<T>(
  database: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await database.connect();
  let isBroken = false;
  const onError = () => {
    isBroken = true;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(onError);
    throw error;
  } finally {
    client.off('error', onError);
    client.release(isBroken);
  }
}

/**
 * Brings the schema `service` about. The schema's comment names its version. When it is this one, nothing is
 * done: the statements would wait for, and deadlock with, the transactions of a service that runs on the same
 * database.
 */
export async function installSchema(database: pg.Pool): Promise<void> {
  const schema = await readFile(new URL('schema.sql', import.meta.url), 'utf8');
  const version = createHash('sha256').update(schema).digest('hex').slice(0, 16);
  await inTransaction(database, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    const text = `SELECT obj_description(oid, 'pg_namespace') AS comment FROM pg_namespace WHERE nspname = 'service'`;
    const {rows} = await client.query<{comment: string | null}>(text);
    if (rows[0]?.comment?.endsWith(version) === true) return;
    await client.query('SET LOCAL client_min_messages = warning');
    await client.query(schema);
    await client.query(
      `COMMENT ON SCHEMA service IS 'Reference implementation of the field-service API, ${version}'`,
    );
  });
}

function explain(databaseUrl: string, cause: unknown): string {
  const place = describe(databaseUrl);
  const reason = cause instanceof Error ? firstMessage(cause) : String(cause);
  return `reference service: its database ${place} cannot be used: ${reason}. Start that Postgres or name another one.`;
}

/** Several addresses of one host fail as one AggregateError without a message of its own. */
function firstMessage(cause: Error): string {
  if (cause.message !== '') return cause.message;
  const [first] = cause instanceof AggregateError ? cause.errors : [];
  return first instanceof Error ? first.message : cause.name;
}

function describe(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return '(not a URL)';
  const url = new URL(databaseUrl);
  return `${url.pathname.slice(1)} on ${url.hostname}:${url.port || '5432'}`;
}
