import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {explainDatabaseError} from './database-errors.ts';
import {watchLocks} from './lock-watch.ts';
import {makeOwnSession} from './own-session.ts';
import {beginningOf, shareSessions} from './shared-sessions.ts';
import {runTransaction} from './transaction.ts';

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
  /** Is told after some seconds for whom a statement waits; left out: only its error says so. */
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
 * The client gives up later than the server: a statement it left alone would go on there, on a busy
 * connection.
 */
const clientGraceMs = 15_000;
const transactionAttempts = 3;

/**
 * serialization_failure, deadlock_detected: nothing was done, and the same may succeed the next
 * time.
 */
const rerunnable: ReadonlySet<string | undefined> = new Set(['40001', '40P01']);

const timestamptz = 1184;
/**
 * date, timestamp and arrays of instants: node-postgres would make them a Date in the zone of the
 * process.
 */
const keptAsText: ReadonlySet<number> = new Set([1082, 1114, 1182, 1115, 1185]);

const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(id: number, format?: 'text' | 'binary') {
    // The session's zone is UTC: `2026-01-31 23:59:59.123456+00`, and no digit of it is lost.
    if (id === timestamptz && format !== 'binary')
      return (text: string) => text.replace(/^(\S+) (\S+)\+00$/, '$1T$2Z');
    if (keptAsText.has(id) && format !== 'binary') return (text: string) => text;
    return format === 'binary'
      ? pg.types.getTypeParser(id, 'binary')
      : pg.types.getTypeParser(id, 'text');
  },
};

/**
 * Opens a pool on the warehouse; it connects when first used. Instants arrive as ISO text in UTC,
 * bigint and numeric as text too: nothing is rounded. A connection that breaks while idle is
 * replaced without a word.
 * @throws {UsageError} the address is none. The pool itself refuses to connect, by a FatalError,
 *   where sessions are
 *   shared that should be its own
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
  // Without a listener a connection that breaks ends the process: idle ones tell the pool, busy
  // ones themselves.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Runs `work` in one transaction and commits it, or leaves no trace. A deadlock or serialization
 * failure runs all of it again, up to three times, so `work` must not remember anything outside the
 * database.
 * @throws the error of `work`; a failure of the database as `explainDatabaseError` has it. After a
 *   COMMIT
 *   whose answer was lost the outcome is unknown: read what is there before acting
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return await runWhole(pool, beginningOf(pool), work);
}

/**
 * The same for a transaction that writes the service's records: triggers tell it from edits by
 * others.
 * @param options.isFirstLoad - leaves new rows out of the feed: it begins when the stream was read
 *   as a whole
 */
export async function inSweepTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  {isFirstLoad = false}: {readonly isFirstLoad?: boolean} = {},
): Promise<T> {
  const feed = isFirstLoad ? "; SET LOCAL fieldmirror.feed = 'off'" : '';
  return await runWhole(
    pool,
    `${beginningOf(pool)}; SET LOCAL fieldmirror.writer = 'sweep'${feed}`,
    work,
  );
}

async function runWhole<T>(
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
    if (cause instanceof pg.DatabaseError && rerunnable.has(cause.code)) return true;
  }
  return false;
}
