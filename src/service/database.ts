// The database of the reference service: opening it, its schema, transactions, and the copying of
// many rows.

import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import pg from 'pg';
import {from} from 'pg-copy-streams';
import {FatalError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import type {ServiceFields, Table} from './resource.ts';

/** A runner of statements: the pool, or the connection of a transaction. */
export type ServiceQueryable = Pick<pg.ClientBase, 'query'>;

/**
 * The table whose lock gives services their turn when they make the schema or fill it. A stranger
 * could take an advisory lock, but may not lock this table.
 */
const TURN = '"service"."turn"';
/**
 * duplicate_schema, duplicate_table, duplicate_object (the type of a table), unique_violation:
 * another service made the object at the same moment.
 */
const concurrentCreationCodes: ReadonlySet<string | undefined> = new Set([
  '42P06',
  '42P07',
  '42710',
  '23505',
]);
const maxAttempts = 5;

/**
 * Connects to the service's own database and makes the schema `service`. Running it again changes
 * nothing.
 * @throws {FatalError} the database is unreachable, refuses access, or is older than Postgres 14
 */
export async function openDatabase(databaseUrl: string, log?: Logger): Promise<pg.Pool> {
  const database = new pg.Pool({
    connectionString: databaseUrl,
    max: 8,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: 'fieldmirror service',
  });
  // An idle connection that breaks is replaced with the next query; without a listener it would end
  // the process.
  database.on('error', (error) =>
    log?.warn(
      {event: 'service.connection_lost', message: error.message},
      'reference service: an idle connection broke',
    ),
  );
  try {
    await installSchema(database);
    return database;
  } catch (cause) {
    await database.end();
    throw new FatalError(describeFailure(databaseUrl, cause), {cause});
  }
}

/**
 * Runs the work in one transaction. A connection on which anything failed is thrown away, not put
 * back.
 */
export async function inServiceTransaction<T>(
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
 * Makes the schema `service`. The schema's comment names its version. If it is the present version,
 * nothing is done. If the statements ran at every start, they would wait for, and deadlock with,
 * the transactions of a service on the same database.
 */
export async function installSchema(database: pg.Pool): Promise<void> {
  const schema = await readFile(new URL('schema.sql', import.meta.url), 'utf8');
  const version = createHash('sha256').update(schema).digest('hex').slice(0, 16);
  await createTurnTable(database);
  await inServiceTransaction(database, async (client) => {
    await lockTurn(client);
    const text = `SELECT obj_description(oid, 'pg_namespace') AS comment FROM pg_namespace
        WHERE nspname = 'service'`;
    const {rows} = await client.query<{comment: string | null}>(text);
    if (rows[0]?.comment?.endsWith(version) === true) return;
    await client.query('SET LOCAL client_min_messages = warning');
    await client.query(schema);
    await client.query(
      `COMMENT ON SCHEMA service
        IS 'Reference implementation of the field-service API, ${version}'`,
    );
  });
}

async function createTurnTable(database: pg.Pool): Promise<void> {
  const {rows} = await database.query<{there: string | null}>('SELECT to_regclass($1) AS there', [
    TURN,
  ]);
  if (typeof rows[0]?.there === 'string') return;
  for (let attempt = 1; ; attempt++) {
    try {
      await database.query('CREATE SCHEMA IF NOT EXISTS service');
      await database.query(`CREATE TABLE IF NOT EXISTS ${TURN} ()`);
      return;
    } catch (error) {
      const isRace = error instanceof pg.DatabaseError && concurrentCreationCodes.has(error.code);
      if (!isRace || attempt === maxAttempts) throw error;
    }
  }
}

/** One service at a time, until the end of the transaction. */
export async function lockTurn(client: pg.ClientBase): Promise<void> {
  await client.query(`LOCK TABLE ${TURN} IN EXCLUSIVE MODE`);
}

function describeFailure(databaseUrl: string, cause: unknown): string {
  const databaseName = describeServiceDatabase(databaseUrl);
  const reason = cause instanceof Error ? readFirstMessage(cause) : String(cause);
  return (
    `reference service: its database ${databaseName} cannot be used: ${reason}. ` +
    'Start that Postgres or name another one.'
  );
}

/** If several addresses of one host fail, the error is one AggregateError with an empty message. */
function readFirstMessage(cause: Error): string {
  if (cause.message !== '') return cause.message;
  const [first] = cause instanceof AggregateError ? cause.errors : [];
  return first instanceof Error ? first.message : cause.name;
}

/** Name, host and port of a database, without secrets. */
export function describeServiceDatabase(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return '(not a URL)';
  const url = new URL(databaseUrl);
  return `${url.pathname.slice(1)} on ${url.hostname}:${url.port || '5432'}`;
}

/** A made-up record on its way to its table. */
export interface ServiceRow {
  readonly table: Table;
  readonly fields: ServiceFields;
  /** Columns beside `fields`, as COPY reads them. */
  readonly beside?: Readonly<Record<string, string>>;
}

/**
 * Writes rows of any tables, one COPY a table; all rows of a table have the same columns beside
 * `fields`.
 */
export async function copyRows(client: pg.PoolClient, rows: readonly ServiceRow[]): Promise<void> {
  const lines = new Map<Table, string[]>();
  const columns = new Map<Table, readonly string[]>();
  for (const row of rows) {
    const besideEntries = Object.entries(row.beside ?? {});
    const tableLines = lines.get(row.table) ?? [];
    if (tableLines.length === 0) {
      lines.set(row.table, tableLines);
      columns.set(row.table, ['fields', ...besideEntries.map(([name]) => name)]);
    }
    tableLines.push(
      `${[writeFields(row), ...besideEntries.map(([, value]) => value)].join('\t')}\n`,
    );
  }
  for (const [table, tableLines] of lines) {
    const statement = `COPY service.${table} (${columns.get(table)?.join(', ')}) FROM STDIN`;
    await pipeline(Readable.from([tableLines.join('')]), client.query(from(statement)));
  }
}

/** JSON holds no raw tab or line break; its backslashes are COPY's as well. */
function writeFields({fields}: ServiceRow): string {
  const presentFields = Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null),
  );
  return JSON.stringify(presentFields).replaceAll('\\', '\\\\');
}
