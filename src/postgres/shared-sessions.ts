// A pooler such as PgBouncer in transaction mode hands a session of Postgres to another client at
// each end of a transaction. What we set in a session would be met by strangers, and what strangers
// set there would be met by us. So behind one everything happens in a transaction that makes its
// settings itself, and takes them with it.

import type pg from 'pg';
import {type SessionLimits, setForTransaction} from './session-settings.ts';
import {runTransaction} from './transaction.ts';

const beginnings = new WeakMap<pg.Pool, string>();

/**
 * Makes a pool fit for sessions that are shared: each transaction begins with our settings, and a
 * query that is asked of the pool itself gets a transaction of its own, at the price of two more
 * round trips.
 */
export function shareSessions(pool: pg.Pool, limits: SessionLimits): void {
  const beginning = `BEGIN; ${setForTransaction(limits)}`;
  beginnings.set(pool, beginning);
  const query = async (text: string | pg.QueryConfig, values?: unknown[]) =>
    await runTransaction(pool, beginning, (client) => client.query(text, values));
  Object.defineProperty(pool, 'query', {value: query});
}

/**
 * Whether a pooler stands in between: it may have fewer sessions of Postgres than the pool has
 * connections.
 */
export function hasSharedSessions(pool: pg.Pool): boolean {
  return beginnings.has(pool);
}

/** The statement that begins a transaction of this pool. */
export function beginningOf(pool: pg.Pool): string {
  return beginnings.get(pool) ?? 'BEGIN';
}
