// A plan of a hosted Postgres may have twenty connections for all who use the warehouse: the queue
// takes six of them, however much is to be done, and gives them back.

import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {openQueueBackend, queueNames} from '../../jobs/queue.ts';
import {wakePushes} from '../../jobs/queue-jobs.ts';
import {createLogger} from '../../src/core/log.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {openPlainPool} from '../support/with-client.ts';

const most = 6;
const accountCount = 60;
const log = createLogger({level: 'silent', secrets: []});
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
});

afterAll(() => database.drop());

test('two queues and two workers hold at most six sessions, and none once closed', async () => {
  const pool = openPlainPool(database.url, {max: 1});
  const count = async () => {
    const {rows} = await pool.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    return rows[0]?.count ?? 0;
  };
  const backend = await openQueueBackend({redisUrl: null, databaseUrl: database.url, log});
  const sweeps = backend.makeQueue(queueNames.sweeps);
  const pushes = backend.makeQueue(queueNames.pushes);
  const done = new Set<unknown>();
  let highest = 0;
  const allDone = Promise.withResolvers<void>();
  const process = async ({data}: {data: unknown}) => {
    highest = Math.max(highest, await count());
    done.add(data);
    if (done.size === accountCount) allDone.resolve();
  };
  const workers = [queueNames.sweeps, queueNames.pushes].map((name) =>
    backend.makeWorker(name, process, {concurrency: 8}),
  );
  const parts = [...workers, sweeps, pushes];
  await Promise.all(parts.map((part) => part.waitUntilReady()));
  const accounts = Array.from({length: accountCount}, (_, at) => ({
    accountId: String(at),
    name: `account-${at}`,
  }));
  await Promise.all([
    wakePushes(pushes, accounts.slice(0, 30)),
    wakePushes(sweeps, accounts.slice(30)),
  ]);
  await allDone.promise;
  expect(highest).toBeGreaterThan(2);
  expect(highest).toBeLessThanOrEqual(most);
  await Promise.all(parts.map((part) => part.close()));
  await expect.poll(count).toBe(0);
  await pool.end();
});
