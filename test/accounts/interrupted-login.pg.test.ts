// Postgres logs the text of a statement that fails, of one that waits for long, and of those in a
// deadlock. That of sync.set_employee_login bears a password, so it never fails, and waits for
// nobody.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {parseKeys} from '../../src/core/secret.ts';
import {Passwords} from '../../src/push/passwords.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';
import {readPostgresLog} from '../support/postgres-log.ts';

let world: CaptureWorld;
/** Told of every wait: only a superuser may ask for that. */
let caller: pg.Client;
beforeAll(async () => {
  world = await openCaptureWorld();
  await world.sent('employees', {employee_number: '7', id: '70'});
  await world.sent('employees', {employee_number: '8', id: '80'});
  await new Passwords({
    pool: world.pool,
    keys: parseKeys(randomBytes(32).toString('base64')),
  }).makeReady();
  await world.author(`UPDATE warehouse.employees SET name = 'Ada' WHERE employee_number = 7`);
  const url = new URL(inject('superuserUrl'));
  url.pathname = new URL(world.url).pathname;
  caller = new pg.Client({connectionString: url.href});
  await caller.connect();
  await caller.query(
    `SET log_min_error_statement = 'error'; SET log_lock_waits = on; SET deadlock_timeout = '5ms'; SET statement_timeout = '5s'`,
  );
});
afterAll(async () => {
  await caller?.end();
  await world?.close();
});

/**
 * Sets a login by a statement that has the password in its text, while another session holds a
 * lock.
 */
async function setBeside(hold: string, number = 7) {
  const password = `made-up-${randomBytes(8).toString('hex')}`;
  const holder = await world.pool.connect();
  try {
    await holder.query(`BEGIN; ${hold}`);
    const set = `SELECT * FROM sync.set_employee_login(${number}, 'ada', '${password}',
      force => true)`;
    const {rows} = await caller.query(set);
    return {rows, isLogged: (await readPostgresLog()).includes(password)};
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}

const writing = /somebody else is writing employee 7/;
const modes = ['SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE'];

test.each([
  ['its row', 'SELECT FROM warehouse.employees WHERE employee_number = 7 FOR UPDATE', writing],
  ['its row, for a foreign key', 'SELECT FROM warehouse.employees FOR KEY SHARE', writing],
  ['an edit of it that is not committed', `UPDATE warehouse.employees SET name = 'x'`, writing],
  ['its open change', 'SELECT FROM sync.changes FOR UPDATE', writing],
  ['the key', 'SELECT FROM sync.login_keys FOR UPDATE', /no worker has made a key yet/],
  ...modes.map((mode) => [
    `${mode} of the table`,
    `LOCK TABLE warehouse.employees IN ${mode} MODE`,
    /could not obtain lock/,
  ]),
] as [string, string, RegExp][])(
  'beside a lock on %s, it is refused in words at once, and its password is in no log',
  async (_, hold, why) => {
    expect(await setBeside(hold)).toEqual({
      rows: [{change_id: null, refused: expect.stringMatching(why)}],
      isLogged: false,
    });
  },
);

test('beside any lock that an author can take, its password is in no log', async () => {
  const {rows: tables} = await world.pool.query<{name: string}>(
    `SELECT oid::regclass::text AS name FROM pg_class
      WHERE relkind = 'r' AND has_table_privilege('fieldmirror_author', oid,
        'UPDATE, DELETE, TRUNCATE')`,
  );
  expect(tables.map(({name}) => name)).toContain('warehouse.employees');
  for (const {name} of tables)
    expect((await setBeside(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`)).isLogged, name).toBe(
      false,
    );
});

test('two logins that would wait for each other are told, and neither password is logged', async () => {
  const [one, other] = [await world.pool.connect(), await world.pool.connect()];
  const passwords = ['made-up-one-7f3a', 'made-up-other-7f3a'];
  const set = (number: number, at: number) =>
    `SELECT refused FROM sync.set_employee_login(${number}, 'u${number}', '${passwords[at]}',
      force => true)`;
  try {
    await one.query('BEGIN; SELECT FROM warehouse.employees WHERE employee_number = 7 FOR UPDATE');
    await other.query(
      'BEGIN; SELECT FROM warehouse.employees WHERE employee_number = 8 FOR UPDATE',
    );
    const {rows: answers} = await one.query(set(8, 0));
    expect(answers).toEqual([
      {refused: expect.stringContaining('somebody else is writing employee 8')},
    ]);
    expect((await other.query(set(7, 1))).rows).toEqual([
      {refused: expect.stringMatching(writing)},
    ]);
  } finally {
    for (const client of [one, other]) {
      await client.query('ROLLBACK');
      client.release();
    }
  }
  const log = await readPostgresLog();
  expect(passwords.filter((password) => log.includes(password))).toEqual([]);
});

test('beside no lock it is set', async () => {
  expect(await setBeside('SELECT 1', 8)).toEqual({
    rows: [{change_id: expect.any(String), refused: null}],
    isLogged: false,
  });
});

test('the look at the log would see it', async () => {
  await world
    .author(
      `SET log_min_error_statement = 'error'; SELECT sync.set_employee_login(nothing => 'planted-password')`,
    )
    .catch(() => {});
  expect(await readPostgresLog()).toContain('planted-password');
});
