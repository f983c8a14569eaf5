// A worker at work removes what is no longer kept, and says so in one line.

import {afterEach, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {createLogger} from '../../src/core/log.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {addSweep, database, ids, pool, useRetentionPlace} from '../retention/place.ts';

useRetentionPlace();

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/**
 * Starts a worker that serves no account. @returns its line about what it has removed, which is
 * still to come
 */
async function work(): Promise<{readonly pruned: Promise<unknown>}> {
  const {promise, resolve} = Promise.withResolvers<unknown>();
  const write = (text: string) => {
    const line = JSON.parse(text);
    if (line.event === 'warehouse.pruned') resolve(line);
  };
  const log = createLogger({level: 'info', secrets: [], destination: {write}});
  const pageReader = new PageReader();
  closers.push(async () => pageReader.close());
  const openAccount = () => Promise.reject(new Error('expected no account, got one'));
  const backend = await openQueueBackend({redisUrl: null, databaseUrl: database.url, log});
  const workers = await startWorkers(
    {pool, databaseUrl: database.url, log, openAccount, pageReader},
    backend,
    {accountIds: [], keepsSchedules: true},
  );
  closers.push(() => workers.stop());
  return {pruned: promise};
}

test('a worker that keeps schedules prunes old sweeps automatically', async () => {
  for (const days of [40, 30, 20]) await addSweep(days);
  const {pruned} = await work();
  expect(await pruned).toMatchObject({quiet_sweeps: 2, msg: 'what is no longer kept was removed'});
  expect(await ids('SELECT sweep_id AS id FROM sync.sweeps')).toEqual(['3']);
});
