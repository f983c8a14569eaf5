// The main job with a login that is a member of fieldmirror_worker alone, and the queue in
// Postgres.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const login = `mirror_${randomBytes(4).toString('hex')}`;
let place: Place;
let env: Readonly<Record<string, string>>;
let owner: pg.Client;
let worker: pg.Client;

beforeAll(async () => {
  place = await openPlace();
  const url = new URL(place.databaseUrl);
  url.username = login;
  url.password = 'made-up';
  env = {...place.env, DATABASE_URL: url.href};
  owner = new pg.Client({connectionString: place.databaseUrl});
  worker = new pg.Client({connectionString: url.href});
  await owner.connect();
  await makeRole(login, `LOGIN PASSWORD 'made-up'`);
  await worker.connect();
});

afterAll(async () => {
  await worker?.end();
  await owner?.end();
  await dropRoles(login);
  await place?.close();
});

test('start with the worker role fails and prints that the owner must run migrate', async () => {
  const {code, stderr} = await runCommand(['start', '--once'], env);
  expect(stderr).toMatch(/fieldmirror migrate.*owner/s);
  expect(code).toBe(3);
});

test('a login with only the worker role mirrors the account and writes changes back', async () => {
  expect(await runCommand(['migrate'], place.env)).toMatchObject({code: 0});
  await owner.query(`GRANT fieldmirror_worker TO ${login}`);
  // Without a rule the doctor warns that nobody is told.
  await owner.query(
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('desk', 'email', 'ops@example.com', 0)`,
  );
  const first = await runCommand(['start', '--once', '--json'], env);
  expect(first, first.stderr).toMatchObject({code: 0});
  const {rows} = await owner.query(
    `UPDATE warehouse.customers SET fax = '555-0100' WHERE customer_number = 1 RETURNING row_id`,
  );
  expect(rows).toHaveLength(1);
  await owner.query(`INSERT INTO warehouse.tasks (name) VALUES ('Order a ladder')`);
  const second = await runCommand(['start', '--once', '--json'], env);
  expect(second, second.stderr).toMatchObject({code: 0});
  expect(
    (await owner.query('SELECT operation, state FROM sync.changes ORDER BY change_id')).rows,
  ).toEqual([
    {operation: 'update', state: 'done'},
    {operation: 'create', state: 'done'},
  ]);
});

test('start with the worker role keeps running and stops without a permission error', async () => {
  const running = startCommand(['start'], env);
  await running.prints(/Running\. Ctrl-C/);
  running.process.kill('SIGINT');
  const {code, stderr} = await running.ended;
  expect(stderr).not.toMatch(/permission|refused/);
  expect(code).toBe(0);
});

test.each(allTables.map(({name}) => name))(
  'the worker role can neither write nor delete the history of %s',
  async (name) => {
    for (const statement of [
      `UPDATE history.past_${name} SET valid_to = now()`,
      `DELETE FROM history.past_${name}`,
      `INSERT INTO history.past_${name} DEFAULT VALUES`,
      `TRUNCATE history.past_${name}`,
    ])
      await expect(worker.query(statement)).rejects.toThrow('permission denied');
  },
);

test('the worker role cannot change edits and rules or delete changes and attempts', async () => {
  for (const statement of [
    `UPDATE history.edits SET written_by = 'x'`,
    'DELETE FROM history.edits',
    'DELETE FROM sync.changes',
    'DELETE FROM sync.attempts',
    `UPDATE sync.write_rules SET rule = 'service'`,
    `SELECT sync.grant_account('${login}', 'x')`,
    'CREATE TABLE warehouse.mine ()',
  ])
    await expect(worker.query(statement)).rejects.toThrow('permission denied');
});
