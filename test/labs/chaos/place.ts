// All parts of the torture: two clusters of Postgres, a Redis, the reference service, workers, and
// a faulty line before each part that the workers talk to.

import {join} from 'node:path';
import pg from 'pg';
import {findPrograms, programRunner} from '../../../src/postgres/embedded-server.ts';
import {Random} from '../../../src/service/vocabulary.ts';
import {type FaultyLine, openFaultyLine} from '../../support/faulty-line.ts';
import {startPostgres} from '../../support/own-postgres.ts';
import {startServer, type TestRedis} from '../../support/redis-server.ts';
import {SetUp} from '../../support/set-up.ts';
import {untilItAnswers} from './ledger.ts';
import {Supervised} from './process.ts';
import {drawFrom, weathers} from './weather.ts';

export const timeZone = 'America/New_York';

export interface Size {
  readonly seed: string;
  readonly queue: 'redis' | 'postgres';
  readonly workers: number;
  readonly customers: number;
}

export class Place {
  readonly home: string;
  readonly service: Supervised;
  readonly workers: readonly Supervised[];
  readonly lines: {
    readonly service: FaultyLine;
    readonly database: FaultyLine;
    readonly redis: FaultyLine | null;
  };
  readonly token: string;
  /** Past the lines. */
  readonly serviceUrl: string;
  readonly databaseUrl: string;
  readonly serviceDatabaseUrl: string;
  /** The environment of a command of the product: every part behind its line. */
  readonly env: Readonly<Record<string, string>>;
  readonly #seed: string;
  readonly #setUp: SetUp;
  #redis: {server: TestRedis; readonly port: number} | null;

  constructor(parts: Parts) {
    this.home = parts.home;
    this.service = parts.service;
    this.token = parts.token;
    this.serviceUrl = parts.serviceUrl;
    this.databaseUrl = parts.databaseUrl;
    this.serviceDatabaseUrl = parts.serviceDatabaseUrl;
    this.lines = parts.lines;
    this.env = parts.env;
    this.#seed = parts.size.seed;
    this.#setUp = parts.setUp;
    this.#redis = parts.redis;
    const secrets = [parts.token, Buffer.from(`${parts.token}:${parts.token}`).toString('base64')];
    const worker = {args: ['start'], env: parts.env, secrets};
    this.workers = Array.from(
      {length: parts.size.workers},
      (_, at) => new Supervised(`worker ${at + 1}`, worker),
    );
  }

