// One transaction that updates or deletes much of a table: it is held until a person agrees.

import {afterAll, beforeAll, beforeEach, describe, expect, inject, test} from 'vitest';
import {listLateChanges} from '../../src/changes/states.ts';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {openPlace} from '../support/place.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  await world.author('DELETE FROM sync.edit_limits');
});

/** Puts customers there, with the numbers from 1. */
async function fill(count: number): Promise<void> {
  await world.sweep(
    `INSERT INTO warehouse.customers (account_id, customer_number, name, _sweep_id, _hash)
     SELECT $1, number, 'customer ' || number, 1, '\\x00' FROM generate_series(1, $2) AS number`,
    [world.accountId, count],
  );
}

const author = (text: string) => world.as('fieldmirror_author', text);
const rename = (most: number) =>
  author(`UPDATE warehouse.customers SET name = 'x' WHERE customer_number <= ${most}`);
const countStates = () =>
  world.author(
    `SELECT state, is_large, count(*)::integer AS count FROM sync.changes GROUP BY state, is_large
      ORDER BY state`,
  );
const held = (count: number) => [{state: 'held', is_large: true, count}];
const pending = (count: number) => [{state: 'pending', is_large: null, count}];
const limit = (columns: string, value: number) =>
  world.author(
    `INSERT INTO sync.edit_limits (account_id, table_name, ${columns})
      VALUES ($1, 'customers', $2)`,
    [world.accountId, value],
  );

