// The queue wakes workers: for due sweeps, or for due changes of an account. If an address of Redis
// is given, the queue is in Redis. Otherwise it is in the warehouse's Postgres: the owner of the
// warehouse makes its tables, and workers use them. All else is the same for both. A backend is
// contacted once before BullMQ uses it. A queue built while Postgres is down would never work,
// without an error; one built while Redis is down would wait for ever.

import {
  createPostgresBackend,
  isPgPool,
  type JobProgress,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  type PostgresConnectionOptions,
  type PostgresQueueBackend,
  type Processor,
  Queue,
  runMigrations,
  Worker,
} from 'bullmq';
import pg from 'pg';
import {FatalError} from '../src/core/errors.ts';
import type {Logger} from '../src/core/log.ts';
import {FailureReasons} from '../src/core/pauses.ts';
import {parseRedisAddress} from '../src/core/redis-address.ts';
import {liftLimits} from '../src/postgres/database.ts';
import {explainDatabaseError, isDatabaseError} from '../src/postgres/database-errors.ts';
import {readProcessId, reportWaits, type WaitOptions} from '../src/postgres/lock-waits.ts';
import {takeTurn} from '../src/postgres/migrations.ts';
import {connect, inspectRedis, prefixAt} from './redis.ts';

/** The queues, by the reason to wake a worker: a sweep, the changes of an account. */
export const queueNames = {sweeps: 'sweep', pushes: 'push'} as const;

/** The part of BullMQ's queue that Fieldmirror uses, with either backend. */
export type WakeQueue = Pick<Queue, 'addBulk' | 'count' | 'waitUntilReady' | 'close'>;

export interface WakeWorker {
  waitUntilReady(): Promise<unknown>;
  close(force?: boolean): Promise<void>;
}

export const queueSchema = 'bullmq';

const connectTimeoutMs = 5_000;

/**
 * Makes missing or old tables, in the turn of migrations. It uses a dedicated session, because a
 * migration's lock and its transaction must share one.
 * @throws {FatalError} a part is missing, and this login may not make it
 */
export async function migrateQueue(
  connectionString: string,
  waitOptions: WaitOptions = {report: () => {}},
): Promise<void> {
  const pool = new pg.Pool({connectionString, connectionTimeoutMillis: connectTimeoutMs, max: 3});
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  const client = await pool.connect();
  try {
    await client.query(`SELECT ${liftLimits}`);
    // A worker may use the schema, but not make it. Postgres refuses `IF NOT EXISTS` even if the
    // schema exists.
    if (!(await isReady(client))) await makeReady(pool, client, waitOptions);
  } catch (cause) {
    if (!isDatabaseError(cause, '42501')) throw cause;
    throw new FatalError(
      `the queue in Postgres: expected the schema ${queueSchema} in version ` +
        `${LATEST_SCHEMA_VERSION}, which this login may not make; let the owner of the warehouse ` +
        'run `fieldmirror migrate`, without REDIS_URL',
      {cause, kind: 'queue'},
    );
  } finally {
    client.release(true);
    await pool.end();
  }
}

/**
 * Two processes that start at once would grant on the same objects. The turn ends with the session.
 */
async function makeReady(
  pool: pg.Pool,
  client: pg.PoolClient,
  waitOptions: WaitOptions,
): Promise<void> {
  const turn = await pool.connect();
  try {
    const pids = await Promise.all([readProcessId(client), readProcessId(turn)]);
    await reportWaits(pool, {pids, what: 'the tables of the queue', waitOptions}, async () => {
      await takeTurn(turn);
      if (await isReady(client)) return;
      await makeLockFunctions(client, queueSchema);
      await client.query(`SET search_path = ${searchPathOf(queueSchema)}`);
      await runMigrations(client, queueSchema);
      await useLockFunctions(client, queueSchema);
      await makeSequences(client);
      await client.query('SELECT sync.grant_queue()');
    });
  } finally {
    turn.release(true);
  }
}

