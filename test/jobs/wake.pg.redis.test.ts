// No wake-up is lost: one that comes while a worker is busy is followed, without a round of the
// poller.

import {afterEach, beforeEach, expect, inject, test, vi} from 'vitest';
import {openQueueBackend, queueNames} from '../../jobs/queue.ts';
import {wakePushes} from '../../jobs/queue-jobs.ts';
import {createLogger} from '../../src/core/log.ts';
import {createDatabase} from '../support/postgres.ts';
import {emptyRedis} from '../support/redis.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const account = {accountId: '7', name: 'acme'};
const closers: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  // Wake-ups of one moment count as one.
  vi.useFakeTimers({toFake: ['Date'], now: 1_800_000_000_000});
});

afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0).reverse()) await close();
});

test.each(backends)(
  'wake-ups during a run cause one more run, with the queue on %s',
  async (kind) => {
    const database = await createDatabase(inject('warehouseTemplate'));
    closers.push(database.drop);
    const redisUrl = kind === 'redis' ? await emptyRedis() : null;
    const backend = await openQueueBackend({
      redisUrl,
      databaseUrl: database.url,
      log: createLogger({level: 'silent', secrets: []}),
    });
    const queue = backend.makeQueue(queueNames.pushes);
    closers.push(() => queue.close());
    const begun = [0, 1].map(() => Promise.withResolvers<void>());
    const release = Promise.withResolvers<void>();
    let runs = 0;
    const process = async () => {
      begun[runs++]?.resolve();
      if (runs === 1) await release.promise;
    };
    const worker = backend.makeWorker(queueNames.pushes, process, {concurrency: 4});
    closers.push(() => worker.close());
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    await wakePushes(queue, [account]);
    await begun[0]?.promise;
    for (let n = 0; n < 5; n++) await wakePushes(queue, [account]);
    release.resolve();
    await begun[1]?.promise;
    expect(runs).toBe(2);
  },
);
