// The feed as sweeps of a service and workers fill it.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';
import {type Entry, readEntries} from './place.ts';

let service: TestService;
let world: TestWorld;
beforeEach(async () => {
  service = await openService();
  world = await openWorld(service);
});
afterEach(async () => {
  await world.close();
  await service.close();
});

const read = async (): Promise<Entry[]> => {
  await world.pool.query('SELECT sync.sequence_feed()');
  return await readEntries(world.pool, null);
};
const told = ({table_name, operation, number}: Entry) => [table_name, operation, number];

test('a first load adds four entries, and a sweep without changes adds none', async () => {
  await world.sweepAll();
  const loaded = await read();
  expect(loaded.map(told).toSorted()).toEqual([
    ['customers', 'loaded', null],
    ['employees', 'loaded', null],
    ['jobs', 'loaded', null],
    ['tasks', 'loaded', null],
  ]);
  await world.sweepAll();
  expect(await read()).toEqual(loaded);
  await world.api.customers.create({name: 'Willow Laundry'});
  await world.api.customers.update('3', {phone_number: '555-0103'});
  await world.sweep('customers');
  await world.api.jobs.remove('7');
  await world.sweep('jobs');
  const news = (await read()).slice(4);
  expect(news.find(({after}) => after?.name === 'Willow Laundry')).toMatchObject({
    table_name: 'customers',
    operation: 'created',
  });
  expect(
    news.find(({number, table_name}) => table_name === 'customers' && number === '3'),
  ).toMatchObject({
    operation: 'changed',
    after: {phone_number: '555-0103'},
  });
  expect(news.map(told)).toContainEqual(['jobs', 'removed', '7']);
  expect(new Set(news.map(({entry_id}) => entry_id)).size).toBe(news.length);
});

test('a worker gives feed entries their positions automatically', async () => {
  const backend = await openQueueBackend({
    redisUrl: null,
    databaseUrl: world.databaseUrl,
    log: world.log,
  });
  const workers = await startWorkers(world, backend, {
    accountIds: [world.account.accountId],
    keepsSchedules: true,
  });
  try {
    await world.pool.query(`INSERT INTO warehouse.customers (name) VALUES ('Iris')`);
    await expect
      .poll(async () => (await readEntries(world.pool, null)).map(told), {timeout: 20_000})
      .toEqual([['customers', 'created', null]]);
  } finally {
    await workers.stop();
  }
});
