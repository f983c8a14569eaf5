// The workers with the key that opens an employee's password, and the fate of passwords when none
// has it.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {parseKeys, type Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {Passwords} from '../../src/push/passwords.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {createDatabase} from '../support/postgres.ts';
import {type LoginPlace, openLoginPlace} from './login-place.ts';

let place: LoginPlace;
let numbers: string[] = [];
const password = 'päss & <wörd> "1"';
const next = (): string => numbers.pop() ?? '';

beforeAll(async () => {
  place = await openLoginPlace(3);
  numbers = [...place.numbers];
});
afterAll(() => place.close());

test('a process without the key leaves it to the one that has it', async () => {
  const {change_id: id} = await place.set(next(), 'other', password);
  const stranger = new Passwords({
    pool: place.pool,
    keys: parseKeys(randomBytes(32).toString('base64')),
  });
  expect(await place.push({openPassword: (changeId) => stranger.open(changeId)})).toMatchObject({
    postponed: 1,
  });
  expect(await place.change(id)).toMatchObject({state: 'pending', failures: 0, isKept: true});
  await place.pool.query('UPDATE sync.changes SET due_at = now() WHERE change_id = $1', [id]);
  expect(await place.push()).toMatchObject({done: 1});
});

test('with a FIELDMIRROR_KEY a later process opens what was sealed for an earlier one', async () => {
  const keys = parseKeys(randomBytes(32).toString('base64'));
  await new Passwords({pool: place.pool, keys}).makeReady();
  const {change_id: id = ''} = await place.set(next(), 'kept', password);
  const heard: string[] = [];
  const onPassword = (opened: Secret) => void heard.push(opened.reveal());
  const later = new Passwords({pool: place.pool, keys, onPassword});
  const count = await place.pool.query('SELECT count(*) FROM sync.login_keys');
  await later.makeReady();
  expect((await place.pool.query('SELECT count(*) FROM sync.login_keys')).rows).toEqual(count.rows);
  expect((await later.open(id ?? ''))?.reveal()).toBe(password);
  expect(heard).toEqual([password]);
  expect(await place.push({openPassword: (changeId) => later.open(changeId)})).toMatchObject({
    done: 1,
  });
});

test('without one the key ends with its process, and what it sealed is dropped', async () => {
  const passwords = new Passwords({pool: place.pool, keys: []});
  await passwords.makeReady();
  const {change_id: id} = await place.set(next(), 'short', password);
  expect((await passwords.open(id ?? ''))?.reveal()).toBe(password);
  const {rows} = await place.pool.query(
    'SELECT sealed_private_key, sealed_by FROM sync.login_keys ORDER BY created_at DESC LIMIT 1',
  );
  expect(rows).toEqual([{sealed_private_key: null, sealed_by: null}]);
  await passwords.close();
  expect(await place.change(id)).toMatchObject({
    state: 'rejected',
    reason: 'the password was dropped when the worker stopped that could open it: set it again',
  });
});

test('a pgcrypto that is in another schema already is used from there', async () => {
  const database = await createDatabase();
  const pool = openPool(database.url, {max: 2, applicationName: 'test'});
  await pool.query('CREATE SCHEMA "Tools"; CREATE EXTENSION pgcrypto SCHEMA "Tools"');
  await migrateSchema(pool, definitions);
  await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone, employee_id)
      VALUES ('a', 'http://a', 'UTC', 1)`,
  );
  const client = new pg.Client({connectionString: database.url});
  await client.connect();
  await client.query(`SET fieldmirror.writer = 'sweep';
    INSERT INTO warehouse.employees (id, employee_number, name, can_login) VALUES (2, 2, 'b', false);
    RESET fieldmirror.writer`);
  const set = () => client.query(`SELECT refused FROM sync.set_employee_login(2, 'b', 'secret')`);
  expect((await set()).rows[0].refused).toMatch(/no worker has made a key yet/);
  const passwords = new Passwords({pool, keys: []});
  await passwords.makeReady();
  expect((await set()).rows[0].refused).toBeNull();
  const {rows} = await client.query('SELECT change_id AS id FROM sync.changes');
  expect((await passwords.open(rows[0].id))?.reveal()).toBe('secret');
  await client.query('DROP EXTENSION pgcrypto');
  expect((await set()).rows[0].refused).toMatch(/pgcrypto is missing/);
  await client.end();
  await pool.end();
  await database.drop();
});
