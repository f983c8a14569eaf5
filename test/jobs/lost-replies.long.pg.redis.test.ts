// The queue takes a job, or the end of a queue job, and its answer is lost: BullMQ asks again, or
// believes that the call failed. Even if the queue then holds a job twice or not at all, each
// change reaches the service once.

import {afterEach, expect, inject, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {openFaultyLine} from '../support/faulty-line.ts';
import {openRecordingProxy} from '../support/recording-proxy.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {openService, openWorld} from '../support/world.ts';

const closers: (() => Promise<unknown>)[] = [];
const backends = ['postgres', ...(isInstalled() ? ['redis'] : [])];
/** A new job, and the end of a queue job; on Redis each is a script. */
const asks = /add_jobs_bulk|move_to_completed|evalsha/i;
const changes = 15;

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test.each(backends)(
  'each change is sent once if every second answer of the queue on %s is lost',
  {timeout: 180_000},
  async (kind) => {
    const service = await openService();
    const proxy = await openRecordingProxy(service.url);
    const world = await openWorld({...service, url: proxy.url});
    closers.push(service.close, proxy.close, world.close);
    await world.sweep('customers');
    const redis = kind === 'redis' ? await startServer() : null;
    const behind = new URL(redis?.url ?? inject('postgresUrl'));
    let asked = 0;
    const line = await openFaultyLine(Number(behind.port));
    if (redis !== null) closers.push(redis.stop);
    closers.push(() => line.close());
    const through = new URL(redis?.url ?? world.databaseUrl);
    through.port = String(line.port);
    const backend = await openQueueBackend({
      redisUrl: redis === null ? null : through.href,
      databaseUrl: redis === null ? through.href : world.databaseUrl,
      log: world.log,
    });
    const options = {accountIds: [world.account.accountId], keepsSchedules: true};
    const workers = await startWorkers({...world, leaseMs: 3_000}, backend, options);
    closers.push(workers.stop);
    line.setDraw((chunk) =>
      asks.test(chunk.toString('latin1')) && ++asked % 2 === 0 ? {kind: 'lose-reply'} : null,
    );
    for (let number = 1; number <= changes; number++) {
      await world.pool.query(
        number % 2 === 0
          ? `INSERT INTO warehouse.customers (name) VALUES ('New ${number}')`
          : `UPDATE warehouse.customers SET fax = '555-${number}'
              WHERE customer_number = ${number}`,
      );
      await expect.poll(() => countDone(), {timeout: 60_000}).toBe(number);
    }
    expect(line.struck['lose-reply']).toBeGreaterThanOrEqual(5);
    line.setDraw(null);
    const writes = proxy.takeWrites().map(({method, path, body}) => `${method} ${path} ${body}`);
    expect(writes).toHaveLength(changes);
    expect(new Set(writes).size).toBe(changes);

    async function countDone(): Promise<number> {
      const {rows} = await world.pool.query(
        `SELECT count(*)::int AS n FROM sync.changes WHERE state = 'done'`,
      );
      return rows[0].n;
    }
  },
);
