// Any login with CONNECT may send notices, and no grant can stop it: so notices must cost next to
// nothing.

import pg from 'pg';
import {afterEach, expect, inject, test} from 'vitest';
import {openQueueBackend, type QueueBackend, queueNames} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {emptyRedis} from '../support/redis.ts';
import {openService, openWorld} from '../support/world.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const notices = 60_000;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The same backend, which counts the jobs put on the queue of pushes. */
function countPushes(backend: QueueBackend): QueueBackend & {readonly puts: () => number} {
  let puts = 0;
  const makeQueue: QueueBackend['makeQueue'] = (name) => {
    const queue = backend.makeQueue(name);
    if (name !== queueNames.pushes) return queue;
    return new Proxy(queue, {
      get: (target, key) => {
        if (key === 'addBulk') puts++;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return {...backend, makeQueue, puts: () => puts};
}

test.each(backends)(
  'a flood of notices does not block a change, with the queue on %s',
  async (kind) => {
    const service = await openService();
    closers.push(service.close);
    const world = await openWorld(service);
    closers.push(world.close);
    await world.sweep('employees');
    const redisUrl = kind === 'redis' ? await emptyRedis() : null;
    const backend = countPushes(
      await openQueueBackend({redisUrl, databaseUrl: world.databaseUrl, log: world.log}),
    );
    const {accountId} = world.account;
    const workers = await startWorkers(world, backend, {
      accountIds: [accountId],
      keepsSchedules: true,
    });
    closers.push(workers.stop);
    await workers.wakeDue();

    const stranger = new pg.Client(world.databaseUrl);
    await stranger.connect();
    closers.push(() => stranger.end());
    // Unknown accounts, the one that exists, and the channels of the queue itself.
    for (const statement of [
      `SELECT pg_notify('fieldmirror_due', (1000 + n)::text)
       FROM generate_series(1, ${notices}) AS n`,
      `SELECT pg_notify('fieldmirror_due', repeat('x', 7000) || n)
       FROM generate_series(1, 500) AS n`,
      `DO $$ BEGIN FOR n IN 1..2000 LOOP PERFORM pg_notify('fieldmirror_due', '${accountId}');
        COMMIT; END LOOP; END $$`,
      `SELECT pg_notify('bullmq_jobs', 'push' || n) FROM generate_series(1, 5000) AS n`,
      `DO $$ BEGIN FOR n IN 1..2000 LOOP PERFORM pg_notify('bullmq_jobs', 'push'); COMMIT; END LOOP;
        END $$`,
    ])
      await stranger.query(statement);

    const author = await world.pool.connect();
    try {
      await author.query(
        `UPDATE warehouse.employees SET name = 'Grace B. Hopper' WHERE employee_number = 1`,
      );
      const {rows} = await author.query(`SELECT sync.wait(sync.last_change(), '30 s') AS state`);
      expect(rows).toEqual([{state: 'done'}]);
    } finally {
      author.release();
    }
    // The change itself, and the poller's own rounds: made-up accounts never reach the queue.
    expect(backend.puts()).toBeLessThan(20);
  },
);