async function isReady(client: pg.ClientBase): Promise<boolean> {
  try {
    const {rows} = await client.query<{isReady: boolean}>(
      `SELECT (SELECT max(version) FROM ${queueSchema}.migration) >= $1
              AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS queue
                               WHERE to_regclass('${queueSchema}.'
                                 || ${queueSchema}.job_id_seq_name(queue)) IS NULL)
              AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS stands
                WHERE to_regprocedure('${queueSchema}.' || stands) IS NULL)
              AND NOT EXISTS (SELECT FROM pg_proc
                WHERE pronamespace = '${queueSchema}'::regnamespace
                                 AND proconfig @> ARRAY['search_path=${queueSchema}'])
                AS "isReady"`,
      [LATEST_SCHEMA_VERSION, Object.values(queueNames), replacementSignatures],
    );
    return rows[0]?.isReady === true;
  } catch (error) {
    if (isDatabaseError(error, '42P01', '3F000', '42883')) return false;
    throw error;
  }
}

/** BullMQ makes the sequence of a queue with its first job; a worker may not make it. */
async function makeSequences(client: pg.ClientBase): Promise<void> {
  for (const queue of Object.values(queueNames))
    await client.query('SELECT next_job_id($1)', [queue]);
}

// BullMQ's functions take turns by advisory locks. Any login may take those locks, and could stop
// the queue. So functions of the same names in BullMQ's own schema replace them. These lock rows of
// a table that only a worker may lock.

/**
 * The search path of BullMQ's functions: functions of the schema take precedence over those of
 * Postgres.
 */
const searchPathOf = (schema: string) => `${schema}, pg_catalog, pg_temp`;

const signatures = [
  {parameters: 'bigint', key: '$1::text'},
  {parameters: 'integer, integer', key: `$1 || ' ' || $2`},
];

const lockFunctions = [
  {name: 'pg_advisory_xact_lock', mode: 'UPDATE', returns: 'void'},
  {name: 'pg_advisory_xact_lock_shared', mode: 'SHARE', returns: 'void'},
  {name: 'pg_try_advisory_xact_lock', mode: 'UPDATE SKIP LOCKED', returns: 'boolean'},
];

/** The functions that replace those of Postgres, with their parameters. */
const replacementSignatures = lockFunctions.flatMap(({name}) =>
  signatures.map(({parameters}) => `${name}(${parameters})`),
);

/** Makes the table and the functions; BullMQ's own may exist or not. */
async function makeLockFunctions(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE IF NOT EXISTS ${schema}.turn (key text PRIMARY KEY)`);
  for (const {name, mode, returns} of lockFunctions)
    for (const {parameters, key} of signatures)
      await client.query(
        `CREATE OR REPLACE FUNCTION ${schema}.${name}(${parameters}) RETURNS ${returns}
         LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
         BEGIN
           INSERT INTO ${schema}.turn (key) SELECT ${key}
            WHERE NOT EXISTS (SELECT FROM ${schema}.turn WHERE key = ${key}) ON CONFLICT DO NOTHING;
           PERFORM FROM ${schema}.turn WHERE key = ${key} FOR ${mode};
           ${returns === 'boolean' ? 'RETURN FOUND;' : ''}
         END $$`,
      );
}

/** Makes BullMQ's functions use those of `makeLockFunctions`. */
async function useLockFunctions(client: pg.ClientBase, schema: string): Promise<void> {
  const {rows} = await client.query<{name: string}>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
      WHERE pronamespace = $1::regnamespace AND prokind = 'f'
      AND proconfig @> ARRAY['search_path=' || $1]`,
    [schema],
  );
  for (const {name} of rows)
    await client.query(`ALTER FUNCTION ${name} SET search_path = ${searchPathOf(schema)}`);
}

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  /**
   * Logs when the backend becomes unreachable and when it is back; its users report each failure
   * and success.
   */
  readonly outage: Outage;
  makeQueue(name: string): WakeQueue;
  makeWorker(
    name: string,
    processor: Processor,
    options: {readonly concurrency: number},
  ): WakeWorker;
}