describe('a transaction of an author', () => {
  test('that updates every row is held, with both counts as the reason', async () => {
    await fill(40);
    await author(`UPDATE warehouse.customers SET name = 'x'`);
    expect(await countStates()).toEqual(held(40));
    expect(await world.author('SELECT DISTINCT reason FROM sync.changes')).toEqual([
      {reason: 'one transaction changes 40 of 40 customers: more than the 25 % that go unseen'},
    ]);
  });

  test.each([
    [10, 40, pending(10)],
    [11, 40, held(11)],
    [20, 20, pending(20)],
    [21, 21, held(21)],
    [5, 21, pending(5)],
    [6, 21, held(6)],
  ])(
    'that updates %i of %i rows is held if over a quarter of more than 20 rows',
    async (changed, rows, expected) => {
      await fill(rows);
      await rename(changed);
      expect(await countStates()).toEqual(expected);
    },
  );

  test('is judged as a whole if it writes row by row or deletes', async () => {
    await fill(40);
    const each = Array.from(
      {length: 11},
      (_, at) => `UPDATE warehouse.customers SET name = 'x' WHERE customer_number = ${at + 1}`,
    );
    await author(each.join('; '));
    expect(await countStates()).toEqual(held(11));
    await world.empty();
    await fill(40);
    await author('DELETE FROM warehouse.customers WHERE customer_number <= 11');
    expect(await countStates()).toEqual(held(11));
    await world.empty();
    await fill(40);
    for (const statement of each) await author(statement);
    expect(await countStates()).toEqual(pending(11));
  });

  test('holds earlier changes that it edits, but none that it does not touch', async () => {
    await fill(40);
    await rename(10);
    await author(
      `UPDATE warehouse.customers SET name = 'y' WHERE customer_number BETWEEN 5 AND 35`,
    );
    expect(await world.changes(`state, fields->>'name' AS name`)).toEqual([
      ...Array.from({length: 4}, () => ({state: 'pending', name: 'x'})),
      ...Array.from({length: 31}, () => ({state: 'held', name: 'y'})),
    ]);
  });

  test('does not count rows that it changes back', async () => {
    await fill(40);
    await author(
      `UPDATE warehouse.customers SET name = 'x' WHERE customer_number <= 11;
       UPDATE warehouse.customers SET name = 'customer 1' WHERE customer_number = 1`,
    );
    expect(await countStates()).toEqual([
      {state: 'cancelled', is_large: null, count: 1},
      ...pending(10),
    ]);
  });

  test('may create any number of rows, and edit them before they are sent', async () => {
    await fill(40);
    await author(
      `INSERT INTO warehouse.customers (name) SELECT 'new' FROM generate_series(1, 100);
       UPDATE warehouse.customers SET fax = '1' WHERE customer_number IS NULL`,
    );
    expect(await countStates()).toEqual(pending(100));
  });

  test('is judged by the number of rows of its account', async () => {
    await fill(40);
    const [other] = await world.author(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
        VALUES ('north', 'https://example.com/north', 'UTC') RETURNING account_id`,
    );
    await world.sweep(
      `INSERT INTO warehouse.customers (account_id, customer_number, name, _sweep_id, _hash)
       SELECT $1, number, 'customer ' || number, 1, '\\x00'
         FROM generate_series(1, 1000) AS number`,
      [other?.account_id],
    );
    await world.author(
      `UPDATE warehouse.customers SET name = 'x'
        WHERE customer_number <= 11 AND account_id = ${world.accountId}`,
    );
    expect(await countStates()).toEqual(held(11));
    await world.author(
      `UPDATE warehouse.customers SET name = 'x'
        WHERE customer_number <= 11 AND account_id = ${other?.account_id}`,
    );
    expect(await countStates()).toEqual([...held(11), ...pending(11)]);
    await world.empty();
    await world.author(`DELETE FROM sync.accounts WHERE name = 'north'`);
  });
});

describe('a limit for a table', () => {
  test.each([
    ['most_rows', 30, 30, pending(30)],
    ['most_rows', 30, 31, held(31)],
    ['most_rows', 0, 1, held(1)],
    ['most_percent', 50, 20, pending(20)],
    ['most_percent', 50, 21, held(21)],
    ['most_percent', 100, 40, pending(40)],
    ['most_percent', 0, 1, held(1)],
  ])(
    'of %s = %d decides whether %i changes of 40 rows are held',
    async (column, value, changed, expected) => {
      await fill(40);
      await limit(column, value);
      await rename(changed);
      expect(await countStates()).toEqual(expected);
    },
  );
});

describe('a large edit that is held', () => {
  test('is listed as late at once, until it is released or cancelled', async () => {
    await fill(40);
    await rename(11);
    const late = async () =>
      (await listLateChanges(world.pool, [world.accountId])).map(({lateness, count}) => ({
        lateness,
        count,
      }));
    expect(await late()).toEqual([{lateness: 'held', count: 11}]);
    await author('SELECT sync.release_change((SELECT min(change_id) FROM sync.changes))');
    await author(
      `SELECT sync.decide_changes(ARRAY(SELECT change_id FROM sync.changes WHERE state = 'held'
        ORDER BY change_id LIMIT 5), 'release')`,
    );
    await author(
      `SELECT sync.decide_changes(ARRAY(SELECT change_id FROM sync.changes WHERE state = 'held'),
        'cancel')`,
    );
    expect(await late()).toEqual([]);
    expect(await countStates()).toEqual([
      {state: 'cancelled', is_large: true, count: 5},
      ...pending(6),
    ]);
    // What a person holds later is their own affair for a week.
    await author('SELECT sync.hold_change((SELECT min(change_id) FROM sync.changes))');
    expect(await late()).toEqual([]);
  });
});

test('an UPDATE without WHERE sends nothing before a person releases it', async () => {
  const place = await openPlace({}, inject('warehouseTemplate'));
  const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'erp'});
  const run = (...args: string[]) => runCommand(args, place.env);
  const service = openPool(place.service.databaseUrl, {max: 1, applicationName: 'test'});
  const countWrites = async () =>
    (await service.query(`SELECT count(*)::integer AS count FROM service.journal`)).rows[0].count;
  try {
    expect(await run('sync', 'customers')).toMatchObject({code: 0});
    const before = await countWrites();
    await pool.query(`UPDATE warehouse.customers SET fax = '555-0100'`);
    const {rows} = await pool.query(
      'SELECT transaction_id AS id, count(*)::integer AS count FROM sync.changes GROUP BY 1',
    );
    await run('push');
    expect(await countWrites()).toBe(before);
    expect(await run('status')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${rows[0].count} changes are held`),
    });
    const change = await run('changes', 'show', '1');
    const release = ['changes', 'release', '--state', 'held', '--transaction', rows[0].id];
    expect(change.stdout).toContain(`fieldmirror ${release.join(' ')}`);
    expect(await run(...release)).toMatchObject({code: 0});
    expect(await run('push')).toMatchObject({code: 0});
    expect((await countWrites()) - before).toBe(rows[0].count);
  } finally {
    await service.end();
    await pool.end();
    await place.close();
  }
});
