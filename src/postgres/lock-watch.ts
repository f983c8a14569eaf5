// Every statement of a pool that waits for a lock of somebody else: after a few seconds it is told
// who that is, and the error of one that gave up names them. Who holds a lock is asked on a
// connection of its own: those of the pool may all be waiting.

import pg from 'pg';
import {
  endHolders,
  type LockHolder,
  listHolders,
  listTableHolders,
  nameHolder,
  noteHolders,
} from './lock-waits.ts';

interface WatchOptions {
  readonly url: string;
  readonly lockTimeoutMs: number;
  /**
   * A pooler in between tells processes that it made up: who holds a lock is then asked of the
   * locked tables alone.
   */
  readonly sharesSessions: boolean;
  /** Is told one line for each holder, now and then. */
  readonly onWait?: ((line: string) => void) | undefined;
}

/** A statement that has not ended. */
interface Running {
  readonly pid: number;
  readonly begunAt: number;
  timer: NodeJS.Timeout | undefined;
  holders: readonly LockHolder[];
}

const patienceMs = 3_000;
const tellAgainMs = 30_000;
const lookTimeoutMs = 2_000;
/** A statement that gave up sooner did not mean to wait. */
const briefMs = 200;

/** lock_not_available, and query_canceled by a time limit */
const givenUp: readonly unknown[] = ['55P03', '57014'];

/**
 * Watches every statement that is asked of a pool and its connections. A COPY is watched by nobody:
 * its stream tells its errors.
 */
export function watchLocks(pool: pg.Pool, options: WatchOptions): void {
  const watch = new LockWatch(options);
  pool.on('connect', (client) => watch.add(client));
}

class LockWatch {
  readonly #options: WatchOptions;
  readonly #patienceMs: number;
  readonly #waiting = new Set<Running>();
  /** The process of a holder, and when it was told last. */
  readonly #told = new Map<number, number>();
  #look: Promise<void> | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    const {lockTimeoutMs} = options;
    this.#patienceMs = lockTimeoutMs === 0 ? patienceMs : Math.min(patienceMs, lockTimeoutMs / 2);
  }

  add(client: pg.PoolClient): void {
    const ask = client.query.bind(client) as (...given: unknown[]) => unknown;
    const pid = this.#options.sharesSessions ? 0 : processIdOf(client);
    const query = (...given: unknown[]): unknown => {
      const running = this.#begin(pid);
      const done = given.at(-1);
      if (typeof done === 'function') {
        return ask(...given.slice(0, -1), (error: unknown, result: unknown) => {
          if (!this.#hasGivenUp(running, error)) done(error, result);
          else void this.#noteHolders(running, error).then(() => done(error, result));
        });
      }
      const asked = ask(...given);
      if (!(asked instanceof Promise)) {
        this.#hasGivenUp(running, null);
        return asked;
      }
      return asked.then(
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
    Object.defineProperty(client, 'query', {value: query});
  }

  #begin(pid: number): Running {
    const running: Running = {pid, begunAt: performance.now(), holders: [], timer: undefined};
    this.#lookLater(running);
    return running;
  }

  #lookLater(running: Running): void {
    running.timer = setTimeout(() => void this.#watch(running), this.#patienceMs).unref();
  }

  /** Asks again and again for whom a statement waits, until it has ended. */
  async #watch(running: Running): Promise<void> {
    this.#waiting.add(running);
    this.#look ??= this.#lookAtAll().finally(() => {
      this.#look = null;
    });
    await this.#look;
    if (this.#waiting.has(running)) this.#lookLater(running);
  }

  async #lookAtAll(): Promise<void> {
    if (this.#options.sharesSessions) return;
    await this.#ask(async (client) => {
      for (const running of this.#waiting) {
        const holders = await listHolders(client, [running.pid]);
        if (!this.#waiting.has(running)) continue;
        running.holders = holders;
        this.#tell(running);
      }
    });
  }

  #tell({holders, begunAt}: Running): void {
    const {onWait} = this.#options;
    const [first] = holders;
    const now = performance.now();
    if (onWait === undefined || first === undefined) return;
    if (now - (this.#told.get(first.pid) ?? -Infinity) < tellAgainMs) return;
    this.#told.set(first.pid, now);
    const seconds = Math.round((now - begunAt) / 1000);
    onWait(
      `a statement has been waiting for ${seconds} s for ${holders.map(nameHolder).join(' and ')}; ${endHolders(holders)}`,
    );
  }

  /** Ends the watch over a statement. @returns whether it failed because it waited for too long */
  #hasGivenUp(running: Running, error: unknown): error is pg.DatabaseError {
    clearTimeout(running.timer);
    this.#waiting.delete(running);
    return error instanceof pg.DatabaseError && givenUp.includes(error.code);
  }

  async #noteHolders({holders, begunAt}: Running, error: pg.DatabaseError): Promise<void> {
    const isUnknown =
      holders.length === 0 && error.code === '55P03' && performance.now() - begunAt >= briefMs;
    noteHolders(error, isUnknown ? ((await this.#ask(listTableHolders)) ?? []) : holders);
  }

  /** @returns undefined where Postgres cannot be asked: the statement itself says what is wrong */
  async #ask<T>(question: (client: pg.Client) => Promise<T>): Promise<T | undefined> {
    const client = new pg.Client({
      ...{connectionString: this.#options.url, application_name: 'fieldmirror looks for locks'},
      ...{connectionTimeoutMillis: lookTimeoutMs, query_timeout: lookTimeoutMs},
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(
        `BEGIN READ ONLY; SET LOCAL search_path TO pg_catalog, pg_temp; SET LOCAL statement_timeout TO '2s'`,
      );
      return await question(client);
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/** The process of Postgres behind a connection, as Postgres said when it was made. */
function processIdOf(client: pg.ClientBase): number {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
}