/** @throws {FatalError} the backend cannot be reached or refuses access */
export async function openQueueBackend(addresses: {
  readonly redisUrl: string | null;
  /**
   * An address of separate sessions: the queue listens, and names its tables without their schema.
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
      return closeWith(reportErrors(queue, outage), close);
    },
    makeWorker: (name, processor, options) => {
      const {connection, close} = connect(address, 'worker');
      const worker = new Worker(name, processor, {
        connection,
        prefix,
        ...workerOptions,
        ...options,
      });
      return closeWith(reportErrors(worker, outage), close);
    },
  };
}

async function openPostgres(connectionString: string, log: Logger): Promise<QueueBackend> {
  await migrateQueue(connectionString, {
    report: (line) => log.warn({event: 'queue.blocked'}, line),
  });
  const outage = new Outage(log);
  const explain = (error: Error) => explainDatabaseError(error, connectionString);
  const pool = sharePool(connectionString);
  return {
    kind: 'postgres',
    outage,
    makeQueue: (name) => {
      const queue = new Queue(name, {connection: pool.take()}, createPostgresBackend);
      return closeWith(reportErrors(queue, outage, explain), () => pool.giveBack());
    },
    makeWorker: (name, processor, options) => {
      const allOptions = {connection: pool.take(), ...workerOptions, ...options};
      const worker = new PostgresWorker(name, processor, allOptions, createPostgresBackend);
      return closeWith(reportErrors(worker, outage, explain), () => pool.giveBack());
    },
  };
}

/** Each of the two workers keeps one connection to listen; all parts share the others. */
const queueConnections = 6;

/** The connections that all parts of the queue share; they end with the last part. */
function sharePool(connectionString: string) {
  let pool: PgPool | null = null;
  let users = 0;
  return {
    take: (): PgPool => {
      pool ??= openQueuePool(connectionString);
      users++;
      return pool;
    },
    giveBack: async () => {
      users--;
      if (users > 0) return;
      const unusedPool = pool;
      pool = null;
      await unusedPool?.end();
    },
  };
}

/**
 * BullMQ takes connections out without a listener for errors. If one broke at that moment, the
 * error would end the process.
 */
function openQueuePool(connectionString: string): PgPool {
  const pool = new pg.Pool({
    connectionString,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    max: queueConnections,
    // Not a startup option of the connection: a pooler in session mode would refuse it.
    onConnect: async (client) => {
      await client.query(
        `SELECT set_config('search_path', '${searchPathOf(queueSchema)}', false), ${liftLimits}`,
      );
    },
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  // BullMQ has its own types for the parts of the driver that it uses.
  const checkedPool: unknown = pool;
  if (!isPgPool(checkedPool))
    throw new TypeError('the queue: expected the driver that BullMQ knows');
  return checkedPool;
}

/** BullMQ does not close a connection that it was given, so `end` closes it with the part. */
function closeWith<T extends WakeWorker>(part: T, end: () => Promise<void> | void): T {
  const close = part.close.bind(part);
  return Object.assign(part, {
    close: async (force?: boolean) => {
      await close(force);
      await end();
    },
  });
}

/**
 * A long lock and many stalls are allowed: the row's fence, not the queue, prevents that work is
 * done twice. A worker whose connection was closed, as by a failover, tries again after a second.
 */
const workerOptions = {
  lockDuration: 60_000,
  maxStalledCount: 1_000,
  stalledInterval: 15_000,
  drainDelay: 5,
  runRetryDelay: 1_000,
};

/**
 * After a broken wait, BullMQ on Postgres would wait for a notice for up to an hour. If a session
 * breaks just when it begins to listen, BullMQ believes that it listens, and no notice comes.
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
function reportErrors<T extends {on(event: 'error', listener: (error: Error) => void): unknown}>(
  part: T,
  outage: Outage,
  explain = (error: Error) => error,
): T {
  part.on('error', (error) => outage.failed(explain(error).message));
  return part;
}

// When the queue or the warehouse becomes unreachable, half a dozen connections report it
// repeatedly. The operator gets one line when it becomes unreachable and one when it is back.
// Between the two, each further reason is logged for which a whole round of work failed. For
// example, a cut connection does not show that the warehouse is read-only, which the next
// connection finds.

/**
 * The time without a failure after which the outage counts as over: connections come back one after
 * the other.
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
    readonly reasons: FailureReasons;
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
    const reasons = new FailureReasons();
    reasons.note(reason);
    this.#failing = {since: now, lastAt: now, wellAgainAt: null, reasons};
    this.#log.warn(
      {event: 'outage.began', reason},
      'the queue or the warehouse is out of reach; nothing is lost, trying again',
    );
  }

  /** A whole round of work failed. */
  roundFailed(reason: string): void {
    this.failed(reason);
    if (this.#failing?.reasons.note(reason) !== true) return;
    this.#log.warn(
      {event: 'outage.continues', reason},
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
