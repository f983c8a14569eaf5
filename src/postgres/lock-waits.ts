// Whoever waits for a lock says after a few seconds for whom: a wait without a word looks like a
// program that hangs.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';

type Db = pg.Pool | pg.ClientBase;

/**
 * A session that another one waits for. Postgres shows its login, application and process to
 * everybody; the rest to a member of its login or of pg_read_all_stats.
 */
export interface LockHolder {
  readonly login: string | null;
  readonly application: string;
  /** 0 for a prepared transaction, which has no session. */
  readonly pid: number;
  /** When its transaction began: ISO 8601; null where it has none, or this login may not see it. */
  readonly since: string | null;
  /** This login may not see what the session does, nor since when. */
  readonly isHidden: boolean;
  /** Tables of Fieldmirror that it has locked for more than reading, or waits for. */
  readonly holds: readonly string[];
  /** It waits for a lock itself. */
  readonly isWaiting: boolean;
}

/** How waits are told. */
export interface WaitWords {
  /** Is told one line each time. */
  readonly tell: (line: string) => void;
  /** Until the first line, and between two. */
  readonly patienceMs?: number;
}

const usualPatienceMs = 5_000;

/** Facts of the sessions in `holder`, a list of processes. */
const factsOf = `
  SELECT DISTINCT holder.pid, usename AS login, coalesce(application_name, '') AS application,
         to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since,
         session.pid IS NOT NULL AND state IS NULL AS "isHidden", cardinality(pg_blocking_pids(holder.pid)) > 0 AS "isWaiting",
         ARRAY(SELECT nspname || '.' || relname
                 FROM pg_locks AS lock JOIN pg_class AS class ON class.oid = lock.relation
                 JOIN pg_namespace AS place ON place.oid = class.relnamespace
                WHERE lock.pid = holder.pid AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND lock.mode <> 'AccessShareLock' AND relkind IN ('r', 'p', 'm')
                  AND nspname IN ('warehouse', 'history', 'mart', 'sync')
                GROUP BY nspname, relname ORDER BY nspname <> 'warehouse', nspname, relname) AS holds
    FROM holder LEFT JOIN pg_stat_activity AS session ON session.pid = holder.pid`;

/**
 * The sessions that some processes wait for, and those that these wait for in turn: whoever waits
 * for nobody comes first. Empty where none of the processes waits.
 */
export async function listHolders(db: Db, pids: readonly number[]): Promise<LockHolder[]> {
  const {rows} = await db.query<LockHolder>(
    `WITH RECURSIVE holder (pid) AS (
       SELECT unnest(pg_blocking_pids(waiter)) FROM unnest($1::int[]) AS waiter
        UNION SELECT unnest(pg_blocking_pids(pid)) FROM holder)
     SELECT * FROM (${factsOf}) AS found WHERE NOT pid = ANY ($1::int[]) ORDER BY "isWaiting", pid`,
    [pids],
  );
  return rows;
}

/**
 * The sessions that have, or wait for, a lock on a whole table of Fieldmirror that keeps others
 * from writing it, or from reading it too.
 */
export async function listTableHolders(db: Db): Promise<LockHolder[]> {
  const {rows} = await db.query<LockHolder>(
    `WITH holder AS (
       SELECT pid FROM pg_locks JOIN pg_class AS class ON class.oid = relation
        WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
          AND pid IS DISTINCT FROM pg_backend_pid() AND relkind IN ('r', 'p', 'm')
          AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('warehouse', 'history', 'mart', 'sync')))
     SELECT * FROM (${factsOf}) AS found ORDER BY "isWaiting", pid`,
  );
  return rows.map((holder) => ({...holder, pid: holder.pid ?? 0}));
}

/** A session that keeps Fieldmirror from its work. */
export interface HeldUp extends LockHolder {
  /**
   * Since when sessions of Fieldmirror have been waiting for it: ISO 8601; null where none waits at
   * the moment.
   */
  readonly waitedSince: string | null;
}

/** Milliseconds after which a session counts as one that holds Fieldmirror up. */
const heldUpAfter = {
  /** Sessions of Fieldmirror have been waiting for it. */
  waitMs: 10_000,
  /** It has locked a whole table. */
  tableMs: 60_000,
  /** Rows that it has written, or locked, are of an open transaction. */
  rowsMs: 300_000,
};

/**
 * The sessions of others that hold Fieldmirror up: those that it waits for, and those that have
 * locked tables or rows of it for long, whether it has met them yet or not. Where the beginning of
 * a transaction cannot be seen, a lock on a whole table counts at once, and one on rows when
 * Fieldmirror waits for it.
 */