  /** From now on the lines cause trouble. */
  spoil(): void {
    const random = (name: string) => new Random(this.#seed, name, 0);
    const {service, database, redis} = this.lines;
    service.setDraw(drawFrom(random('service line'), weathers.service));
    database.setDraw(drawFrom(random('database line'), weathers.commit, weathers.database));
    redis?.setDraw(drawFrom(random('redis line'), weathers.redis));
  }

  /** Brings every line up and lets all traffic pass. */
  async mend(): Promise<void> {
    for (const line of this.allLines) {
      line.setDraw(null);
      await line.comeUp();
    }
  }

  get allLines(): FaultyLine[] {
    const {service, database, redis} = this.lines;
    return redis === null ? [service, database] : [service, database, redis];
  }

  /** Restarts as after a crash: every session and every uncommitted write is gone. */
  async crashPostgres(): Promise<void> {
    const data = join(this.home, 'postgres');
    const runner = await programRunner(this.home);
    const {pg_ctl} = await findPrograms();
    await runner.run(pg_ctl, [
      'restart',
      '-D',
      data,
      '-w',
      '-m',
      'immediate',
      '-l',
      join(data, 'postgres.log'),
    ]);
  }

  /** The address past the line; null where the queue is in Postgres. */
  get redisUrl(): string | null {
    return this.#redis?.server.url ?? null;
  }

  /** Replaces Redis with an empty one on the same port: it persists nothing. */
  async killRedis(beforeStart: () => Promise<unknown>): Promise<void> {
    if (this.#redis === null) return;
    const {server, port} = this.#redis;
    await server.stop();
    await beforeStart();
    this.#redis = {server: await startServer([], port), port};
  }

  async close(): Promise<void> {
    for (const worker of this.workers) await worker.end();
    await this.#redis?.server.stop();
    await this.#setUp.end();
  }
}

interface Parts extends Pick<Place, 'home' | 'service' | 'token' | 'serviceUrl' | 'lines' | 'env'> {
  readonly size: Size;
  readonly databaseUrl: string;
  readonly serviceDatabaseUrl: string;
  readonly setUp: SetUp;
  readonly redis: {readonly server: TestRedis; readonly port: number} | null;
}

export async function openPlace(size: Size): Promise<Place> {
  const setUp = new SetUp();
  const {home, postgres} = await startPostgres(setUp, 'chaos');
  const {postgres: ofService} = await startPostgres(setUp, 'chaos-service');
  const [databaseUrl, serviceDatabaseUrl] = await setUp.step('making the databases', async () => {
    const urls = [await postgres.url('warehouse'), await ofService.url('service')] as const;
    for (const url of urls) await outliveProcesses(url);
    return urls;
  });
  const {service, url: serviceUrl, token} = await startService(setUp, size, serviceDatabaseUrl);
  const redis = size.queue === 'redis' ? await startRedis(setUp) : null;
  const lines = {
    service: await openLine(setUp, portOf(serviceUrl)),
    database: await openLine(setUp, portOf(databaseUrl)),
    redis: redis === null ? null : await openLine(setUp, redis.port),
  };
  const env = {
    FIELDMIRROR_API_URL: `http://127.0.0.1:${lines.service.port}`,
    FIELDMIRROR_API_TOKEN: token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: through(databaseUrl, lines.database),
    ...(lines.redis === null ? {} : {REDIS_URL: `redis://127.0.0.1:${lines.redis.port}`}),
  };
  return new Place({
    home,
    service,
    token,
    serviceUrl,
    lines,
    env,
    size,
    databaseUrl,
    serviceDatabaseUrl,
    setUp,
    redis,
  });
}

/** A service in a process of its own, which keeps its port over restarts. */
async function startService(setUp: SetUp, size: Size, database: string) {
  const service = await setUp.step(
    'starting the service',
    async () => {
      const {port} = await freeLine();
      const made = ['--seed', '7', '--customers', String(size.customers)];
      const args = ['service', '--port', String(port), ...made, '--json', '--database', database];
      const process = new Supervised('service', {
        args,
        env: {FIELDMIRROR_TIME_ZONE: timeZone},
        secrets: [],
      });
      process.start();
      return process;
    },
    (process) => process.end(),
  );
  return await setUp.step('hearing from the service', async () => {
    const printed = await service.prints(/\{[^}]*"url"[^}]*\}/);
    const {url, token} = JSON.parse(printed) as Record<'url' | 'token', string>;
    return {service, url, token};
  });
}

async function startRedis(setUp: SetUp) {
  const server = await setUp.step(
    'starting Redis',
    () => startServer([]),
    (started) => started.stop(),
  );
  return {server, port: portOf(server.url)};
}

function openLine(setUp: SetUp, port: number): Promise<FaultyLine> {
  return setUp.step(
    'opening a line',
    () => openFaultyLine(port),
    (line) => line.close(),
  );
}

/** A port that is free at the moment. */
async function freeLine(): Promise<{readonly port: number}> {
  const line = await openFaultyLine(0);
  await line.close();
  return {port: line.port};
}

/**
 * Power cuts are not tested: no write waits for the disk. A crash of Postgres still loses nothing.
 */
async function outliveProcesses(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const setting of ['fsync', 'full_page_writes'])
      await client.query(`ALTER SYSTEM SET ${setting} = off`);
    await client.query('SELECT pg_reload_conf()');
  } finally {
    await client.end();
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function through(url: string, line: FaultyLine): string {
  const behind = new URL(url);
  behind.port = String(line.port);
  return behind.href;
}

/** Waits until every worker is at work. */
export async function startWorkers({workers}: Place): Promise<void> {
  for (const worker of workers) worker.start();
  await Promise.all(workers.map((worker) => worker.prints(/Running\. Ctrl-C/)));
}

/** @returns the workers that did not end in time */
export async function endWorkers({workers}: Place): Promise<string[]> {
  const ends = await Promise.all(
    workers.map(async (worker) => [worker.name, await worker.end()] as const),
  );
  return ends.filter(([, isTimely]) => !isTimely).map(([name]) => name);
}

/** A pool on the warehouse, past the line; it outlives crashes. */
export async function askWarehouse<T extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
): Promise<T[]> {
  return (await untilItAnswers(() => pool.query<T>(sql))).rows;
}
