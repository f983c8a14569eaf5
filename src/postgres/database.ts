// Pools on the warehouse, their sessions and their transactions. At the end of each transaction, a
// pooler such as PgBouncer in transaction mode gives the session of Postgres to another client. A
// setting that one client left in the session would then apply to the other. So behind a pooler,
// every statement runs in a transaction that makes our settings itself; they end with the
// transaction.

import pg from 'pg';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {describeDatabase, explainDatabaseError} from './database-errors.ts';
import {processIdOf, readProcessId, watchLocks} from './lock-waits.ts';

/** How a pool behaves; an option left out has a default that suits a worker. */
export interface PoolOptions {
  /** Connections at most. */
  readonly max: number;
  /** The name that `pg_stat_activity` shows. */
  readonly applicationName: string;
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** Whether a pooler in between may give each transaction another session; false when left out. */
  readonly sharesSessions?: boolean;
  /**
   * Called with a line that names the lock holders once a statement has waited for some seconds. If
   * left out, only the statement's error names them.
   */
  readonly onWait?: (line: string) => void;
}

/** A pool, or one connection of it. */
export type Queryable = pg.Pool | pg.ClientBase;

const connectTimeoutMs = 10_000;
const keepAliveAfterMs = 10_000;
const defaultStatementTimeoutMs = 120_000;
const defaultLockTimeoutMs = 30_000;
const idleInTransactionTimeoutMs = 120_000;
/**
 * The client gives up later than the server. If it gave up first, the statement would keep running
 * on the server, and the connection would stay busy.
 */
const clientGraceMs = 15_000;
const transactionAttempts = 3;

/**
 * serialization_failure, deadlock_detected: nothing was written, and the same transaction may
 * succeed when it runs again.
 */
const rerunnableCodes: ReadonlySet<string | undefined> = new Set(['40001', '40P01']);

const timestamptzId = 1184;
/**
 * date, timestamp, and arrays of these and of timestamptz: node-postgres would make them a Date in
 * the zone of the process.
 */
const textTypeIds: ReadonlySet<number> = new Set([1082, 1114, 1182, 1115, 1185]);

const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(id: number, format?: 'text' | 'binary') {
    // The session's zone is UTC, so the text is `2026-01-31 23:59:59.123456+00`; no digit is lost.
    if (id === timestamptzId && format !== 'binary')
      return (text: string) => text.replace(/^(\S+) (\S+)\+00$/, '$1T$2Z');
    if (textTypeIds.has(id) && format !== 'binary') return (text: string) => text;
    return format === 'binary'
      ? pg.types.getTypeParser(id, 'binary')
      : pg.types.getTypeParser(id, 'text');
  },
};

/**
 * Opens a pool on the warehouse; it connects when first used. Instants arrive as ISO text in UTC,
 * and bigint and numeric also arrive as text, so nothing is rounded. If a connection breaks while
 * idle, the pool replaces it silently.
 * @throws {UsageError} the address is invalid. If sessions are shared that should be the pool's
 *   own, connecting fails with a FatalError
 */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  if (!URL.canParse(url))
    throw new UsageError('DATABASE_URL: expected postgres://user:password@host:port/database');
  const statementTimeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs;
  const lockTimeoutMs = options.lockTimeoutMs ?? defaultLockTimeoutMs;
  const limits = {statementTimeoutMs, lockTimeoutMs, idleInTransactionTimeoutMs};
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    query_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + clientGraceMs,
    types: typeParsers,
    ...(options.sharesSessions === true ? {} : {onConnect: makeOwnSession(url, limits)}),
  });
  const {sharesSessions = false, onWait} = options;
  if (sharesSessions) shareSessions(pool, limits);
  watchLocks(pool, {url, lockTimeoutMs, sharesSessions, onWait});
  // Without a listener, a connection that breaks ends the process. An idle connection emits its
  // error on the pool, a busy one on the client.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Runs `work` in one transaction and commits it; if anything fails, nothing is written. After a
 * deadlock or serialization failure all of it runs again, three times in total, so `work` must not
 * keep state outside the database.
 * @throws the error of `work`; a failure of the database as `explainDatabaseError` returns it. If
 *   the answer to the COMMIT was lost, the outcome is unknown: read the data before acting
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return await runWithRetries(pool, beginningOf(pool), work);
}

