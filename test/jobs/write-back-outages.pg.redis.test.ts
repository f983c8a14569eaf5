// The queue, or the warehouse, goes away while changes are carried: no change is lost, none is sent twice.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Redis} from 'ioredis';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue/backend.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {allTables} from '../../src/streams/all-tables.ts';
import {openEmbeddedPostgres} from '../../src/warehouse/embedded/embedded.ts';
import {findPrograms, programRunner} from '../../src/warehouse/embedded/embedded-process.ts';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {migrate} from '../../src/warehouse/schema/migrate.ts';
import type {TestDatabase} from '../support/postgres.ts';
import {openRecordingProxy, type Recorded, type RecordingProxy} from '../support/recording-proxy.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {openService, openWorld, type TestWorld} from '../support/world.ts';

/** Updates, creates, and creates under creates. */
const written = `
  UPDATE warehouse.customers SET fax = '555-' || customer_number;
  WITH customer AS (INSERT INTO warehouse.customers (name) SELECT 'New ' || n FROM generate_series(1, 20) AS n RETURNING row_id)
  INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'of ' || row_id FROM customer;`;
const writtenCount = 60 + 20 + 20;

let proxy: RecordingProxy;
let token: string;
let writes: Recorded[];
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  const service = await openService();
  proxy = await openRecordingProxy(service.url);
  token = service.token;
  writes = [];
  closers.push(service.close, proxy.close);
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(database?: TestDatabase): Promise<TestWorld> {
  const world = await openWorld({url: proxy.url, token}, database);
  closers.push(world.close);
  return world;
}

/** Workers that soon look again for changes in doubt: no request is late here. */
async function work(world: TestWorld, redisUrl: string | null): Promise<void> {
  const {databaseUrl, log, account} = world;
  const settle = {lookDelaysMs: [200], arrivalLimitMs: 1_000};
  const backend = await openQueueBackend({redisUrl, databaseUrl, log});
  const options = {accountIds: [account.accountId], keepsSchedules: true};
  const workers = await startWorkers({...world, leaseMs: 3_000, settle}, backend, options);
  closers.push(workers.stop);
}

/** Some changes have reached the service, and others have not. */
async function areUnderWay(): Promise<void> {
  const count = () => writes.push(...proxy.takeWrites());
  await expect.poll(count, {timeout: 30_000, interval: 5}).toBeGreaterThan(10);
  expect(count()).toBeLessThan(writtenCount);
}

async function expectEachOnce({pool}: TestWorld): Promise<void> {
  const states = async () => {
    const {rows} = await pool.query('SELECT state, count(*)::int FROM sync.changes GROUP BY state');
    return rows;
  };
  await expect.poll(states, {timeout: 90_000}).toEqual([{state: 'done', count: writtenCount}]);
  writes.push(...proxy.takeWrites());
  const {rows} = await pool.query(
    `SELECT (SELECT count(*)::int FROM warehouse.customers WHERE fax = '555-' || customer_number) AS faxes,
            (SELECT count(*)::int FROM warehouse.jobs WHERE name LIKE 'of %' AND job_number IS NOT NULL) AS jobs`,
  );
  expect(rows).toEqual([{faxes: 60, jobs: 20}]);
  const creates = writes.filter(({method}) => method === 'POST').map(({body}) => body);
  expect(creates).toHaveLength(40);
  expect(new Set(creates).size).toBe(40);
}

test.skipIf(!isInstalled())('the queue is wiped', {timeout: 180_000}, async () => {
  const world = await open();
  await world.sweepAll();
  const redis = await startServer();
  closers.unshift(redis.stop);
  await work(world, redis.url);
  await world.pool.query(written);
  await areUnderWay();
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  await expectEachOnce(world);
});

test('Postgres crashes and comes back', {timeout: 180_000}, async () => {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-outage-'));
  const postgres = await openEmbeddedPostgres(home);
  closers.push(() => rm(home, {recursive: true, force: true}), postgres.leave);
  const url = await postgres.url('warehouse');
  const pool = openPool(url, {max: 1, applicationName: 'test set-up'});
  await migrate(pool, allTables);
  await pool.end();
  const world = await open({url, drop: async () => {}});
  await world.sweepAll();
  await work(world, null);
  await world.pool.query(written);
  await areUnderWay();
  const data = join(home, 'postgres');
  const runner = await programRunner(home);
  const restart = ['restart', '-D', data, '-w', '-m', 'immediate', '-l', join(data, 'postgres.log')];
  await runner.run((await findPrograms()).pg_ctl, restart);
  await expectEachOnce(world);
});
