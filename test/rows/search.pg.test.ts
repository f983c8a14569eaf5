// Rows are found by words through an index that no row can break.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {findRows} from '../../src/rows/find-rows.ts';
import {allStreams} from '../../src/streams/all.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let accountId: string;

const tables = allStreams.map(({table}) => table);

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 2, applicationName: 'test'});
  const account = await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id`,
  );
  accountId = account.rows[0].account_id;
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const sweep = (statement: string, values: readonly unknown[] = []) =>
  inSweepTransaction(pool, (client) => client.query(statement, [accountId, ...values]));

async function find(words: string, phone: string | null = null): Promise<(string | null)[]> {
  const sought = {
    accountIds: [accountId],
    number: null,
    externalKey: null,
    words,
    phone,
    limit: 10,
  };
  return (await findRows(pool, tables, sought)).map(({number}) => number);
}

test.each([
  ['a word of 20,000 letters', randomBytes(10_000).toString('hex')],
  ['thousands of words', Array.from({length: 5_000}, (_, n) => `word${n}`).join(' ')],
  ['signs alone', "'\\ :*&|!()<->\u00a0\u2028"],
  ['an empty name', ''],
  ['letters of many scripts', 'Ελένη Соколова 山田 \u{1F600}'],
])('a row with %s is accepted, and found by its number', async (_, name) => {
  const number = String(Math.floor(Math.random() * 1e9) + 10);
  await sweep(
    `INSERT INTO warehouse.customers
       (account_id, customer_number, name, phone_number, _sweep_id) VALUES ($1, $2, $3, $3, 1)`,
    [number, name],
  );
  const hits = await findRows(pool, tables, {
    accountIds: [accountId],
    number,
    externalKey: null,
    words: name.slice(0, 50),
    phone: null,
    limit: 10,
  });
  expect(hits[0]).toMatchObject({number, by: 'number'});
});

test('a word is found even in the oldest of 2,000 rows', async () => {
  await sweep(
    `INSERT INTO warehouse.jobs (account_id, job_number, name, _sweep_id)
     SELECT $1, n, CASE WHEN n = 1 THEN 'Rare boiler' ELSE 'Common gutter' END, 1
     FROM generate_series(1, 2000) AS n`,
  );
  expect(await find('rare')).toEqual(['1']);
  expect(await find('common')).toHaveLength(10);
  expect(await find('gutter rare')).toEqual([]);
});

test('a row that is renamed is found only by its new name', async () => {
  await sweep(
    `UPDATE warehouse.jobs SET name = 'Plain boiler' WHERE account_id = $1 AND job_number = 1`,
  );
  expect(await find('rare')).toEqual([]);
  expect(await find('plain')).toEqual(['1']);
});

test('a phone number is found by its last digits, whatever separates its digits', async () => {
  await sweep(
    `INSERT INTO warehouse.customers (account_id, customer_number, name, phone_number, mobile,
      _sweep_id)
     VALUES ($1, 1, 'A', '(413) 555-0178', '+1.614.555.0142', 1),
       ($1, 2, 'B', '413 555 0179', NULL, 1)`,
  );
  expect(await find('', '5550178')).toEqual(['1']);
  expect(await find('', '6145550142')).toEqual(['1']);
  expect(await find('', '4135550179')).toEqual(['2']);
  expect(await find('', '413')).toEqual([]);
});

test('a search by words uses the index', async () => {
  await pool.query('VACUUM ANALYZE warehouse.jobs');
  const before = await scans();
  await find('plain');
  await pool.query('SELECT pg_stat_force_next_flush()');
  await expect.poll(scans).toBeGreaterThan(before);
});

async function scans(): Promise<number> {
  const {rows} = await pool.query(
    `SELECT idx_scan::integer AS scans FROM pg_stat_user_indexes
     WHERE indexrelname = 'jobs_search_idx'`,
  );
  return rows[0].scans;
}
