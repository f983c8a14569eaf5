// The queue wakes workers. It is in Redis when an address of Redis is given, else in the
// warehouse's Postgres; all else is the same for both. A backend is reached once before BullMQ sees
// it: a queue built while Postgres is down stays dead without a word, and one built while Redis is
// down waits for ever.

import {
  createPostgresBackend,
  isPgPool,
  type JobProgress,
  type PgPool,
  type PostgresConnectionOptions,
  type PostgresQueueBackend,
  type Processor,
  Queue,
  Worker,
} from 'bullmq';
import pg from 'pg';
import type {Logger} from '../src/core/log.ts';
import {parseRedisAddress} from '../src/core/redis-address.ts';
import {explainDatabaseError} from '../src/postgres/database-errors.ts';
import {migrateQueue, queueSchema, searchPathOf} from './queue-schema.ts';
import {connect, inspectRedis, prefixAt} from './redis.ts';
import type {WakeQueue, WakeWorker} from './wake.ts';

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  /** Logs when the backend goes and when it is back; its users report each failure and success. */
  readonly outage: Outage;
  makeQueue(name: string): WakeQueue;
  makeWorker(
    name: string,
    processor: Processor,
    options: {readonly concurrency: number},
  ): WakeWorker;
}

const connectTimeoutMs = 5_000;

/**
 * @throws {FatalError} the backend cannot be reached or refuses us
 */
export async function openQueueBackend(addresses: {
  readonly redisUrl: string | null;
  /**
   * An address of sessions of our own: the queue listens, and names its tables without their
   * schema.
   */
  readonly databaseUrl: string;
  readonly log: Logger;
}): Promise<QueueBackend> {
  if (addresses.redisUrl !== null) return await openRedis(addresses.redisUrl, addresses.log);
  return await openPostgres(addresses.databaseUrl, addresses.log);
}

async function openRedis(url: string, log: Logger): Promise<QueueBackend> {
  const {problems} = await inspectRedis(url);
  for (const problem of problems) log.warn({event: 'queue.unsafe'}, problem);
  const outage = new Outage(log);
  const address = parseRedisAddress(url);
  const prefix = prefixAt(address);
  return {
    kind: 'redis',
    outage,
    makeQueue: (name) => {
      const {connection, close} = connect(address, 'producer');
      const queue = new Queue(name, {connection, prefix, streams: {events: {maxLen: 1_000}}});
      return endWith(listen(queue, outage), close);
    },
    makeWorker: (name, processor, options) => {
      const {connection, close} = connect(address, 'worker');
      const worker = new Worker(name, processor, {
        connection,
        prefix,
        ...workerOptions,
        ...options,
      });
      return endWith(listen(worker, outage), close);
    },
  };
}

async function openPostgres(connectionString: string, log: Logger): Promise<QueueBackend> {
  await migrateQueue(connectionString, {tell: (line) => log.warn({event: 'queue.waits'}, line)});
  const outage = new Outage(log);
  const explain = (error: Error) => explainDatabaseError(error, connectionString);
  return {
    kind: 'postgres',
    outage,
    makeQueue: (name) => {
      const connection = openQueuePool(connectionString);
      const queue = new Queue(name, {connection}, createPostgresBackend);
      return endWith(listen(queue, outage, explain), () => connection.end());
    },
    makeWorker: (name, processor, options) => {
      const connection = openQueuePool(connectionString);
      const given = {connection, ...workerOptions, ...options};
      const worker = new PostgresWorker(name, processor, given, createPostgresBackend);
      return endWith(listen(worker, outage, explain), () => connection.end());
    },
  };
}

/**
 * Connections for one part of the queue, which keeps one of them to listen. BullMQ takes some out
 * without a listener for errors: a connection that broke just then would end the process.
 */
