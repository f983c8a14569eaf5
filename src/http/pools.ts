// The HTTP API stays open to all callers while one caller's writes wait for a lock: reads have
// connections of their own, and a write gives its connection back soon.

import type pg from 'pg';
import {openPool, type PoolOptions} from '../postgres/database.ts';

export interface ApiPools {
  /** For keys, rows, changes and health. */
  readonly reads: pg.Pool;
  readonly writes: pg.Pool;
  close(): Promise<void>;
}

const connections = {reads: 8, writes: 8} as const;
const statementTimeoutMs = 30_000;
const lockTimeoutMs = 3_000;

/**
 * @param given - for how long a write waits for a row that another transaction is changing; whether
 * sessions are shared
 */
export function openPools(
  databaseUrl: string,
  given: Pick<PoolOptions, 'lockTimeoutMs' | 'sharesSessions'> = {},
): ApiPools {
  const shared = {statementTimeoutMs, lockTimeoutMs, ...given};
  const reads = openPool(databaseUrl, {
    ...shared,
    max: connections.reads,
    applicationName: 'http reads',
  });
  const writes = openPool(databaseUrl, {
    ...shared,
    max: connections.writes,
    applicationName: 'http writes',
  });
  const close = async () => {
    await Promise.all([reads.end(), writes.end()]);
  };
  return {reads, writes, close};
}
