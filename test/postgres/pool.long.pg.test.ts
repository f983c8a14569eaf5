// A hang takes one connection, never the pool: even where the pool has no other.

import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {RetryableError} from '../../src/core/errors.ts';
import {inTransaction, openPool} from '../../src/postgres/database.ts';
import {explainDatabaseError} from '../../src/postgres/database-errors.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

const run = promisify(execFile);
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('a server process that hangs (SIGSTOP) fails only one transaction', async () => {
  // The client gives up 15 s after the server's limit, and once more for the rollback.
  const pool = openPool(database.url, {
    max: 1,
    applicationName: 'test stopped',
    statementTimeoutMs: 100,
  });
  let pid = 0;
  try {
    const failed = inTransaction(pool, async (client) => {
      await client.query('CREATE TABLE public.half (id integer)');
      pid = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
      await run('kill', ['-STOP', String(pid)]);
      await client.query('INSERT INTO public.half VALUES (1)');
    });
    await expect(failed).rejects.toThrow(RetryableError);
    const {rows} = await pool.query('SELECT pg_backend_pid() AS pid');
    expect(rows[0].pid).not.toBe(pid);
  } finally {
    if (pid !== 0) await run('kill', ['-CONT', String(pid)]);
  }
  const {rows} = await pool.query(`SELECT to_regclass('public.half') AS half`);
  expect(rows).toEqual([{half: null}]);
  await pool.end();
}, 120_000);

test('a pool whose only connection is in use reports that it is busy, and continues', async () => {
  const pool = openPool(database.url, {max: 1, applicationName: 'test exhausted'});
  const taken = await pool.connect();
  const refused = await pool.query('SELECT 1').catch((error: unknown) => error);
  const told = explainDatabaseError(refused, database.url);
  expect(told).toBeInstanceOf(RetryableError);
  expect(told.message).toMatch(/no connection came free in time/);
  const waiting = Array.from({length: 20}, () => pool.query('SELECT 1 AS one'));
  taken.release();
  for (const {rows} of await Promise.all(waiting)) expect(rows).toEqual([{one: 1}]);
  await pool.end();
}, 60_000);
