// Reports which sessions a statement waits for. After a few seconds of waiting for a lock, a line
// names them, because a silent wait looks like a program that hangs. If the statement gives up, its
// error names them too.

import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';

type Db = pg.Pool | pg.ClientBase;

/**
 * A session that another session waits for. Postgres shows its login, application and process id to
 * everyone. The rest it shows only to members of its login or of pg_read_all_stats.
 */
export interface LockHolder {
  readonly login: string | null;
  readonly application: string;
  /** 0 for a prepared transaction, which has no session. */
  readonly pid: number;
  /** When its transaction began, in ISO 8601; null if it has none, or this login may not see it. */
  readonly since: string | null;
  /** Whether this login may not see the session's state and when its transaction began. */
  readonly isHidden: boolean;
  /** Tables of Fieldmirror that the session has locked for more than reading, or waits to lock. */
  readonly holds: readonly string[];
  /** Whether the session waits for a lock itself. */
  readonly isWaiting: boolean;
}

/** How waits are reported. */
export interface WaitOptions {
  /** Called with one line each time. */
  readonly report: (line: string) => void;
  /** Milliseconds until the first line, and between two lines. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 5_000;

const thisDatabase = '(SELECT oid FROM pg_database WHERE datname = current_database())';

/** A lock of `pg_locks AS lock` on a table of Fieldmirror, `pg_class AS class`. */
const isOnTable = `
  lock.database = ${thisDatabase} AND class.relkind IN ('r', 'p', 'm')
  AND class.relnamespace IN (SELECT oid FROM pg_namespace
                              WHERE nspname IN ('warehouse', 'history', 'mart', 'sync'))`;

const selectIso = (moment: string) =>
  `to_char(${moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Facts of the sessions in `holder`, a list of processes. */
const factsOf = `
  SELECT DISTINCT holder.pid, usename AS login, coalesce(application_name, '') AS application,
         ${selectIso('xact_start')} AS since,
         session.pid IS NOT NULL AND state IS NULL AS "isHidden",
         cardinality(pg_blocking_pids(holder.pid)) > 0 AS "isWaiting",
         ARRAY(SELECT nspname || '.' || relname
                 FROM pg_locks AS lock JOIN pg_class AS class ON class.oid = lock.relation
                 JOIN pg_namespace AS place ON place.oid = class.relnamespace
                WHERE lock.pid = holder.pid AND lock.mode <> 'AccessShareLock' AND ${isOnTable}
                GROUP BY nspname, relname ORDER BY nspname <> 'warehouse', nspname, relname)
                  AS holds
    FROM holder LEFT JOIN pg_stat_activity AS session ON session.pid = holder.pid`;

/**
 * The sessions that some processes wait for, and the sessions that those wait for in turn. Sessions
 * that wait for none come first. The list is empty if none of the processes waits.
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
 * from writing it, or from reading it as well.
 */
async function listTableHolders(db: Db): Promise<LockHolder[]> {
  const {rows} = await db.query<LockHolder>(
    `WITH holder AS (
       SELECT pid FROM pg_locks AS lock JOIN pg_class AS class ON class.oid = relation
        WHERE locktype = 'relation' AND ${isOnTable}
          AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
          AND pid IS DISTINCT FROM pg_backend_pid())
     SELECT * FROM (${factsOf}) AS found ORDER BY "isWaiting", pid`,
  );
  return rows.map((holder) => ({...holder, pid: holder.pid ?? 0}));
}

/** A session that keeps Fieldmirror from its work. */
export interface BlockingSession extends LockHolder {
  /**
   * Since when sessions of Fieldmirror have been waiting for it, in ISO 8601; null if none waits at
   * the moment.
   */
  readonly waitedSince: string | null;
}

/** Milliseconds after which a session counts as one that holds Fieldmirror up. */
const heldUpThresholds = {
  /** Sessions of Fieldmirror have been waiting for it. */
  waitMs: 10_000,
  /** It has locked a whole table. */
  tableMs: 60_000,
  /** It has written or locked rows in a transaction that is still open. */
  rowsMs: 300_000,
};

/**
 * Condition for a session of Fieldmirror, `pg_stat_activity AS session`. It checks the application
 * name, which any login can choose, and a right that few logins have.
 */
export const isOurs = `(
  session.application_name LIKE 'fieldmirror%' AND coalesce(has_function_privilege(
    session.usesysid, to_regprocedure('sync.write_as_worker()'), 'EXECUTE'), true))`;

/**
 * The sessions of others that hold Fieldmirror up: those that it waits for, and those that have
 * locked its tables or rows for long. The latter count even if Fieldmirror does not wait for them
 * yet. If the start of a transaction is not visible, a lock on a whole table counts at once. A lock
 * on rows then counts only when Fieldmirror waits for it.
 */
export async function listBlockingSessions(
  db: Db,
  thresholds = heldUpThresholds,
): Promise<BlockingSession[]> {
  const {rows} = await db.query<BlockingSession>(
    `WITH RECURSIVE waiter AS (
       SELECT session.pid, min(waitstart) AS since
         FROM pg_stat_activity AS session
         JOIN pg_locks AS lock ON lock.pid = session.pid AND NOT granted
        WHERE datid = ${thisDatabase} AND ${isOurs}
        GROUP BY session.pid HAVING min(waitstart) < now() - $1 * interval '1 millisecond'),
     met (pid, since) AS (
       SELECT unnest(pg_blocking_pids(pid)), since FROM waiter
        UNION SELECT unnest(pg_blocking_pids(pid)), since FROM met),
     kept AS (
       SELECT lock.pid, bool_or(mode NOT IN ('RowShareLock', 'RowExclusiveLock')) AS "isWhole"
         FROM pg_locks AS lock JOIN pg_class AS class ON class.oid = relation
        WHERE mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock') AND ${isOnTable}
        GROUP BY lock.pid),
     found AS (
       SELECT pid FROM met
        UNION
       SELECT kept.pid FROM kept LEFT JOIN pg_stat_activity AS session USING (pid)
        WHERE "isWhole" AND coalesce(xact_start < now() - $2 * interval '1 millisecond', true)
           OR xact_start < now() - $3 * interval '1 millisecond'),
     holder AS (
       SELECT pid FROM found
        WHERE pid IS DISTINCT FROM pg_backend_pid() AND NOT EXISTS (
                SELECT FROM pg_stat_activity AS session WHERE session.pid = found.pid
                AND ${isOurs}))
     SELECT facts.*, (SELECT ${selectIso('min(since)')} FROM met WHERE met.pid = facts.pid)
       AS "waitedSince"
       FROM (${factsOf}) AS facts
      ORDER BY "isWaiting", facts.pid`,
    [thresholds.waitMs, thresholds.tableMs, thresholds.rowsMs],
  );
  // If some of the sessions do not wait themselves, they are the cause, and the waiting ones are
  // left out.
  const hasNonWaiting = rows.some(({isWaiting}) => !isWaiting);
  return rows
    .filter(({isWaiting}) => !hasNonWaiting || !isWaiting)
    .map((row) => ({...row, pid: row.pid ?? 0}));
}

/** The id of the Postgres process behind our session. */
export async function readProcessId(client: Db): Promise<number> {
  const {rows} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

const namedTables = 3;

/**
 * A session in words: `erp (DBeaver, pid 4711), in a transaction since 2031-01-04T14:00:00Z, which
 * has locked warehouse.customers`.
 */
export function formatHolderName({
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
  const begunText = since === null ? '' : `, in a transaction since ${since}`;
  const hiddenText = isHidden ? ', since when only a member of pg_read_all_stats sees' : '';
  const moreTables = holds.length > namedTables ? ` and ${holds.length - namedTables} more` : '';
  const tables = `${holds.slice(0, namedTables).join(', ')}${moreTables}`;
  const verb = isWaiting ? 'waits itself, for a lock on' : 'has locked';
  const lockedText = holds.length === 0 ? '' : `, which ${verb} ${tables}`;
  return `${login ?? 'a session'} (${program}pid ${pid})${begunText}${hiddenText}${lockedText}`;
}

/** Several sessions in words. */
export function listHolderNames(holders: readonly LockHolder[]): string {
  return holders.map(formatHolderName).join(' and ');
}

const secondsSince = (begunAt: number) => Math.round((performance.now() - begunAt) / 1000);

/** The next step for a person whose work waits for some sessions. */
export function adviseOnHolders([firstHolder]: readonly LockHolder[]): string {
  if (firstHolder === undefined) return 'fieldmirror status names who has locked a table';
  if (firstHolder.pid === 0)
    return 'it continues after COMMIT PREPARED or ROLLBACK PREPARED with its gid';
  const requiredLogin =
    firstHolder.login === null ? '' : `, as ${firstHolder.login} or a member of pg_signal_backend`;
  return (
    'it continues when that transaction ends, or after SELECT ' +
    `pg_terminate_backend(${firstHolder.pid})${requiredLogin}`
  );
}

const holdersByError = new WeakMap<Error, readonly LockHolder[]>();

/** Notes which sessions a failed statement waited for, by its error. */
function noteHolders(error: Error, holders: readonly LockHolder[]): void {
  holdersByError.set(error, holders);
}

/** The sessions that `noteHolders` has noted for an error; empty if none are known. */
export function holdersOf(error: Error): readonly LockHolder[] {
  return holdersByError.get(error) ?? [];
}

/**
 * Whether an error is lock_not_available: another session held a lock for longer than the statement
 * waits.
 */
export function isLockTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && cause.code === '55P03') return true;
  return false;
}

/**
 * Runs a piece of work, and reports every few seconds which sessions hold it up.
 * @param db - gives sessions other than those that do the work
 * @param pids - ids of the Postgres processes that do the work
 * @param what - the name of the work: `migrations`
 */
export async function reportWaits<T>(
  db: Db,
  {
    pids,
    what,
    waitOptions,
  }: {readonly pids: readonly number[]; readonly what: string; readonly waitOptions: WaitOptions},
  work: () => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const watching = watchWaits(db, {pids, what, waitOptions, signal: ending.signal});
  try {
    return await work();
  } finally {
    ending.abort();
    await watching;
  }
}

async function watchWaits(
  db: Db,
  options: {
    readonly pids: readonly number[];
    readonly what: string;
    readonly waitOptions: WaitOptions;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const {pids, what, waitOptions, signal} = options;
  const begunAt = performance.now();
  for (;;) {
    await wait(waitOptions.patienceMs ?? defaultPatienceMs, undefined, {signal}).catch(() => {});
    if (signal.aborted) return;
    // If the query fails, nothing is reported: the error of the work itself shows the problem.
    const holders = await listHolders(db, pids).catch(() => []);
    if (holders.length === 0 || signal.aborted) continue;
    waitOptions.report(
      `${what}: waiting for ${listHolderNames(holders)}, ` +
        `for ${secondsSince(begunAt)} s; ${adviseOnHolders(holders)}`,
    );
  }
}

interface WatchOptions {
  readonly url: string;
  readonly lockTimeoutMs: number;
  /**
   * A pooler in between reports made-up process ids. Lock holders are then found only by the tables
   * that they have locked.
   */
  readonly sharesSessions: boolean;
  /** Called with one line for each holder, at most every 30 seconds. */
  readonly onWait?: ((line: string) => void) | undefined;
}

/** A statement that has not ended. */
interface RunningStatement {
  readonly pid: number;
  readonly begunAt: number;
  timer: NodeJS.Timeout | undefined;
  holders: readonly LockHolder[];
}

const patienceMs = 3_000;
const reportAgainMs = 30_000;
const checkTimeoutMs = 2_000;
/** A statement that gave up sooner was not meant to wait. */
const briefWaitMs = 200;

/** lock_not_available, and query_canceled by a time limit */
const giveUpCodes: readonly unknown[] = ['55P03', '57014'];

/**
 * Watches every statement that a pool and its connections send. Lock holders are queried on a
 * separate connection, because all connections of the pool may be waiting. A COPY is not watched:
 * its stream reports its errors.
 */
export function watchLocks(pool: pg.Pool, options: WatchOptions): void {
  const watch = new LockWatch(options);
  pool.on('connect', (client) => watch.add(client));
}

class LockWatch {
  readonly #options: WatchOptions;
  readonly #patienceMs: number;
  readonly #waiting = new Set<RunningStatement>();
  /** The process id of a holder, and when that holder was last reported. */
  readonly #reported = new Map<number, number>();
  #check: Promise<void> | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    const {lockTimeoutMs} = options;
    this.#patienceMs = lockTimeoutMs === 0 ? patienceMs : Math.min(patienceMs, lockTimeoutMs / 2);
  }

  add(client: pg.PoolClient): void {
    const sendQuery = client.query.bind(client) as (...queryArguments: unknown[]) => unknown;
    const pid = this.#options.sharesSessions ? 0 : processIdOf(client);
    const query = (...queryArguments: unknown[]): unknown => {
      const running = this.#begin(pid);
      const callback = queryArguments.at(-1);
      if (typeof callback === 'function') {
        return sendQuery(...queryArguments.slice(0, -1), (error: unknown, result: unknown) => {
          if (!this.#hasGivenUp(running, error)) callback(error, result);
          else void this.#noteHolders(running, error).then(() => callback(error, result));
        });
      }
      const response = sendQuery(...queryArguments);
      if (!(response instanceof Promise)) {
        this.#hasGivenUp(running, null);
        return response;
      }
      return response.then(
        (result: unknown) => {
          this.#hasGivenUp(running, null);
          return result;
        },
        async (error: unknown) => {
          if (this.#hasGivenUp(running, error)) await this.#noteHolders(running, error);
          throw error;
        },
      );
    };
    Object.defineProperty(client, 'query', {value: query, writable: true, configurable: true});
  }

  #begin(pid: number): RunningStatement {
    const running: RunningStatement = {
      pid,
      begunAt: performance.now(),
      holders: [],
      timer: undefined,
    };
    this.#checkLater(running);
    return running;
  }

  #checkLater(running: RunningStatement): void {
    running.timer = setTimeout(() => void this.#watch(running), this.#patienceMs).unref();
  }

  /** Queries repeatedly which sessions a statement waits for, until the statement has ended. */
  async #watch(running: RunningStatement): Promise<void> {
    this.#waiting.add(running);
    this.#check ??= this.#checkAll().finally(() => {
      this.#check = null;
    });
    await this.#check;
    if (this.#waiting.has(running)) this.#checkLater(running);
  }

  async #checkAll(): Promise<void> {
    if (this.#options.sharesSessions) return;
    await this.#query(async (client) => {
      for (const running of this.#waiting) {
        const holders = await listHolders(client, [running.pid]);
        if (!this.#waiting.has(running)) continue;
        running.holders = holders;
        this.#report(running);
      }
    });
  }

  #report({holders, begunAt}: RunningStatement): void {
    const {onWait} = this.#options;
    const [firstHolder] = holders;
    const now = performance.now();
    if (onWait === undefined || firstHolder === undefined) return;
    if (now - (this.#reported.get(firstHolder.pid) ?? -Infinity) < reportAgainMs) return;
    this.#reported.set(firstHolder.pid, now);
    onWait(
      `a statement has been waiting for ${secondsSince(begunAt)} s for ` +
        `${listHolderNames(holders)}; ` +
        adviseOnHolders(holders),
    );
  }

  /** Ends the watch over a statement. @returns whether it failed because it waited for too long */
  #hasGivenUp(running: RunningStatement, error: unknown): error is pg.DatabaseError {
    clearTimeout(running.timer);
    this.#waiting.delete(running);
    return error instanceof pg.DatabaseError && giveUpCodes.includes(error.code);
  }

  async #noteHolders({holders, begunAt}: RunningStatement, error: pg.DatabaseError): Promise<void> {
    const isUnknown =
      holders.length === 0 && error.code === '55P03' && performance.now() - begunAt >= briefWaitMs;
    noteHolders(error, isUnknown ? ((await this.#query(listTableHolders)) ?? []) : holders);
  }

  /** @returns undefined if the query fails: the error of the statement itself shows the problem */
  async #query<T>(query: (client: pg.Client) => Promise<T>): Promise<T | undefined> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'fieldmirror checks for locks',
      connectionTimeoutMillis: checkTimeoutMs,
      query_timeout: checkTimeoutMs,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(
        `BEGIN READ ONLY;
         SET LOCAL search_path TO pg_catalog, pg_temp; SET LOCAL statement_timeout TO '2s'`,
      );
      return await query(client);
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/**
 * The id of the Postgres process behind a connection, as reported when it connected; 0 if none was
 * reported.
 */
export function processIdOf(client: pg.ClientBase): number {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
}

/**
 * Locks those of some rows that no other transaction has locked. If a transaction held one row and
 * waited for another, it could deadlock with one that locks them in another order. Postgres may
 * then end either of the two.
 * @param table - with its schema
 * @param key - its column with the `ids`
 * @returns the ids of the rows that are locked now
 */
export async function lockFree(
  client: pg.ClientBase,
  {table, key, ids}: {readonly table: string; readonly key: string; readonly ids: string[]},
): Promise<ReadonlySet<string>> {
  const {rows} = await client.query<{id: string}>(
    `SELECT ${key} AS id FROM ${table} WHERE ${key} = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED`,
    [ids],
  );
  return new Set(rows.map(({id}) => id));
}
