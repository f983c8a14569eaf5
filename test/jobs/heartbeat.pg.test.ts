// A worker that goes on notes it again and again: a live worker is never taken for dead.

import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, expect, inject, test} from 'vitest';
import {Heartbeat} from '../../jobs/background.ts';
import {listWorkers} from '../../src/accounts/workers.ts';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let nowMs = 0;
let heartbeat: Heartbeat;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 1, applicationName: 'test'});
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

beforeEach(async () => {
  await pool.query('DELETE FROM sync.workers');
  const workerId = '00000000-0000-4000-8000-000000000001';
  const reach = () => ({keyIds: [], sendsMail: false, given: null});
  heartbeat = new Heartbeat(
    pool,
    {workerId, host: 'h', pid: 1, consoleUrl: null, version: '0', reach},
    () => nowMs,
  );
  await heartbeat.beat(['1']);
  // As if it had noted so a while ago.
  await pool.query(`UPDATE sync.workers SET seen_at = now() - interval '5 minutes'`);
});

const alive = async () => (await listWorkers(pool)).filter(({isAlive}) => isAlive);

test('an unchanged heartbeat is not repeated within 15 seconds', async () => {
  nowMs += 14_999;
  await heartbeat.beat(['1']);
  expect(await alive()).toEqual([]);
});

test('an unchanged heartbeat is repeated after 15 seconds', async () => {
  nowMs += 15_000;
  await heartbeat.beat(['1']);
  expect(await alive()).toMatchObject([{accountIds: ['1']}]);
});

test('a changed heartbeat is written at once', async () => {
  await heartbeat.beat(['1', '2']);
  expect(await alive()).toMatchObject([{accountIds: ['1', '2']}]);
});

test('a stopped heartbeat also deletes the rows of workers that were killed before', async () => {
  await pool.query(
    `INSERT INTO sync.workers (worker_id, host, pid, version, account_ids, key_ids, seen_at)
     VALUES (gen_random_uuid(), 'killed', 2, '0', '{}', '{}', now() - interval '2 minutes'),
            (gen_random_uuid(), 'alive', 3, '0', '{}', '{}', now())`,
  );
  await heartbeat.stop();
  expect((await listWorkers(pool)).map(({host}) => host)).toEqual(['alive']);
});

test('a stopped heartbeat deletes its row and writes nothing more', async () => {
  await heartbeat.stop();
  nowMs += 15_000;
  await heartbeat.beat(['1']);
  expect(await listWorkers(pool)).toEqual([]);
});
