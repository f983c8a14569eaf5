// Deletes of a login that are held until a person releases them, by its grant or by its own
// setting. What else it writes goes at once.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {type Login, openLogin} from '../feed/logins.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
/** Authors: the deletes of the first are held. */
let erp: Login;
let shop: Login;
let rowId: string;
const reason = 'deletes of its author wait for a person';
beforeAll(async () => {
  world = await openCaptureWorld();
  erp = await openLogin(world.url, 'fieldmirror_author');
  shop = await openLogin(world.url, 'fieldmirror_author');
});
afterAll(async () => {
  await erp?.close();
  await shop?.close();
  await world?.close();
});
beforeEach(async () => {
  await world.empty();
  await grant(erp.name, ', holds_deletes => true');
  await grant(shop.name, ', holds_deletes => false');
  rowId = await world.sent('customers', {customer_number: 3, id: 103, name: 'a'});
});

const grant = (role: string, more = '') =>
  world.author(`SELECT sync.grant_account('${role}', 'acme'${more})`);
const deleted = `DELETE FROM warehouse.customers WHERE customer_number = 3`;
const changes = () => world.changes('operation, state, reason');
const isGone = async () =>
  (await world.row('customers', rowId, '_deleted_at IS NOT NULL AS gone'))?.gone;
const held = [{operation: 'delete', state: 'held', reason}];
const sent = [{operation: 'delete', state: 'pending', reason: null}];

describe('a login whose grant holds deletes', () => {
  test('creates and updates at once; its delete waits until a person releases it', async () => {
    await erp.pool.query(`UPDATE warehouse.customers SET name = 'b'`);
    await erp.pool.query(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    expect(await world.changes('state')).toEqual([{state: 'pending'}, {state: 'pending'}]);
    await erp.pool.query(deleted);
    expect((await changes())[2]).toEqual(held[0]);
    expect(await isGone()).toBe(true);
    expect(
      await world.author('SELECT sync.release_change(max(change_id)) AS state FROM sync.changes'),
    ).toEqual([{state: 'pending'}]);
    expect((await changes())[2]).toEqual(sent[0]);
  });

  test('gets its row back when the delete is cancelled', async () => {
    await erp.pool.query(deleted);
    await world.author('SELECT sync.cancel_change(max(change_id)) FROM sync.changes');
    expect(await isGone()).toBe(false);
    expect(await changes()).toMatchObject([{state: 'cancelled'}]);
  });

  test.each([
    `SET LOCAL fieldmirror.mode = ''`,
    `SET LOCAL fieldmirror.mode = 'hold-deletes'`,
    'SET LOCAL ROLE fieldmirror_author',
    `SET LOCAL application_name = 'http: erp'; SET LOCAL fieldmirror.person = 'x'`,
  ])('cannot bypass the hold with %s', async (setting) => {
    await erp.pool.query(`BEGIN; ${setting}; ${deleted}; COMMIT`);
    expect(await changes()).toEqual(held);
  });

  test('holds updates and creates in the mode hold, without the reason of deletes', async () => {
    await erp.pool.query(
      `BEGIN; SET LOCAL fieldmirror.mode = 'hold'; UPDATE warehouse.customers SET name = 'b';
       INSERT INTO warehouse.tasks (name) VALUES ('x'); COMMIT`,
    );
    expect(await changes()).toMatchObject([
      {operation: 'update', state: 'held', reason: null},
      {operation: 'create', state: 'held', reason: null},
    ]);
  });

  test('deletes unsent rows and removes employees from a job without a hold', async () => {
    await erp.pool.query(
      `INSERT INTO warehouse.tasks (name) VALUES ('x'); DELETE FROM warehouse.tasks`,
    );
    expect(await changes()).toMatchObject([{operation: 'create', state: 'cancelled'}]);
    await world.sent('jobs', {job_number: 4, id: 104});
    await world.sent('job_employees', {job_number: 4, employee_id: 7});
    await erp.pool.query('DELETE FROM warehouse.job_employees');
    expect((await changes())[1]).toMatchObject({operation: 'update', state: 'pending'});
  });

  test('keeps the hold when it is granted again, until the owner switches it off', async () => {
    await grant(erp.name);
    await grant(erp.name, `, 'tryton'`);
    await erp.pool.query(deleted);
    expect(await changes()).toEqual(held);
    await world.author('SELECT sync.cancel_change(max(change_id)) FROM sync.changes');
    await grant(erp.name, ', holds_deletes => false');
    await erp.pool.query(deleted);
    expect((await changes())[1]).toEqual(sent[0]);
    expect(
      await world.author('SELECT system FROM sync.author_accounts WHERE role_name = $1', [
        erp.name,
      ]),
    ).toEqual([{system: 'tryton'}]);
  });

  test('cannot switch off the hold', async () => {
    await expect(
      erp.pool.query(`SELECT sync.grant_account('${erp.name}', 'acme', holds_deletes => false)`),
    ).rejects.toThrow('permission denied');
  });
});

describe('the hold of deletes', () => {
  test('does not apply to another login or to the owner', async () => {
    await shop.pool.query(deleted);
    expect(await changes()).toEqual(sent);
    await world.author('SELECT sync.cancel_change(max(change_id)) FROM sync.changes');
    await world.author(deleted);
    expect((await changes())[1]).toEqual(sent[0]);
  });

  test('applies to a member of a role whose deletes are held', async () => {
    await grant('fieldmirror_author', ', holds_deletes => true');
    await shop.pool.query(deleted);
    expect(await changes()).toEqual(held);
    await world.author(`SELECT sync.revoke_account('fieldmirror_author', 'acme')`);
  });
});

describe('the mode hold-deletes of an author', () => {
  test('holds only the deletes of a transaction', async () => {
    await shop.pool.query(
      `BEGIN; SET LOCAL fieldmirror.mode = 'hold-deletes';
       INSERT INTO warehouse.tasks (name) VALUES ('x'); ${deleted}; COMMIT`,
    );
    expect(await changes()).toEqual([
      {operation: 'create', state: 'pending', reason: null},
      held[0],
    ]);
  });

  test('can be set in the address of the connection', async () => {
    const address = Object.assign(new URL(world.url), {username: shop.name, password: 'made-up'});
    address.searchParams.set('options', '-c fieldmirror.mode=hold-deletes');
    const pool = openPool(address.href, {max: 1, applicationName: 'shop'});
    try {
      await pool.query(deleted);
    } finally {
      await pool.end();
    }
    expect(await changes()).toEqual(held);
  });

  test('cannot be set with ALTER ROLE by a login that is no superuser', async () => {
    await expect(
      shop.pool.query(`ALTER ROLE ${shop.name} SET fieldmirror.mode = 'hold-deletes'`),
    ).rejects.toThrow('permission denied to set parameter "fieldmirror.mode"');
  });
});
