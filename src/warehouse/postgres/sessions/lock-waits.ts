// Whoever waits for a lock says after a few seconds for whom: a wait without a word looks like a program that hangs.

import {setTimeout as wait} from 'node:timers/promises';
import type {Queryable} from '../database.ts';

/** A session that another one waits for. Postgres shows its login, application and process to everybody. */
export interface LockHolder {
  readonly login: string | null;
  readonly application: string;
  readonly pid: number;
  /** When its transaction began: ISO 8601; null where this login may not see it. */
  readonly since: string | null;
}

/** How waits are told. */
export interface WaitWords {
  /** Is told one line each time. */
  readonly tell: (line: string) => void;
  /** Until the first line, and between two. */
  readonly patienceMs?: number;
}

const usualPatienceMs = 5_000;

/** The sessions that some processes wait for. Empty where none of them waits. */
export async function listHolders(db: Queryable, pids: readonly number[]): Promise<LockHolder[]> {
  const {rows} = await db.query<LockHolder>(
    `SELECT DISTINCT holder.pid, usename AS login, coalesce(application_name, '') AS application, xact_start AS since
       FROM unnest($1::int[]) AS waiter CROSS JOIN LATERAL unnest(pg_blocking_pids(waiter)) AS holder (pid)
       LEFT JOIN pg_stat_activity AS session ON session.pid = holder.pid
      WHERE NOT holder.pid = ANY ($1::int[]) ORDER BY holder.pid`,
    [pids],
  );
  return rows;
}

/** The process of Postgres behind a session of our own. */
export async function readProcessId(client: Queryable): Promise<number> {
  const {rows} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** A session in words: `erp (DBeaver, pid 4711), in a transaction since 2031-01-04T14:00:00Z`. */
export function nameHolder({login, application, pid, since}: LockHolder): string {
  const program = application === '' ? '' : `${application}, `;
  return `${login ?? 'a session'} (${program}pid ${pid})${since === null ? '' : `, in a transaction since ${since}`}`;
}

/**
 * Waits for a piece of work, and tells every few seconds which sessions hold it up.
 * @param db - other sessions than those that work
 * @param pids - the processes of Postgres that do the work
 * @param what - the work: `migrations`
 */
export async function tellWaits<T>(
  db: Queryable,
  {pids, what, words}: {readonly pids: readonly number[]; readonly what: string; readonly words: WaitWords},
  work: () => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const watching = watchWaits(db, {pids, what, words, signal: ending.signal});
  try {
    return await work();
  } finally {
    ending.abort();
    await watching;
  }
}

async function watchWaits(
  db: Queryable,
  watch: {
    readonly pids: readonly number[];
    readonly what: string;
    readonly words: WaitWords;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const {pids, what, words, signal} = watch;
  const begunAt = performance.now();
  for (;;) {
    await wait(words.patienceMs ?? usualPatienceMs, undefined, {signal}).catch(() => {});
    if (signal.aborted) return;
    // Who cannot be asked is not told: the work itself says what is wrong.
    const holders = await listHolders(db, pids).catch(() => []);
    if (holders.length === 0 || signal.aborted) continue;
    const seconds = Math.round((performance.now() - begunAt) / 1000);
    words.tell(
      `${what}: waiting for ${holders.map(nameHolder).join(' and ')}, for ${seconds} s; it goes on when that transaction ends, or after SELECT pg_terminate_backend(${holders[0]?.pid})`,
    );
  }
}