function openQueuePool(connectionString: string): PgPool {
  const pool = new pg.Pool({
    connectionString,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    max: 5,
    // Not at the start of the connection: a pooler in session mode would refuse it.
    onConnect: async (client) => {
      await client.query(`SELECT set_config('search_path', '${searchPathOf(queueSchema)}', false)`);
    },
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  // BullMQ has types of its own for the parts of the driver that it uses.
  const seen: unknown = pool;
  if (!isPgPool(seen)) throw new TypeError('the queue: expected the driver that BullMQ knows');
  return seen;
}

/** BullMQ leaves a connection that it was given to its owner. */
function endWith<T extends WakeWorker>(part: T, end: () => Promise<void> | void): T {
  const close = part.close.bind(part);
  return Object.assign(part, {
    close: async (force?: boolean) => {
      await close(force);
      await end();
    },
  });
}

/**
 * A long lock and many stalls allowed: the row's fence, not the queue, guards against doing work
 * twice. A worker whose connection was closed, as by a failover, looks again after a second.
 */
const workerOptions = {
  lockDuration: 60_000,
  maxStalledCount: 1_000,
  stalledInterval: 15_000,
  drainDelay: 5,
  runRetryDelay: 1_000,
};

/**
 * After a wait that broke, BullMQ on Postgres would wait for a notice for up to an hour. A session
 * that breaks just when it begins to listen is taken for one that listens, and no notice comes.
 */
class PostgresWorker extends Worker<
  unknown,
  unknown,
  string,
  PostgresQueueBackend,
  JobProgress,
  PostgresConnectionOptions
> {
  override get maximumBlockTimeout(): number {
    return workerOptions.drainDelay;
  }
}

/**
 * BullMQ reports each lost connection as an event; without a listener the event would end the
 * process.
 */
function listen<T extends {on(event: 'error', listener: (error: Error) => void): unknown}>(
  part: T,
  outage: Outage,
  explain = (error: Error) => error,
): T {
  part.on('error', (error) => outage.failed(explain(error).message));
  return part;
}

// When the queue or the warehouse goes away, half a dozen connections notice, again and again. An
// operator is told once when it goes and once when it is back, and between the two of each further
// reason for which a whole round of work failed: a connection that was cut says nothing of the
// read-only warehouse that the next one finds.

/**
 * The time without a failure before all is called well again: connections come back one after the
 * other.
 */
const quietMs = 10_000;

/** Remembers since when calls fail. */
export class Outage {
  readonly #log: Logger;
  readonly #now: () => number;
  /** Null: all is well. */
  #failing: {
    readonly since: number;
    lastAt: number;
    wellAgainAt: number | null;
    /** Reasons that were told, without their numbers. */
    readonly told: Set<string>;
  } | null = null;

  /** @param now - milliseconds of a clock that is never set */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** From the first failure until all has been well for a while. */
  get isUnderWay(): boolean {
    return this.#failing !== null;
  }

  /** One call failed, of many on many connections. */
  failed(reason: string): void {
    const now = this.#now();
    if (this.#failing !== null) {
      this.#failing.lastAt = now;
      this.#failing.wellAgainAt = null;
      return;
    }
    this.#failing = {
      since: now,
      lastAt: now,
      wellAgainAt: null,
      told: new Set([withoutNumbers(reason)]),
    };
    this.#log.warn(
      {event: 'outage.began', reason},
      'the queue or the warehouse is out of reach; nothing is lost, trying again',
    );
  }

  /** A whole round of work failed. */
  roundFailed(reason: string): void {
    this.failed(reason);
    const told = this.#failing?.told;
    if (told === undefined || told.has(withoutNumbers(reason))) return;
    told.add(withoutNumbers(reason));
    this.#log.warn(
      {event: 'outage.lasts', reason},
      'the queue or the warehouse is still out of reach',
    );
  }

  succeeded(): void {
    const failing = this.#failing;
    if (failing === null) return;
    const now = this.#now();
    failing.wellAgainAt ??= now;
    if (now - failing.lastAt < quietMs) return;
    const durationMs = Math.round(failing.wellAgainAt - failing.since);
    this.#failing = null;
    this.#log.warn(
      {event: 'outage.ended', durationMs},
      'the queue and the warehouse are within reach again; work continues',
    );
  }
}

/** Ports and times differ from one failure to the next, and are no news. */
function withoutNumbers(reason: string): string {
  return reason.replaceAll(/\d+/g, '0');
}
