// The queue is a bell: whatever it forgets, doubles or delays, the rows decide, and every due sweep
// comes to its end.

import {connect, createServer} from 'node:net';
import {Redis} from 'ioredis';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {openQueueBackend, type QueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {watchProgress} from '../../src/cli/progress.ts';
import {watchSweeps} from '../../src/cli/sync.ts';
import {FatalError} from '../../src/core/errors.ts';
import {insertSchedules, listSchedules, planSchedules} from '../../src/sweeps/schedules.ts';
import type {SweepDeps} from '../../src/sweeps/sweep-run.ts';
import {claimSweep, requestSweep, type Sweep} from '../../src/sweeps/sweeps.ts';
import {emptyRedis} from '../support/redis.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {
  openService,
  openWorld,
  type TestService,
  type TestWorld,
  timeZone,
} from '../support/world.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const endedWell = expect.stringMatching(/certified/);
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
  const workers = await startWorkers({...world, ...deps}, backend, {
    accountIds: [accountId],
    keepsSchedules,
  });
  closers.push(workers.stop);
  return workers;
}

async function request(stream: string): Promise<string> {
  const {accountId} = world.account;
  return (await requestSweep(world.pool, {accountId, stream, mode: 'full', requestedBy: 'command'}))
    .sweepId;
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

  test('a worker finds a due sweep by its row, without a wake-up', async () => {
    const sweepId = await request('customers');
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: endedWell, counts: {records: 60}}]);
  });

  test('two workers that are woken for the same sweeps run each sweep once', async () => {
    const backend = await openBackend(redisUrl);
    const sweepIds = [await request('customers'), await request('jobs'), await request('tasks')];
    const second = await openBackend(redisUrl);
    await Promise.all([start(backend), start(second)]);
    for (const sweep of await endOf(...sweepIds))
      expect(sweep).toMatchObject({fence: 1, failures: 0});
  });

  test('the sweep of a dead worker is continued once its lease has expired', async () => {
    const sweepId = await request('customers');
    await claimSweep(world.pool, sweepId, 60_000);
    await world.pool.query(`UPDATE sync.sweeps SET lease_until = now() - interval '1 second'`);
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: endedWell, fence: 2}]);
  });

  test('a stop releases the running sweep, and the next start continues it at once', async () => {
    const backend = await openBackend(redisUrl);
    const sweepId = await request('jobs');
    const begun = Promise.withResolvers<void>();
    const workers = await start(backend, {onProgress: () => begun.resolve()});
    await begun.promise;
    await workers.stop();
    const {rows} = await world.pool.query(
      'SELECT state FROM sync.sweeps WHERE lease_until IS NOT NULL',
    );
    expect(rows).toEqual([]);
    await start(await openBackend(redisUrl));
    expect(await endOf(sweepId)).toMatchObject([{state: endedWell}]);
  });

  test('two workers turn a due schedule into one sweep', async () => {
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
    await Promise.all([
      start(backend, {keepsSchedules: true}),
      start(second, {keepsSchedules: true}),
    ]);
    await expect
      .poll(async () => (await world.pool.query('SELECT 1 FROM sync.sweeps')).rowCount, {
        timeout: 20_000,
      })
      .toBe(1);
    const {rows} = await world.pool.query('SELECT sweep_id FROM sync.sweeps');
    expect(await endOf(String(rows[0].sweep_id))).toMatchObject([
      {stream: 'tasks', requestedBy: 'schedule'},
    ]);
    expect((await listSchedules(world.pool, {accountId}))[0]?.lastRequestedAt).not.toBeNull();
  });
});

