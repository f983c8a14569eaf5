// A user sets the login of an employee by SQL, beside a running worker.

import pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {isPassword} from '../../src/service/foundation.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

const password = 'correct horse battery';
let place: Place;
let client: pg.Client;
let truth: pg.Client;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  client = new pg.Client({connectionString: place.databaseUrl});
  truth = new pg.Client({connectionString: place.service.databaseUrl});
  await Promise.all([client.connect(), truth.connect()]);
  const swept = await runCommand(['sync', 'employees'], place.env);
  expect(swept.code, swept.stderr).toBe(0);
});
afterAll(async () => {
  await client.end();
  await truth.end();
  await place.close();
});

async function set(username: string): Promise<{change_id: string | null; refused: string | null}> {
  const {rows} = await client.query(
    `SELECT * FROM sync.set_employee_login((SELECT max(employee_number) FROM warehouse.employees
      WHERE active), $1, $2, true)`,
    [username, password],
  );
  return rows[0];
}

const keys = async () =>
  Number((await client.query('SELECT count(*) FROM sync.login_keys')).rows[0].count);

test('before a worker runs it is refused, and a push without a FIELDMIRROR_KEY makes no key that dies with it', async () => {
  expect((await set('early')).refused).toMatch(
    /no worker has made a key yet to seal the password with: start one/,
  );
  expect((await runCommand(['push'], place.env)).code).toBe(0);
  expect(await keys()).toBe(0);
});

test('start makes a key, sends the login, logs nothing of it, and takes its key along when it stops', async () => {
  const running = startCommand(['start'], {...place.env, FIELDMIRROR_LOG_LEVEL: 'debug'});
  await running.prints(/At work/);
  await expect.poll(keys, {timeout: 20_000}).toBe(1);
  const {change_id: id} = await set('starter');
  const {rows} = await client.query(`SELECT sync.wait($1, '30 s') AS state`, [id]);
  expect(rows).toEqual([{state: 'done'}]);
  running.process.kill('SIGTERM');
  const {stdout, stderr, code} = await running.ended;
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain(password);
  expect(await keys()).toBe(0);
  const held = await truth.query(
    `SELECT password_hash FROM service.employees WHERE username = 'starter'`,
  );
  expect(await isPassword(password, held.rows[0].password_hash)).toBe(true);
});

test('with a FIELDMIRROR_KEY the key is kept, and any push opens what it sealed', async () => {
  const env = {...place.env, FIELDMIRROR_KEY: Buffer.alloc(32, 7).toString('base64')};
  expect((await runCommand(['push'], env)).code).toBe(0);
  expect(await keys()).toBe(1);
  const {change_id: id} = await set('keeper');
  expect((await runCommand(['push'], env)).code).toBe(0);
  const {rows} = await client.query('SELECT state FROM sync.changes WHERE change_id = $1', [id]);
  expect(rows).toEqual([{state: 'done'}]);
  expect(await keys()).toBe(1);
});