/**
 * Like `inTransaction`, for a transaction that writes the service's records: triggers distinguish
 * its writes from edits by others.
 * @param options.isFirstLoad - leaves new rows out of the feed: the feed begins once the whole
 *   stream has been read
 */
export async function inSweepTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  {isFirstLoad = false}: {readonly isFirstLoad?: boolean} = {},
): Promise<T> {
  const feed = isFirstLoad ? "; SET LOCAL fieldmirror.feed = 'off'" : '';
  return await runWithRetries(
    pool,
    `${beginningOf(pool)}; SET LOCAL fieldmirror.writer = 'sweep'${feed}`,
    work,
  );
}

async function runWithRetries<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runTransaction(pool, begin, work);
    } catch (error) {
      if (attempt < transactionAttempts && isRerunnable(error)) continue;
      throw explainDatabaseError(error, pool.options.connectionString ?? '');
    }
  }
}

function isRerunnable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof pg.DatabaseError && rerunnableCodes.has(cause.code)) return true;
  }
  return false;
}

/** read_only_sql_transaction */
const readOnlyCode = '25006';

/**
 * Runs `work` once, in one transaction on one connection, and commits it; if anything fails,
 * nothing is written.
 * @param begin - the statement that begins the transaction
 * @throws the error of `work` or of the database, unchanged
 */
async function runTransaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await work(client);
    await commit(client);
    client.release();
    return result;
  } catch (error) {
    client.release(isReadOnly(error) ? error : await rollBack(client));
    throw error;
  }
}

/**
 * If a statement of the transaction has failed, Postgres answers COMMIT with ROLLBACK and reports
 * success.
 */
async function commit(client: pg.PoolClient): Promise<void> {
  const {command} = await client.query('COMMIT');
  if (command === 'COMMIT') return;
  throw new RetryableError(
    `transaction: expected COMMIT, got ${command}: a statement in it had failed unnoticed, so ` +
      'nothing was written',
  );
}

/**
 * A session that began while its database was read-only stays read-only after the database accepts
 * writes again. Only a new session can write.
 */
function isReadOnly(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && error.code === readOnlyCode;
}

/** The error that makes the connection unusable; undefined if the rollback succeeded. */
async function rollBack(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('ROLLBACK failed', {cause: error});
  }
}

const beginStatements = new WeakMap<pg.Pool, string>();

/**
 * Prepares a pool for shared sessions: each transaction begins with our settings. A query sent
 * through the pool itself runs in a separate transaction, which costs two more round trips.
 */
function shareSessions(pool: pg.Pool, limits: SessionLimits): void {
  const beginStatement = `BEGIN; ${buildTransactionSettings(limits)}`;
  beginStatements.set(pool, beginStatement);
  const query = async (text: string | pg.QueryConfig, values?: unknown[]) =>
    await runTransaction(pool, beginStatement, (client) => client.query(text, values));
  Object.defineProperty(pool, 'query', {value: query});
}

/**
 * Whether a pooler that shares sessions is in between. It may have fewer sessions of Postgres than
 * the pool has connections.
 */
export function hasSharedSessions(pool: pg.Pool): boolean {
  return beginStatements.has(pool);
}

/** The statement that begins a transaction of this pool. */
function beginningOf(pool: pg.Pool): string {
  return beginStatements.get(pool) ?? 'BEGIN';
}

/**
 * How often the process ids of two clients are compared. A pooler that assigns sessions in turn or
 * at random may give two clients different ones for a while.
 */
const maxComparisons = 8;
const probeTimeoutMs = 10_000;

/**
 * Makes the settings of each new connection of a pool. Locks, LISTEN and settings that outlive a
 * transaction need a session that is not shared. A pooler reports a made-up process id to its
 * clients, so the first query detects a pooler. Two probe clients then find out whether it shares
 * sessions.
 * @param url - the pool's address
 * @returns a function that rejects with a FatalError if the sessions behind the address are shared;
 *   no session has our settings then
 */
