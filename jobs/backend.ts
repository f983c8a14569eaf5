// Where the bell hangs: Redis when its address is given, else the warehouse's Postgres. Everything else in this folder
// is the same for both. A backend is reached once before BullMQ sees it: a queue built while Postgres is down stays dead
// without a word, and one built while Redis is down waits for ever.

import {
  createPostgresBackend,
  type Processor,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import {Redis} from 'ioredis';
import pg from 'pg';
import {FatalError} from '../src/errors.ts';
import type {Logger} from '../src/log.ts';

/** The part of BullMQ's queue that we use, whatever is behind it. */
export type BellQueue = Pick<
  Queue,
  | 'addBulk'
  | 'upsertJobScheduler'
  | 'removeJobScheduler'
  | 'getJobSchedulers'
  | 'getJobSchedulersCount'
  | 'waitUntilReady'
  | 'close'
>;
export interface BellWorker {
  waitUntilReady(): Promise<unknown>;
  close(force?: boolean): Promise<void>;
}

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  makeQueue(name: string): BellQueue;
  makeWorker(name: string, processor: Processor, options: {readonly concurrency: number}): BellWorker;
}

const schema = 'bullmq';
const connectTimeoutMs = 5_000;
/** Redis only: the keys of one Redis may belong to several installations. */
const prefix = 'fieldmirror';

/**
 * @throws {FatalError} the backend cannot be reached or refuses us
 */
export async function openQueueBackend(addresses: {
  readonly redisUrl: string | null;
  readonly databaseUrl: string;
  readonly log: Logger;
}): Promise<QueueBackend> {
  if (addresses.redisUrl !== null) return await openRedis(addresses.redisUrl, addresses.log);
  return await openPostgres(addresses.databaseUrl, addresses.log);
}

async function openRedis(url: string, log: Logger): Promise<QueueBackend> {
  const {problems} = await inspectRedis(url);
  for (const problem of problems) log.warn(problem);
  // Producers fail at once while Redis is away, the keeper rings again; a worker waits for its return.
  const producing: QueueOptions = {
    connection: {url, enableOfflineQueue: false, maxRetriesPerRequest: 1},
    prefix,
    streams: {events: {maxLen: 1_000}},
  };
  const working: Omit<WorkerOptions, 'concurrency'> = {connection: {url, maxRetriesPerRequest: null}, prefix};
  return {
    kind: 'redis',
    makeQueue: (name) => listen(new Queue(name, producing), log),
    makeWorker: (name, processor, options) =>
      listen(new Worker(name, processor, {...working, ...workerOptions, ...options}), log),
  };
}

async function openPostgres(connectionString: string, log: Logger): Promise<QueueBackend> {
  await migrateQueue(connectionString);
  const connection = {
    connectionString,
    schema,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    max: 4,
  };
  return {
    kind: 'postgres',
    makeQueue: (name) => listen(new Queue(name, {connection}, createPostgresBackend), log),
    makeWorker: (name, processor, options) =>
      listen(
        new Worker(name, processor, {connection, ...workerOptions, ...options}, createPostgresBackend),
        log,
      ),
  };
}

/** A long lock and many stalls allowed: what may not happen twice is guarded by the row's fence, not by the queue. */
const workerOptions = {lockDuration: 60_000, maxStalledCount: 1_000, stalledInterval: 15_000, drainDelay: 5};

/** Makes the tables of the queue. A dedicated session: its lock and its transaction must share one. */
async function migrateQueue(connectionString: string): Promise<void> {
  const client = new pg.Client({connectionString, connectionTimeoutMillis: connectTimeoutMs});
  client.on('error', () => {});
  await client.connect();
  try {
    await runMigrations(client, schema);
  } finally {
    await client.end();
  }
}

/** BullMQ reports lost connections as events; without a listener they would end the process. */
function listen<T extends {on(event: 'error', listener: (error: Error) => void): unknown}>(
  bell: T,
  log: Logger,
): T {
  bell.on('error', (error) =>
    log.warn({reason: error.message}, 'the queue had an error; rows decide, ringing goes on'),
  );
  return bell;
}

/**
 * Asks a Redis for what loses queue jobs: no append-only file, or an eviction policy.
 * @returns one sentence a problem, each with its mend
 * @throws {FatalError} it cannot be reached or refuses us
 */
export async function inspectRedis(url: string): Promise<{problems: string[]}> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  const place = new URL(url).host;
  try {
    await redis.connect();
    await redis.ping();
    return {problems: await findRisks(redis, place)};
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FatalError(
      `redis ${place}: expected an answer, got "${reason}"; start it, mend REDIS_URL, or unset REDIS_URL to keep the queue in Postgres`,
      {cause},
    );
  } finally {
    redis.disconnect();
  }
}

async function findRisks(redis: Redis, place: string): Promise<string[]> {
  const [appendonly, policy] = await Promise.all([
    readSetting(redis, 'appendonly'),
    readSetting(redis, 'maxmemory-policy'),
  ]);
  const problems: string[] = [];
  if (appendonly === 'no') {
    problems.push(
      `redis ${place}: it has no append-only file, so a crash forgets what was rung; nothing is lost, but work is late: CONFIG SET appendonly yes, and CONFIG REWRITE`,
    );
  }
  if (policy !== null && policy !== 'noeviction') {
    problems.push(
      `redis ${place}: maxmemory-policy is ${policy}, so locks can vanish: CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE`,
    );
  }
  return problems;
}

/** Null where the server does not let us ask: managed services refuse CONFIG. */
async function readSetting(redis: Redis, name: string): Promise<string | null> {
  try {
    const answer = await redis.config('GET', name);
    if (Array.isArray(answer)) return String(answer[1] ?? '');
    return typeof answer === 'object' && answer !== null ? String(Object.values(answer)[0] ?? '') : null;
  } catch {
    return null;
  }
}
