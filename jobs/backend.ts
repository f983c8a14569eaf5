// Where the bell hangs: Redis when its address is given, else the warehouse's Postgres. Everything else in this folder
// is the same for both. A backend is reached once before BullMQ sees it: a queue built while Postgres is down stays dead
// without a word, and one built while Redis is down waits for ever.

import {
  createPostgresBackend,
  type Processor,
  Queue,
  type QueueOptions,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type {Logger} from '../src/log.ts';
import {Outage} from './outage.ts';
import {migrateQueue, schema} from './queue-schema.ts';
import {inspectRedis, prefix} from './redis.ts';

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
  /** Tells an operator when it goes and when it is back; whoever works with it says how that went. */
  readonly outage: Outage;
  makeQueue(name: string): BellQueue;
  makeWorker(name: string, processor: Processor, options: {readonly concurrency: number}): BellWorker;
}

const connectTimeoutMs = 5_000;

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
  const outage = new Outage(log);
  // Producers fail at once while Redis is away, the keeper rings again; a worker waits for its return.
  const producing: QueueOptions = {
    connection: {url, enableOfflineQueue: false, maxRetriesPerRequest: 1},
    prefix,
    streams: {events: {maxLen: 1_000}},
  };
  const working: Omit<WorkerOptions, 'concurrency'> = {connection: {url, maxRetriesPerRequest: null}, prefix};
  return {
    kind: 'redis',
    outage,
    makeQueue: (name) => listen(new Queue(name, producing), outage),
    makeWorker: (name, processor, options) =>
      listen(new Worker(name, processor, {...working, ...workerOptions, ...options}), outage),
  };
}

async function openPostgres(connectionString: string, log: Logger): Promise<QueueBackend> {
  await migrateQueue(connectionString);
  const outage = new Outage(log);
  const connection = {
    connectionString,
    schema,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    max: 4,
  };
  return {
    kind: 'postgres',
    outage,
    makeQueue: (name) => listen(new Queue(name, {connection}, createPostgresBackend), outage),
    makeWorker: (name, processor, options) =>
      listen(
        new Worker(name, processor, {connection, ...workerOptions, ...options}, createPostgresBackend),
        outage,
      ),
  };
}

/** A long lock and many stalls allowed: what may not happen twice is guarded by the row's fence, not by the queue. */
const workerOptions = {lockDuration: 60_000, maxStalledCount: 1_000, stalledInterval: 15_000, drainDelay: 5};

/** BullMQ reports lost connections as events, each connection for itself; without a listener they would end the process. */
function listen<T extends {on(event: 'error', listener: (error: Error) => void): unknown}>(
  bell: T,
  outage: Outage,
): T {
  bell.on('error', (error) => outage.failed(error.message));
  return bell;
}