function makeOwnSession(
  url: string,
  limits: SessionLimits,
): (client: pg.ClientBase) => Promise<void> {
  const settingsQuery = buildSessionQuery(limits);
  let sharingCheck: Promise<void> | null = null;
  return async (client) => {
    const {rowCount} = await client.query(
      `${settingsQuery} WHERE pg_backend_pid() = ${processIdOf(client)}`,
    );
    if (rowCount === 1) return;
    sharingCheck ??= refuseSharedSessions(url).catch((error: unknown) => {
      // A failed probe has shown nothing, so the next connection probes again.
      if (!(error instanceof FatalError)) sharingCheck = null;
      throw error;
    });
    await sharingCheck;
    await client.query(settingsQuery);
  };
}

async function refuseSharedSessions(url: string): Promise<void> {
  if (!(await areSessionsShared(url))) return;
  throw new FatalError(
    `${describeDatabase(url)}: a pooler in between gives each transaction another session, as ` +
      'PgBouncer does in transaction mode; set DATABASE_DIRECT_URL to the address of Postgres ' +
      'itself, or of a pooler in session mode, for what needs a separate session',
    {kind: 'pooler'},
  );
}

/**
 * If sessions are not shared, two clients connected at the same time never have the same session,
 * and neither client changes its session.
 */
async function areSessionsShared(url: string): Promise<boolean> {
  const [firstProbe, secondProbe] = [openProbe(url), openProbe(url)];
  try {
    await Promise.all([firstProbe.connect(), secondProbe.connect()]);
    const firstProcessId = await readProcessId(firstProbe);
    for (let comparison = 0; comparison < maxComparisons; comparison++) {
      if (
        (await readProcessId(secondProbe)) === firstProcessId ||
        (await readProcessId(firstProbe)) !== firstProcessId
      )
        return true;
    }
    return false;
  } finally {
    await Promise.allSettled([firstProbe.end(), secondProbe.end()]);
  }
}

function openProbe(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fieldmirror checks for a pooler',
    connectionTimeoutMillis: probeTimeoutMs,
    query_timeout: probeTimeoutMs,
  });
  client.on('error', () => {});
  return client;
}

/**
 * The server's time limits for a statement, a wait for a lock and an idle transaction; 0 means no
 * limit.
 */
interface SessionLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}

// Our statements write all names with their schema, so a table of the same name in another schema
// is never used.
const settings = {
  search_path: 'pg_catalog, pg_temp',
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  client_min_messages: 'warning',
  // Postgres estimates a plan with thousands of index lookups as expensive, and would spend longer
  // compiling it than running it.
  jit: 'off',
} as const;

// With these, Postgres ends the session of a host that was cut off within the 15 s of a lease.
// Until then the session keeps its locks. In the middle of a COPY, no time limit of a statement or
// of a transaction ends it.
const keepAliveSettings = {
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
  tcp_user_timeout: 15_000,
} as const;

/**
 * Lifts limits that a login or a database may have. A migration and a refresh of the star are one
 * long transaction each, and a session that listens is idle. Postgres 15 and 16 have no
 * transaction_timeout.
 */
export const liftLimits =
  `set_config('idle_session_timeout', '0', false), ` +
  `CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL ` +
  `THEN set_config('transaction_timeout', '0', false) END`;

/** An author who used the session before us may have left these settings in it. */
const authorSettings = {'fieldmirror.writer': "''", 'fieldmirror.mode': "''"} as const;

/**
 * A query that makes our settings for the session. They are never sent at the start of a
 * connection: a pooler refuses some of them there, and silently drops others.
 */
function buildSessionQuery(limits: SessionLimits): string {
  const allSettings = {...settings, ...toServerSettings(limits), ...keepAliveSettings};
  const calls = Object.entries(allSettings).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  return `SELECT ${calls.join(', ')}, ${liftLimits}`;
}

/**
 * Statements that make our settings for this transaction only. None of them reads data, so the
 * transaction can still set its isolation level and its snapshot.
 */
function buildTransactionSettings(limits: SessionLimits): string {
  const allSettings = {...settings, ...toServerSettings(limits), ...authorSettings};
  return Object.entries(allSettings)
    .map(([name, value]) => `SET LOCAL ${name} TO ${value}`)
    .join('; ');
}

function toServerSettings(limits: SessionLimits) {
  return {
    statement_timeout: limits.statementTimeoutMs,
    lock_timeout: limits.lockTimeoutMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionTimeoutMs,
  };
}