export async function listHeldUp(db: Db, after = heldUpAfter): Promise<HeldUp[]> {
  const {rows} = await db.query<HeldUp>(
    `WITH RECURSIVE here AS (SELECT oid FROM pg_database WHERE datname = current_database()), waiter AS (
       SELECT session.pid, min(waitstart) AS since
         FROM pg_stat_activity AS session JOIN pg_locks AS lock ON lock.pid = session.pid AND NOT granted
        WHERE datid = (SELECT oid FROM here) AND application_name LIKE 'fieldmirror%'
        GROUP BY session.pid HAVING min(waitstart) < now() - $1 * interval '1 millisecond'),
     met (pid, since) AS (
       SELECT unnest(pg_blocking_pids(pid)), since FROM waiter
        UNION SELECT unnest(pg_blocking_pids(pid)), since FROM met),
     kept AS (
       SELECT lock.pid, bool_or(mode NOT IN ('RowShareLock', 'RowExclusiveLock')) AS "isWhole"
         FROM pg_locks AS lock JOIN pg_class AS class ON class.oid = relation
        WHERE database = (SELECT oid FROM here) AND relkind IN ('r', 'p', 'm')
          AND mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
          AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('warehouse', 'history', 'mart', 'sync'))
        GROUP BY lock.pid),
     holder AS (
       SELECT pid FROM met
        UNION
       SELECT kept.pid FROM kept LEFT JOIN pg_stat_activity AS session USING (pid)
        WHERE "isWhole" AND coalesce(xact_start < now() - $2 * interval '1 millisecond', true)
           OR xact_start < now() - $3 * interval '1 millisecond')
     SELECT found.*, (SELECT to_char(min(since) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM met WHERE met.pid = found.pid) AS "waitedSince"
       FROM (${factsOf}) AS found
      WHERE application NOT LIKE 'fieldmirror%' AND found.pid IS DISTINCT FROM pg_backend_pid()
      ORDER BY "isWaiting", found.pid`,
    [after.waitMs, after.tableMs, after.rowsMs],
  );
  // Of those that wait for each other, the first one is in the way.
  const isFree = rows.some(({isWaiting}) => !isWaiting);
  return rows
    .filter(({isWaiting}) => !isFree || !isWaiting)
    .map((row) => ({...row, pid: row.pid ?? 0}));
}

/** The process of Postgres behind a session of our own. */
export async function readProcessId(client: Db): Promise<number> {
  const {rows} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

const namedTables = 3;

/**
 * A session in words:
 * `erp (DBeaver, pid 4711), in a transaction since 2031-01-04T14:00:00Z, which has locked warehouse.customers`.
 */
export function nameHolder({
  login,
  application,
  pid,
  since,
  isHidden,
  holds,
  isWaiting,
}: LockHolder): string {
  if (pid === 0) return 'a prepared transaction (SELECT * FROM pg_prepared_xacts)';
  const program = application === '' ? '' : `${application}, `;
  const begun = since === null ? '' : `, in a transaction since ${since}`;
  const hidden = isHidden ? ', since when only a member of pg_read_all_stats sees' : '';
  const more = holds.length > namedTables ? ` and ${holds.length - namedTables} more` : '';
  const tables = `${holds.slice(0, namedTables).join(', ')}${more}`;
  const does = isWaiting ? 'waits itself, for a lock on' : 'has locked';
  const locked = holds.length === 0 ? '' : `, which ${does} ${tables}`;
  return `${login ?? 'a session'} (${program}pid ${pid})${begun}${hidden}${locked}`;
}

/** The next step of whoever waits for some sessions. */
export function endHolders([first]: readonly LockHolder[]): string {
  if (first === undefined) return 'fieldmirror status names who has locked a table';
  if (first.pid === 0) return 'it goes on after COMMIT PREPARED or ROLLBACK PREPARED with its gid';
  const whose = first.login === null ? '' : `, as ${first.login} or a member of pg_signal_backend`;
  return `it goes on when that transaction ends, or after SELECT pg_terminate_backend(${first.pid})${whose}`;
}

const noted = new WeakMap<Error, readonly LockHolder[]>();

/** Notes for whom the statement waited that failed with an error. */
export function noteHolders(error: Error, holders: readonly LockHolder[]): void {
  noted.set(error, holders);
}

/** What `noteHolders` has noted of an error; empty where nothing is known. */
export function holdersOf(error: Error): readonly LockHolder[] {
  return noted.get(error) ?? [];
}

/** lock_not_available: somebody else had a lock for longer than the statement waits. */
export function isLockTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && cause.code === '55P03') return true;
  return false;
}

/**
 * Waits for a piece of work, and tells every few seconds which sessions hold it up.
 * @param db - other sessions than those that work
 * @param pids - the processes of Postgres that do the work
 * @param what - the work: `migrations`
 */
export async function tellWaits<T>(
  db: Db,
  {
    pids,
    what,
    words,
  }: {readonly pids: readonly number[]; readonly what: string; readonly words: WaitWords},
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
  db: Db,
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
      `${what}: waiting for ${holders.map(nameHolder).join(' and ')}, for ${seconds} s; ${endHolders(holders)}`,
    );
  }
}