describe.skipIf(!isInstalled())('a Redis that loses its data or is restarted', () => {
  test('FLUSHALL loses no sweep, and a schedule that is due afterwards runs', async () => {
    const redis = await startServer();
    closers.unshift(redis.stop);
    const backend = await openBackend(redis.url);
    await insertSchedules(world.pool, world.account.accountId, planSchedules(new Date(), timeZone));
    const sweepIds = [
      await request('jobs'),
      await request('customers'),
      await request('tasks'),
      await request('employees'),
    ];
    const client = new Redis(redis.url);
    const begun = Promise.withResolvers<void>();
    const asking = Promise.withResolvers<void>();
    const answers = Promise.withResolvers<void>();
    await start(backend, {
      keepsSchedules: true,
      onProgress: () => begun.resolve(),
      onSweepStep: () => {
        asking.resolve();
        return answers.promise;
      },
    });
    await asking.promise;
    await client.flushall();
    answers.resolve();
    await begun.promise;
    await world.pool.query(
      `UPDATE sync.schedules SET next_due_at = now() WHERE name = 'jobs today'`,
    );
    for (const sweep of await endOf(...sweepIds)) expect(sweep.state).toEqual(endedWell);
    const asked = async () =>
      (
        await world.pool.query(
          `SELECT sweep_id FROM sync.sweeps WHERE mode = 'window' AND ended_at IS NOT NULL`,
        )
      ).rowCount;
    await expect.poll(asked, {timeout: 20_000}).toBe(1);
    client.disconnect();
  });

  test('a restart of Redis during a sweep loses no sweep', async () => {
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
    for (const sweep of await endOf(...sweepIds)) expect(sweep.state).toEqual(endedWell);
  });
});

describe('a queue that is out of reach', () => {
  test('in Postgres at the start is reported as a fatal error, and no worker starts', async () => {
    const relay = await openRelay(world.databaseUrl);
    closers.push(relay.close);
    const {log} = world;
    const backend = await openQueueBackend({redisUrl: null, databaseUrl: relay.url, log});
    await relay.close();
    const accountIds = [world.account.accountId];
    const starting = startWorkers(world, backend, {accountIds, keepsSchedules: true});
    await expect(starting).rejects.toThrow(FatalError);
    await expect(starting).rejects.toThrow(/the queue: expected it to answer, got/);
  });

  test.skipIf(!isInstalled())(
    'in Redis at the start is reported, and a start works once Redis is back',
    async () => {
      const first = await startServer();
      const backend = await openBackend(first.url);
      await first.stop();
      const accountIds = [world.account.accountId];
      const starting = startWorkers(world, backend, {accountIds, keepsSchedules: true});
      await expect(starting).rejects.toThrow(/the queue: expected it to answer, got/);
      const second = await startServer(undefined, Number(new URL(first.url).port));
      closers.unshift(second.stop);
      const sweepId = await request('tasks');
      await start(await openBackend(second.url));
      expect(await endOf(sweepId)).toMatchObject([{state: endedWell}]);
    },
  );

  test.skipIf(!isInstalled())('in Redis fails each round, although no work is due', async () => {
    const redis = await startServer();
    const workerId = '00000000-0000-4000-8000-000000000007';
    const reach = () => ({keyIds: [], sendsMail: false, given: null});
    const workers = await startWorkers(world, await openBackend(redis.url), {
      accountIds: [world.account.accountId],
      keepsSchedules: true,
      heartbeat: {workerId, host: 'h', pid: 1, consoleUrl: null, version: '0', reach},
      times: {noteMs: 100},
    });
    closers.push(workers.stop);
    await redis.stop();
    const lastError = async () =>
      (
        await world.pool.query(
          `SELECT last_error FROM sync.heartbeats WHERE worker_id = $1 AND part = 'rounds'`,
          [workerId],
        )
      ).rows[0]?.last_error ?? null;
    await expect.poll(lastError, {timeout: 30_000}).not.toBeNull();
  });

  test('in Postgres recovers after all its sessions were terminated', async () => {
    await start(await openBackend(null));
    expect(await endOf(await request('tasks'))).toMatchObject([{state: endedWell}]);
    await world.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = current_user
          AND pid <> pg_backend_pid()`,
    );
    expect(await endOf(await request('customers'))).toMatchObject([{state: endedWell}]);
  });
});

/** A relay to a Postgres that can be cut. */
async function openRelay(url: string): Promise<{readonly url: string; close(): Promise<void>}> {
  const target = new URL(url);
  const server = createServer((socket) => {
    const far = connect(Number(target.port), target.hostname);
    for (const end of [socket, far]) end.on('error', () => {});
    socket.pipe(far).pipe(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const relayed = new URL(url);
  relayed.host = `127.0.0.1:${address.port}`;
  const close = async () => {
    if (server.listening) await new Promise((done) => server.close(done));
  };
  return {url: relayed.href, close};
}
