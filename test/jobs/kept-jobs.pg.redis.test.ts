// Users of BullMQ find the runs in its queues by its public interface, as bull-board does: jobs
// that have ended stay for a day, with their result or reason, and with names in place of numbers
// alone.

import {createPostgresBackend, isPgPool, Queue} from 'bullmq';
import {Redis} from 'ioredis';
import {expect, test} from 'vitest';
import {openQueueBackend, queueNames, queueSchema} from '../../jobs/queue.ts';
import {wakeOptions} from '../../jobs/queue-jobs.ts';
import {prefix} from '../../jobs/redis.ts';
import {emptyRedis} from '../support/redis.ts';
import {openPlainPool} from '../support/with-client.ts';
import {backends, closers, endedWell, many, start, useManyAccounts} from './many-accounts-place.ts';

useManyAccounts();

const timeout = 20_000;

/** A queue as a user opens it, who knows the address and BullMQ, and none of our code. */
function openQueue(
  name: string,
  redisUrl: string | null,
): Pick<Queue, 'getCompleted' | 'getFailed'> {
  if (redisUrl !== null) {
    const connection = new Redis(redisUrl, {maxRetriesPerRequest: null});
    const queue = new Queue(name, {connection, prefix});
    closers.push(async () => {
      await queue.close();
      connection.disconnect();
    });
    return queue;
  }
  const options = `-c search_path=${queueSchema}`;
  const connection: unknown = openPlainPool(many.deps.databaseUrl, {options, max: 2});
  if (!isPgPool(connection)) throw new TypeError('expected a pool that BullMQ knows');
  const queue = new Queue(name, {connection}, createPostgresBackend);
  closers.push(async () => {
    await queue.close();
    await connection.end();
  });
  return queue;
}

test.each(backends)('runs, retries and failures can be read from the queue on %s', async (kind) => {
  const redisUrl = kind === 'redis' ? await emptyRedis() : null;
  const {databaseUrl, log, pool} = many.deps;
  const good = await many.add('good');
  const refused = await many.add('refused');
  const [sweepId] = await many.request(good, 'customers');
  const [failing] = await many.request(refused, 'tasks');
  many.server.manners.set('refused', {isRefusing: true});
  await start(await openQueueBackend({redisUrl, databaseUrl, log}), {keepsSchedules: true});
  const sweeps = openQueue(queueNames.sweeps, redisUrl);
  const pushes = openQueue(queueNames.pushes, redisUrl);

  const hasRun = async () =>
    (await sweeps.getCompleted()).find(({data}) => data.sweepId === sweepId);
  await expect.poll(hasRun, {timeout}).toMatchObject({
    name: 'sweep',
    data: {
      accountId: good.accountId,
      account: 'good',
      stream: 'customers',
      mode: 'full',
      attempt: 1,
    },
    returnvalue: {outcome: 'ended', state: endedWell, counts: {inserted: 6, quarantined: 0}},
  });
  const hasFailed = async () =>
    (await sweeps.getFailed()).find(({data}) => data.sweepId === failing);
  await expect.poll(hasFailed, {timeout}).toMatchObject({
    data: {account: 'refused', stream: 'tasks'},
    failedReason: expect.stringContaining('401'),
  });

  // The service is broken for a while: the sweep is put back.
  many.server.manners.set('good', {isBroken: true});
  const [again] = await many.request(good, 'employees');
  const isPostponed = async () =>
    (await sweeps.getCompleted()).find(({data}) => data.sweepId === again);
  await expect.poll(isPostponed, {timeout}).toMatchObject({
    returnvalue: {outcome: 'postponed', reason: expect.any(String), delayMs: expect.any(Number)},
  });

  await pool.query(
    `INSERT INTO warehouse.customers (account_id, name)
      VALUES ((SELECT account_id FROM sync.accounts WHERE name = 'good'), 'New')`,
  );
  const hasPushed = async () => (await pushes.getCompleted())[0];
  await expect.poll(hasPushed, {timeout}).toMatchObject({
    name: 'push',
    data: {accountId: good.accountId, account: 'good'},
    returnvalue: {done: expect.any(Number), rejected: 0},
  });
});

test('completed and failed jobs are kept for a day, at most a thousand of each', () => {
  const kept = {age: 24 * 60 * 60, count: 1_000};
  expect(wakeOptions).toMatchObject({removeOnComplete: kept, removeOnFail: kept});
});
