// One part is out of reach while the others answer: the queue, the service, the warehouse, and each
// two of them. Changes made meanwhile arrive once when the line is back.

import {afterEach, expect, inject, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {openPool} from '../../src/postgres/database.ts';
import {type FaultyLine, openFaultyLine} from '../support/faulty-line.ts';
import {createDatabase} from '../support/postgres.ts';
import {openRecordingProxy} from '../support/recording-proxy.ts';
import {emptyRedis} from '../support/redis.ts';
import {openService, openWorld} from '../support/world.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function before(url: string): Promise<{readonly line: FaultyLine; readonly url: string}> {
  const line = await openFaultyLine(Number(new URL(url).port));
  closers.push(() => line.close());
  const behind = new URL(url);
  behind.port = String(line.port);
  return {line, url: behind.href.replace(/\/$/, '')};
}

const cuts = [
  ['queue'],
  ['service'],
  ['warehouse'],
  ['queue', 'service'],
  ['queue', 'warehouse'],
  ['service', 'warehouse'],
] as const;

test.skipIf(inject('redisUrl') === null)(
  'each change has one effect after one or two of queue, service and warehouse were cut off',
  {timeout: 180_000},
  async () => {
    const service = await openService();
    const proxy = await openRecordingProxy(service.url);
    const database = await createDatabase(inject('warehouseTemplate'));
    closers.push(service.close, proxy.close);
    const api = await before(proxy.url);
    const warehouse = await before(database.url);
    const queue = await before(await emptyRedis());
    const lines = {queue: queue.line, service: api.line, warehouse: warehouse.line};
    const world = await openWorld(
      {url: api.url, token: service.token},
      {...database, url: warehouse.url},
    );
    closers.push(world.close);
    await world.sweep('customers');
    const {databaseUrl, log, account} = world;
    const settle = {checkDelaysMs: [100], arrivalLimitMs: 500};
    const backend = await openQueueBackend({redisUrl: queue.url, databaseUrl, log});
    const options = {accountIds: [account.accountId], keepsSchedules: true};
    const workers = await startWorkers({...world, leaseMs: 2_000, settle}, backend, options);
    closers.push(workers.stop);
    // A connection past every line.
    const author = openPool(database.url, {max: 1, applicationName: 'author'});
    closers.push(() => author.end());
    for (const [at, cut] of cuts.entries()) {
      for (const name of cut) await lines[name].goDown();
      await author.query(`INSERT INTO warehouse.customers (name) VALUES ('cut ${at}')`);
      await author.query(
        `UPDATE warehouse.customers SET fax = 'cut ${at}' WHERE customer_number = 1`,
      );
      for (const name of cut) await lines[name].comeUp();
      const states = async () => {
        // Changes tried meanwhile wait for their next try, but not longer than this test.
        await author.query(
          `UPDATE sync.changes SET due_at = now() WHERE due_at > now() + interval '1 second'`,
        );
        return (await author.query('SELECT DISTINCT state FROM sync.changes')).rows;
      };
      await expect
        .poll(states, {timeout: 30_000, message: cut.join(' and ')})
        .toEqual([{state: 'done'}]);
      const writes = proxy.takeWrites().map(({method}) => method);
      expect(writes.sort(), cut.join(' and ')).toEqual(['POST', 'PUT']);
    }
  },
);
