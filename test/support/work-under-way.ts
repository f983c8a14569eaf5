// An account whose changes are being carried while something breaks, and what must be true of all
// of them in the end.

import {randomUUID} from 'node:crypto';
import {expect} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {allowLargeEdits} from './large-edits.ts';
import type {TestDatabase} from './postgres.ts';
import {openRecordingProxy, type Recorded} from './recording-proxy.ts';
import {openService, openWorld, type TestService, type TestWorld} from './world.ts';

/** Updates, creates, and creates under creates. */
const written = `
  UPDATE warehouse.customers SET fax = '555-' || customer_number;
  WITH customer AS (INSERT INTO warehouse.customers (name) SELECT 'New ' || n
    FROM generate_series(1, 20) AS n RETURNING row_id)
  INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'of ' || row_id FROM customer;`;
const updateCount = 60;
const createCount = 20 + 20;
const noKeys = {keyIds: [], sendsMail: false, given: null};

type WorkerDeps = Parameters<typeof startWorkers>[0];

export interface WorkUnderWay {
  readonly service: TestService;
  readonly world: TestWorld;
  /**
   * Asks for a sweep of every customer and of every job, one of which has changed at the service.
   */
  askForSweeps(): Promise<void>;
  /**
   * Starts workers that soon look again for changes in doubt: no request is late here.
   * @param more - dependencies in place of the world's; behind a pooler its pool and address
   */
  work(redisUrl: string | null, more?: Partial<WorkerDeps>): Promise<void>;
  /** Writes changes, and resolves when some have reached the service and others have not. */
  begin(): Promise<void>;
  /** Creates customers more. */
  add(count: number): Promise<void>;
  /** Waits until all is done, and looks at what reached the service: each change once. */
  expectEachOnce(): Promise<void>;
  /** Waits until the sweeps that were asked for are over. */
  expectSwept(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param database - a migrated database to take instead of one on the cluster that all tests share
 */
export async function openWork(database?: TestDatabase): Promise<WorkUnderWay> {
  const service = await openService();
  const proxy = await openRecordingProxy(service.url);
  const world = await openWorld({url: proxy.url, token: service.token}, database);
  await world.sweepAll();
  await allowLargeEdits(world.pool);
  const ends: (() => Promise<void>)[] = [service.close, proxy.close, world.close];
  const writes: Recorded[] = [];
  let added = 0;
  const collect = () => writes.push(...proxy.takeWrites());
  return {
    service,
    world,
    askForSweeps: async () => {
      await askForSweeps(world);
      // The change of a job is none of the workers' writes.
      proxy.takeWrites();
    },
    work: async (redisUrl, more = {}) => {
      ends.push((await start(world, redisUrl, more)).stop);
    },
    begin: async () => {
      await world.pool.query(written);
      await expect.poll(collect, {timeout: 30_000, interval: 5}).toBeGreaterThan(10);
      expect(collect()).toBeLessThan(updateCount + createCount);
    },
    add: async (count) => {
      await world.pool.query(
        `INSERT INTO warehouse.customers (name) SELECT 'Added ' || n
          FROM generate_series($1::int, $2) AS n`,
        [added + 1, added + count],
      );
      added += count;
    },
    expectEachOnce: async () => {
      await expectAllDone(world, added);
      collect();
      await expectWrites(world, writes, createCount + added);
    },
    expectSwept: () => expectSwept(world),
    close: async () => {
      for (const end of ends.reverse()) await end();
    },
  };
}

async function askForSweeps({api, pool, account: {accountId}}: TestWorld): Promise<void> {
  const {rows} = await pool.query<{number: string}>(
    'SELECT min(job_number) AS number FROM warehouse.jobs',
  );
  // Without news a sweep has no batch to write.
  await api.jobs.update(rows[0]?.number ?? '', {name: 'Changed at the service'});
  for (const stream of ['customers', 'jobs'])
    await requestSweep(pool, {accountId, stream, mode: 'full', requestedBy: 'schedule'});
}

async function start(
  world: TestWorld,
  redisUrl: string | null,
  more: Partial<WorkerDeps>,
): Promise<Workers> {
  const {databaseUrl: directUrl, account} = world;
  const settle = {checkDelaysMs: [200], arrivalLimitMs: 1_000};
  const deps = {...world, leaseMs: 3_000, ...more, settle};
  const backend = await openQueueBackend({redisUrl, databaseUrl: directUrl, log: deps.log});
  // As `start` has one: the worker writes to the warehouse with it where nothing else is due.
  const heartbeat = {
    workerId: randomUUID(),
    host: 'test',
    pid: 1,
    version: '0',
    consoleUrl: null,
    reach: () => noKeys,
  };
  const options = {accountIds: [account.accountId], keepsSchedules: true, directUrl, heartbeat};
  return await startWorkers(deps, backend, options);
}

async function expectAllDone({pool}: TestWorld, added: number): Promise<void> {
  const states = async () => {
    const {rows} = await pool.query('SELECT state, count(*)::int FROM sync.changes GROUP BY state');
    return rows;
  };
  const count = updateCount + createCount + added;
  await expect.poll(states, {timeout: 90_000}).toEqual([{state: 'done', count}]);
  const {rows} = await pool.query(
    `SELECT (SELECT count(*)::int FROM warehouse.customers WHERE fax = '555-' || customer_number)
      AS faxes,
            (SELECT count(*)::int FROM warehouse.jobs
              WHERE name LIKE 'of %' AND job_number IS NOT NULL) AS jobs,
            (SELECT count(*)::int FROM warehouse.customers
              WHERE name LIKE 'Added %' AND customer_number IS NOT NULL) AS added`,
  );
  expect(rows).toEqual([{faxes: updateCount, jobs: 20, added}]);
}

async function expectWrites(
  {pool}: TestWorld,
  writes: readonly Recorded[],
  createCount: number,
): Promise<void> {
  const creates = writes.filter(({method}) => method === 'POST').map(({body}) => body);
  expect(creates).toHaveLength(createCount);
  expect(new Set(creates).size).toBe(createCount);
  // Nothing is sent that was not written down before.
  const {rowCount} = await pool.query('SELECT FROM sync.attempts');
  expect(rowCount).toBeGreaterThanOrEqual(writes.length);
}

async function expectSwept({pool}: TestWorld): Promise<void> {
  const asked = `SELECT state FROM sync.sweeps WHERE requested_by = 'schedule'`;
  const states = async () => (await pool.query(asked)).rows;
  const certified = {state: expect.stringMatching(/certified/)};
  await expect.poll(states, {timeout: 60_000}).toEqual([certified, certified]);
}
