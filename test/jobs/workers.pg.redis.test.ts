// The queue is a bell: whatever it forgets, doubles or delays, the rows decide, and every due sweep comes to its end.

import {Redis} from 'ioredis';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {openQueueBackend, type QueueBackend} from '../../jobs/backend.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {watchProgress} from '../../src/commands/progress.ts';
import {watchSweeps} from '../../src/commands/sweeps.ts';
import {planSchedules} from '../../src/sync/default-schedules.ts';
import type {SweepDeps} from '../../src/sync/sweep-deps.ts';
import {insertSchedules, listSchedules} from '../../src/warehouse/schedules.ts';
import type {Sweep} from '../../src/warehouse/sweep.ts';
import {claimSweep, requestSweep} from '../../src/warehouse/sweeps.ts';
import {emptyRedis} from '../support/redis.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {openService, openWorld, type TestService, type TestWorld, timeZone} from '../support/world.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
let service: TestService;
let world: TestWorld;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  service = await openService({pageSize: 10});
  world = await openWorld(service);
  closers.push(service.close, world.close);
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The same queue each time it is opened in one test. */
async function openBackend(redisUrl: string | null): Promise<QueueBackend> {
  const {databaseUrl, log} = world;
  return await openQueueBackend({redisUrl, databaseUrl, log});
}

async function start(
  backend: QueueBackend,
  more: Partial<SweepDeps> & {keepsSchedules?: boolean} = {},
): Promise<Workers> {
  const {keepsSchedules = false, ...deps} = more;
  const {accountId} = world.account;
  const workers = await startWorkers({...world, ...deps}, backend, {accountId, keepsSchedules});
  closers.push(workers.stop);
  return workers;
}

async function request(stream: string): Promise<string> {
  const {accountId} = world.account;
  return (await requestSweep(world.pool, {accountId, stream, mode: 'full', requestedBy: 'command'})).sweepId;
}

async function endOf(...sweepIds: string[]): Promise<Sweep[]> {
  const watch = {progress: watchProgress(true), signal: AbortSignal.timeout(45_000)};
  return await watchSweeps(world, sweepIds, watch);
}

describe.each(backends)('with the queue on %s', (kind) => {
  let redisUrl: string | null;

  beforeEach(async () => {
    redisUrl = kind === 'redis' ? await emptyRedis() : null;
  });

  test('a sweep that nobody rang is found by its row', async () => {
    const sweepId = await request('customers');
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: 'uncertified', counts: {records: 60}}]);
  });

  test('two workers that hear the same bells carry each sweep once', async () => {
    const backend = await openBackend(redisUrl);
    const sweepIds = [await request('customers'), await request('jobs'), await request('tasks')];
    const second = await openBackend(redisUrl);
    await Promise.all([start(backend), start(second)]);
    for (const sweep of await endOf(...sweepIds)) expect(sweep).toMatchObject({fence: 1, failures: 0});
  });

  test('what a dead worker left behind is taken over when its lease has run out', async () => {
    const sweepId = await request('customers');
    await claimSweep(world.pool, sweepId, 60_000);
    await world.pool.query(`UPDATE sync.sweeps SET lease_until = now() - interval '1 second'`);
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: 'uncertified', fence: 2}]);
  });

  test('a stop gives back what is under way, and the next start goes on with it at once', async () => {
    const backend = await openBackend(redisUrl);
    const sweepId = await request('jobs');
    const begun = Promise.withResolvers<void>();
    const workers = await start(backend, {onProgress: () => begun.resolve()});
    await begun.promise;
    await workers.stop();
    const {rows} = await world.pool.query('SELECT state FROM sync.sweeps WHERE lease_until IS NOT NULL');
    expect(rows).toEqual([]);
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: 'uncertified'}]);
  });

  test('a schedule whose time has come becomes a sweep, once for two workers', async () => {
    const {accountId} = world.account;
    const due = {
      ...planSchedules(new Date(), timeZone)[0],
      firstDueAt: new Date(Date.now() - 1000).toISOString(),
    };
    await insertSchedules(world.pool, accountId, [
      {...due, name: 'due', stream: 'tasks', mode: 'full', everyMs: 3_600_000},
    ]);
    const backend = await openBackend(redisUrl);
    const second = await openBackend(redisUrl);
    await Promise.all([start(backend, {keepsSchedules: true}), start(second, {keepsSchedules: true})]);
    await expect
      .poll(async () => (await world.pool.query('SELECT 1 FROM sync.sweeps')).rowCount, {timeout: 20_000})
      .toBe(1);
    const {rows} = await world.pool.query('SELECT sweep_id FROM sync.sweeps');
    expect(await endOf(String(rows[0].sweep_id))).toMatchObject([{stream: 'tasks', requestedBy: 'schedule'}]);
    expect((await listSchedules(world.pool, {accountId}))[0]?.lastRungAt).not.toBeNull();
  });

  test("the queue's schedulers are what the rows say, also after a row is gone", async () => {
    const {accountId} = world.account;
    const plans = planSchedules(new Date(), timeZone);
    await insertSchedules(world.pool, accountId, plans);
    const backend = await openBackend(redisUrl);
    await (await start(backend, {keepsSchedules: true})).stop();
    const queue = backend.makeQueue('schedule');
    closers.push(() => queue.close());
    expect(await queue.getJobSchedulers()).toHaveLength(plans.length);
    await world.pool.query(`DELETE FROM sync.schedules WHERE name = 'jobs today'`);
    await (await start(await openBackend(redisUrl), {keepsSchedules: true})).stop();
    expect(await queue.getJobSchedulers()).toHaveLength(plans.length - 1);
  });
});

describe.skipIf(!isInstalled())('a Redis that forgets or goes away', () => {
  test('FLUSHALL in the middle loses nothing', async () => {
    const redis = await startServer();
    closers.unshift(redis.stop);
    const backend = await openBackend(redis.url);
    const sweepIds = [
      await request('jobs'),
      await request('customers'),
      await request('tasks'),
      await request('employees'),
    ];
    const client = new Redis(redis.url);
    const flushed = Promise.withResolvers<void>();
    await start(backend, {onProgress: () => void client.flushall().then(() => flushed.resolve())});
    await flushed.promise;
    for (const sweep of await endOf(...sweepIds)) expect(sweep.state).toBe('uncertified');
    client.disconnect();
  });

  test('a Redis that dies in the middle and comes back loses nothing', async () => {
    const first = await startServer();
    const backend = await openBackend(first.url);
    const sweepIds = [await request('jobs'), await request('customers')];
    const begun = Promise.withResolvers<void>();
    await start(backend, {onProgress: () => begun.resolve()});
    await begun.promise;
    await first.stop();
    sweepIds.push(await request('tasks'));
    const second = await startServer(undefined, Number(new URL(first.url).port));
    closers.unshift(second.stop);
    for (const sweep of await endOf(...sweepIds)) expect(sweep.state).toBe('uncertified');
  });
});
