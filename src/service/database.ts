// The database of the reference service: opening it, its schema, transactions, the copying of many
// rows, and the lists that are kept in memory.
//
// Page 3,334 of a list costs Postgres 100,000 index entries. So the ids of a list, for one filter
// in one order, are read once and kept. They are kept until a write to the table; until then a page
// is a slice and a look-up by ids. The service drops the affected lists before it answers its own
// writes. Writes of others (a seed, a person with psql) are reported by notifications of Postgres;
// while the service cannot listen, nothing is kept.

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

/** One condition of a filter: SQL with `$` in place of the value. */
export interface Condition {
  readonly sql: string;
  readonly value?: string;
}

/** The records of a list, and their order. */
export interface ListQuery {
  readonly table: Table;
  readonly conditions: readonly Condition[];
  /** An SQL expression from this code, never from a request. */
  readonly order: string;
  /** The change that alters the list: records come or go, or any of their values changes. */
  readonly dependsOn: ListChange;
}

/** The effect of a write on a table: records came or went, or only their values changed. */
export type ListChange = 'members' | 'values';

type Ids = readonly string[];

const MAX_LISTS = 100;
const RECONNECT_MS = 500;

/** The ordered ids of lists, kept until their table changes. */
export class Lists {
  readonly #database: pg.Pool;
  readonly #databaseUrl: string;
  readonly #log: Logger | undefined;
  readonly #kept = new Map<string, {readonly query: ListQuery; readonly ids: Promise<Ids>}>();
  #listener: pg.Client | null = null;
  #isClosed = false;

  constructor(database: pg.Pool, databaseUrl: string, log?: Logger) {
    this.#database = database;
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  /** All ids of a list, in order. */
  async ids(query: ListQuery): Promise<Ids> {
    if (this.#listener === null) return await this.#select(query);
    const key = JSON.stringify(query);
    const cached = this.#kept.get(key);
    if (cached !== undefined) return await cached.ids;
    const ids = this.#select(query);
    this.#keep(key, query, ids);
    return await ids;
  }

  /**
   * Forgets the lists that a write may have changed. A list that is being read right now is
   * forgotten with them.
   */
  drop(table: string, change: ListChange): void {
    for (const [key, {query}] of this.#kept) {
      const isAffected =
        query.table === table && (change === 'members' || query.dependsOn === 'values');
      if (isAffected) this.#kept.delete(key);
    }
  }

  /** Begins to listen for writes of others; from then on lists are kept. */
  async listen(): Promise<void> {
    const listener = new pg.Client({connectionString: this.#databaseUrl, keepAlive: true});
    listener.on('notification', ({payload = ''}) => {
      const [table = '', change] = payload.split(' ');
      this.drop(table, change === 'values' ? 'values' : 'members');
    });
    listener.on('error', (error) => this.#lose(listener, error.message));
    listener.on('end', () => this.#lose(listener, 'the connection ended'));
    await listener.connect();
    await listener.query('LISTEN service_changed');
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const listener = this.#listener;
    this.#listener = null;
    await listener?.end();
  }

  #lose(listener: pg.Client, reason: string): void {
    if (this.#listener !== listener) return;
    this.#listener = null;
    this.#kept.clear();
    listener.end().catch(() => {});
    if (this.#isClosed) return;
    this.#log?.warn(
      {event: 'service.notifications_lost', reason},
      'reference service: lost the notifications; lists are read again each time until they are ' +
        'back',
    );
    this.#retry();
  }

  #retry(): void {
    const listenAgain = () => {
      if (this.#isClosed) return;
      this.listen().catch(() => this.#retry());
    };
    setTimeout(listenAgain, RECONNECT_MS).unref();
  }

  #keep(key: string, query: ListQuery, ids: Promise<Ids>): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_LISTS && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, {query, ids});
    ids.catch(() => this.#kept.delete(key));
  }

  /** One text instead of 100,000 rows: pg spends more on a row than Postgres on the list. */
  async #select({table, conditions, order}: ListQuery): Promise<Ids> {
    const values = conditions.flatMap(({value}) => (value === undefined ? [] : [value]));
    let position = 0;
    const conditionTexts = conditions.map(({sql}) => sql.replace('$', () => `$${++position}`));
    const where = ['deleted_at IS NULL', ...conditionTexts].join(' AND ');
    const list = `SELECT id FROM service.${table} WHERE ${where} ORDER BY ${order}`;
    // Sorted below the aggregate, not within it: an index may bring the order.
    const text = `SELECT string_agg(id::text, ',') AS ids FROM (${list}) AS list`;
    const {rows} = await this.#database.query<{ids: string | null}>(text, values);
    const ids = rows[0]?.ids ?? null;
    return ids === null ? [] : ids.split(',');
  }
}
