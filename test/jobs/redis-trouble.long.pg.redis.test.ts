// Redis is full, hangs, or goes away for a while: changes wait, none is lost, and an operator is
// told once.

import {Redis} from 'ioredis';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {createLogger} from '../../src/core/log.ts';
import {runCommand} from '../support/command.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {openPlace} from '../support/place.ts';
import {isInstalled, startServer, type TestRedis} from '../support/redis-server.ts';
import {openService, openWorld, type TestWorld} from '../support/world.ts';

let redis: TestRedis;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  redis = await startServer();
  closers.push(() => redis.stop());
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe.skipIf(!isInstalled())(
  'a Redis that is full, hangs or is down',
  () => {
    test('is reported at the start if it is full, with the fix and exit code 3', async () => {
      const place = await openPlace();
      closers.push(place.close);
      await fill();
      for (const args of [['start'], ['start', '--once'], ['doctor']]) {
        const ended = await runCommand(args, {...place.env, REDIS_URL: redis.url});
        expect(ended).toMatchObject({code: 3});
        // The doctor's lines are no wider than a terminal.
        expect((ended.stdout + ended.stderr).replaceAll(/\s+/g, ' ')).toMatch(
          /redis 127\.0\.0\.1:\d+: .*OOM.* it is full: raise its maxmemory/,
        );
      }
    });

    test('delays changes while it is full; they are carried when there is room', async () => {
      const {world, told} = await work();
      await allowLargeEdits(world.pool);
      await fill();
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach]);
      await world.pool.query(`UPDATE warehouse.customers SET fax = '555-' || customer_number`);
      await configure('0');
      await expectDone(world, 60);
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach, backAgain]);
    });

    test('that hangs is reported as an outage, and loses no change', async () => {
      const {world, told} = await work();
      await allowLargeEdits(world.pool);
      await hang(40_000);
      await world.pool.query(`UPDATE warehouse.customers SET fax = '555-' || customer_number`);
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach]);
      await expectDone(world, 60);
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach, backAgain]);
    });

    test('loses no change in an outage, whose start and end are logged', async () => {
      const {world, told} = await work();
      await allowLargeEdits(world.pool);
      await redis.stop();
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach]);
      await world.pool.query(`UPDATE warehouse.customers SET fax = '555-' || customer_number`);
      redis = await startServer(['--appendonly', 'yes'], Number(new URL(redis.url).port));
      await expectDone(world, 60);
      await expect.poll(told, {timeout: 30_000}).toEqual([outOfReach, backAgain]);
    });
  },
  120_000,
);

const outOfReach = expect.stringMatching(/^the queue or the warehouse is out of reach/);
const backAgain = expect.stringMatching(/^the queue and the warehouse are within reach again/);

/**
 * A mirrored account, and its workers; `told` gives the lines about the queue that an operator
 * reads. A further reason may be told once: Redis first refuses connections, and then loads, say.
 */
async function work(): Promise<{world: TestWorld; told: () => string[]}> {
  const service = await openService();
  const world = await openWorld(service);
  closers.push(service.close, world.close);
  await world.sweepAll();
  const lines: {msg: string; reason?: string}[] = [];
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  const log = createLogger({level: 'warn', secrets: [], destination});
  const {databaseUrl, account} = world;
  const backend = await openQueueBackend({redisUrl: redis.url, databaseUrl, log});
  const options = {accountIds: [account.accountId], keepsSchedules: true};
  const workers = await startWorkers({...world, log}, backend, options);
  closers.push(workers.stop);
  const reasonOf = ({reason = ''}: (typeof lines)[number]) => reason.replaceAll(/\d+/g, '');
  const isRepeated = (line: (typeof lines)[number]) =>
    lines.slice(0, lines.indexOf(line)).some((other) => reasonOf(other) === reasonOf(line));
  const told = () =>
    lines
      .filter(({msg}) => !msg.startsWith('the queue has lost'))
      .filter((line) => !line.msg.endsWith('is still out of reach') || isRepeated(line))
      .map(({msg}) => msg);
  return {world, told};
}

async function expectDone({pool}: TestWorld, count: number): Promise<void> {
  const states = async () =>
    (await pool.query('SELECT state, count(*)::int FROM sync.changes GROUP BY state')).rows;
  await expect.poll(states, {timeout: 60_000}).toEqual([{state: 'done', count}]);
}

/** From now on Redis takes no writes. */
async function fill(): Promise<void> {
  await configure('1');
}

/** For this time Redis answers no client, and closes no connection. */
async function hang(ms: number): Promise<void> {
  const client = new Redis(redis.url);
  await client.call('CLIENT', 'PAUSE', String(ms), 'ALL');
  client.disconnect();
}

async function configure(maxmemory: string): Promise<void> {
  const client = new Redis(redis.url);
  await client.config('SET', 'maxmemory', maxmemory);
  client.disconnect();
}
