// Keys of rows in several outside systems: each author for its own system and its own accounts.

import {randomBytes} from 'node:crypto';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {removeAccount, renameAccount, upsertAccount} from '../../src/accounts/accounts.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {timeZone} from '../changes/capture-world.ts';
import {type FeedPlace, openFeedPlace} from '../feed/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const suffix = randomBytes(4).toString('hex');
/** For tryton in acme; for shopware in acme and the bakery; for default in acme; a reader. */
const [tryton, shop, plain, analyst] = ['tryton', 'shop', 'plain', 'analyst'].map(
  (name) => `links_${name}_${suffix}`,
) as [string, string, string, string];

let world: FeedPlace;
let bakery: string;
/** Of customer 7, in acme and in the bakery, and of customer 8 in acme. */
let row: string;
let rowOfBakery: string;
let other: string;
beforeAll(async () => {
  world = await openFeedPlace();
  const given = {name: 'bakery', apiUrl: 'https://example.com/bakery', timeZone};
  bakery = (await upsertAccount(world.pool, given)).accountId;
  for (const role of [tryton, shop, plain]) await makeRole(role, 'IN ROLE fieldmirror_author');
  await makeRole(analyst, 'IN ROLE fieldmirror_reader');
  await world.author(
    `SELECT sync.grant_account('${tryton}', 'acme', system => 'tryton'),
      sync.grant_account('${shop}', 'acme', 'shopware'),
      sync.grant_account('${shop}', 'bakery', system => 'shopware'),
      sync.grant_account('${plain}', 'acme')`,
  );
});
afterAll(async () => {
  await dropRoles(tryton, shop, plain, analyst);
  await world?.close();
});
beforeEach(async () => {
  row = await world.sent('customers', {customer_number: '7', name: 'Acme'});
  other = await world.sent('customers', {customer_number: '8', name: 'Bolt'});
  rowOfBakery = await world.sent('customers', {
    account_id: bakery,
    customer_number: '7',
    name: 'Bread',
  });
});
afterEach(async () => {
  await world.empty();
  await world.author('DELETE FROM sync.links');
});

const one = async (role: string | null, text: string) =>
  Object.values((await world.as(role, text))[0] ?? {})[0];
const set = (role: string | null, rowId: string, key: string, system = '') =>
  one(role, `SELECT sync.set_link('customers', ${rowId}, '${key}'${system})`);
const find = (role: string | null, key: string, more = '') =>
  one(role, `SELECT sync.find_link('customers', '${key}'${more})`);
const living = () =>
  world.author(
    `SELECT system, table_name, key, row_id, linked_by FROM sync.links WHERE until IS NULL
      ORDER BY link_id`,
  );
const externalKey = async (rowId: string) =>
  (await world.row('customers', rowId, 'external_key'))?.external_key;

describe('an author for a system', () => {
  test('sets, finds and removes the key of a row; each system has a separate key', async () => {
    expect(await set(tryton, row, 'P-17')).toBe(true);
    expect(await set(tryton, row, 'P-17')).toBe(false);
    expect(await set(shop, row, 'S-1')).toBe(true);
    expect(await set(plain, row, 'C-88')).toBe(true);
    expect(await externalKey(row)).toBe('C-88');
    expect(await living()).toMatchObject([
      {system: 'tryton', table_name: 'customers', key: 'P-17', row_id: row},
      {system: 'shopware', key: 'S-1', row_id: row},
    ]);
    expect(await find(tryton, 'P-17')).toBe(row);
    expect(await find(plain, 'C-88')).toBe(row);
    expect(await find(shop, 'S-1', `, ${world.accountId}`)).toBe(row);
    for (const role of [tryton, plain])
      expect(await one(role, `SELECT sync.remove_link('customers', ${row})`)).toBe(true);
    expect(await one(tryton, `SELECT sync.remove_link('customers', ${row})`)).toBe(false);
    expect(await find(tryton, 'P-17')).toBeNull();
    expect(await externalKey(row)).toBeNull();
    expect(await find(shop, 'S-1', `, ${world.accountId}`)).toBe(row);
  });

  test('makes a row and its key in one statement', async () => {
    await world.as(
      tryton,
      `WITH made AS (INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id)
       SELECT sync.set_link('customers', row_id, 'P-20') FROM made`,
    );
    const [made] = await world.author(`SELECT row_id FROM warehouse.customers WHERE name = 'New'`);
    expect(await find(tryton, 'P-20')).toBe(made?.row_id);
  });

  test('keeps the former key of a row as history, and can use it for another row', async () => {
    await set(tryton, row, 'P-17');
    await set(tryton, row, 'P-18');
    expect(
      await world.author('SELECT key, until IS NULL AS lives FROM sync.links ORDER BY link_id'),
    ).toEqual([
      {key: 'P-17', lives: false},
      {key: 'P-18', lives: true},
    ]);
    // The former key is free again.
    expect(await set(tryton, other, 'P-17')).toBe(true);
  });

  test('reads only the links of its system and its accounts', async () => {
    await set(tryton, row, 'P-17');
    await set(shop, row, 'S-1');
    await set(shop, rowOfBakery, 'S-2');
    const keys = async (role: string) =>
      (await world.as(role, 'SELECT key FROM sync.links ORDER BY key')).map(({key}) => key);
    expect(await keys(tryton)).toEqual(['P-17']);
    expect(await keys(shop)).toEqual(['S-1', 'S-2']);
    expect(await keys(plain)).toEqual([]);
    await expect(keys(analyst)).rejects.toThrow('permission denied');
    await expect(world.as(tryton, `UPDATE sync.links SET key = 'x'`)).rejects.toThrow(
      'permission denied',
    );
  });

  test('can use the same key for a different row in each account', async () => {
    await set(shop, row, 'S-1');
    await set(shop, rowOfBakery, 'S-1');
    expect(await find(shop, 'S-1', `, ${world.accountId}`)).toBe(row);
    expect(await find(shop, 'S-1', `, ${bakery}`)).toBe(rowOfBakery);
    await expect(find(shop, 'S-1')).rejects.toThrow(
      `account: expected one of your accounts, ${world.accountId}, ${bakery}, got nothing`,
    );
  });
});

describe('rejected, and nothing is written:', () => {
  afterEach(async () => expect(await living()).toEqual([]));

  test('the system of another author', async () => {
    const told = (own: string, role: string) =>
      `system: expected ${own}, for which role ${role} writes account acme, got 'shopware'`;
    await expect(set(tryton, row, 'S-1', `, 'shopware'`)).rejects.toThrow(told('tryton', tryton));
    await expect(set(plain, row, 'S-1', `, 'shopware'`)).rejects.toThrow(told('default', plain));
    await expect(find(tryton, 'S-1', `, NULL, 'shopware'`)).rejects.toThrow('expected tryton');
    await expect(
      world.as(tryton, `SELECT sync.remove_link('customers', ${row}, 'default')`),
    ).rejects.toThrow('expected tryton');
  });

  test('a row of another author’s account, as if the row did not exist', async () => {
    const told = `warehouse.customers: expected the row_id of a row of your accounts, got`;
    await expect(set(tryton, rowOfBakery, 'P-1')).rejects.toThrow(`${told} ${rowOfBakery}`);
    await expect(set(tryton, '999999', 'P-1')).rejects.toThrow(`${told} 999999`);
    await expect(find(tryton, 'P-1', `, ${bakery}`)).rejects.toThrow(
      `account: expected one of your accounts, ${world.accountId}, got ${bakery}`,
    );
  });

  test('a role that is not an author', async () => {
    await expect(set(analyst, row, 'P-1')).rejects.toThrow('permission denied');
  });

  test.each([
    ['no key', `'customers', 1, NULL`, 'key: expected 1 to 200 characters, got none'],
    ['an empty key', `'customers', 1, ''`, 'key: expected 1 to 200 characters, got 0'],
    ['a long key', `'customers', 1, repeat('x', 201)`, 'expected 1 to 200 characters, got 201'],
    ['no table', `'pg_class', 1, 'x'`, "table: expected one of warehouse, got 'pg_class'"],
  ])('%s', async (_, given, told) => {
    const text = `SELECT sync.set_link(${given.replace(' 1,', ` ${row},`)})`;
    await expect(world.as(tryton, text)).rejects.toThrow(told);
  });

  test.each([
    ['an empty external_key', `''`, 0],
    ['a long external_key', `repeat('x', 201)`, 201],
  ])('%s', async (_, key, length) => {
    const told = `warehouse.customers.external_key: expected 1 to 200 characters, got ${length}`;
    await expect(
      world.as(plain, `INSERT INTO warehouse.customers (name, external_key) VALUES ('x', ${key})`),
    ).rejects.toThrow(told);
    await expect(
      world.as(plain, `UPDATE warehouse.customers SET external_key = ${key} WHERE row_id = ${row}`),
    ).rejects.toThrow(told);
  });

  test('external_key by an author for another system, unless the value is unchanged', async () => {
    const told = 'warehouse.customers.external_key: expected a key of the system default';
    await expect(
      world.as(tryton, `INSERT INTO warehouse.customers (name, external_key) VALUES ('x', 'P-1')`),
    ).rejects.toThrow(told);
    const write = (key: string) =>
      world.as(
        tryton,
        `UPDATE warehouse.customers SET external_key = ${key}
        WHERE row_id = ${row} RETURNING row_id`,
      );
    await expect(write(`'P-1'`)).rejects.toThrow(told);
    await set(plain, row, 'C-88');
    await expect(write('NULL')).rejects.toThrow(told);
    expect(await write('external_key')).toEqual([{row_id: row}]);
    await world.as(
      tryton,
      `SET LOCAL fieldmirror.writer = ''; UPDATE warehouse.customers
      SET name = 'Best' WHERE row_id = ${row}`,
    );
    expect(await externalKey(row)).toBe('C-88');
  });
});

test.each([
  ['tryton', () => tryton],
  ['default', () => plain],
])('a key of system %s that another row has is rejected with its row_id', async (system, role) => {
  await set(role(), row, 'K-1');
  await expect(set(role(), other, 'K-1')).rejects.toThrow(
    `no other of the customers of account acme has in system ${system}, got that of row ${row}`,
  );
  expect(await find(role(), 'K-1')).toBe(row);
});

test('if two sessions set the same key at once, one of them is rejected', async () => {
  await world.author(`SELECT sync.set_link('customers', ${other}, 'P-0', 'tryton')`);
  const results = await Promise.allSettled([set(tryton, row, 'P-9'), set(tryton, other, 'P-9')]);
  expect(results.map(({status}) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect((await living()).filter(({key}) => key === 'P-9')).toHaveLength(1);
});

test('setting a key of the system default is recorded as a write of its author', async () => {
  const after = await world.end();
  await world.as(
    plain,
    `SET LOCAL fieldmirror.writer = 'sweep';
    SELECT sync.set_link('customers', ${row}, 'C-1')`,
  );
  expect(await world.feed(after)).toMatchObject([
    {operation: 'changed', row_id: row, after: {external_key: 'C-1'}, change_id: null},
  ]);
  expect((await world.feed(after))[0]?.written_by).not.toBeNull();
  expect(await world.changes()).toEqual([]);
});

test('the owner sets keys of any system; a repeated grant keeps its system', async () => {
  expect(await set(null, row, 'M-1', `, 'magento'`)).toBe(true);
  expect(await find(null, 'M-1', `, ${world.accountId}, 'magento'`)).toBe(row);
  await expect(set(null, row, 'M-2', `, 'no name'`)).rejects.toThrow('system: expected a name');
  const system = () =>
    one(null, `SELECT system FROM sync.author_accounts WHERE role_name = '${tryton}'`);
  await world.author(`SELECT sync.grant_account('${tryton}', 'acme')`);
  expect(await system()).toBe('tryton');
  await world.author(`SELECT sync.grant_account('${tryton}', 'acme', system => 'odoo')`);
  expect(await system()).toBe('odoo');
  await world.author(`SELECT sync.grant_account('${tryton}', 'acme', system => 'tryton')`);
  await expect(
    world.author(`SELECT sync.grant_account('${tryton}', 'acme', system => 'a b')`),
  ).rejects.toThrow(`system: expected a name of up to 50 letters`);
  await expect(
    world.as(tryton, `SELECT sync.grant_account('${tryton}', 'acme', system => 'shopware')`),
  ).rejects.toThrow('permission denied');
});

test('a member of two roles with different systems must be granted one of them', async () => {
  const both = `links_both_${suffix}`;
  await makeRole(both, `IN ROLE ${tryton}, ${plain}`);
  try {
    await expect(set(both, row, 'P-1')).rejects.toThrow(
      `role ${both}: expected one system in account acme, got default, tryton`,
    );
    await world.author(`SELECT sync.grant_account('${both}', 'acme', system => 'tryton')`);
    expect(await set(both, row, 'P-1')).toBe(true);
    expect(await find(tryton, 'P-1')).toBe(row);
  } finally {
    await world.author(`SELECT sync.revoke_account('${both}', 'acme')`);
    await dropRoles(both);
  }
});

describe('a link', () => {
  const links = () => find(tryton, 'P-17');
  beforeEach(() => set(tryton, row, 'P-17'));

  test('stays while its record is deleted, and after the record returns', async () => {
    await world.as(tryton, `DELETE FROM warehouse.customers WHERE row_id = ${row}`);
    expect((await world.row('customers', row))?._deleted_at).not.toBeNull();
    expect(await links()).toBe(row);
    const [{change_id: id} = {}] = await world.changes('change_id');
    await world.author('SELECT sync.cancel_change($1)', [id]);
    expect((await world.row('customers', row))?._deleted_at).toBeNull();
    await world.sweep(`UPDATE warehouse.customers SET _deleted_at = now() WHERE row_id = ${row}`);
    await world.sweep(`UPDATE warehouse.customers SET _deleted_at = NULL WHERE row_id = ${row}`);
    expect(await links()).toBe(row);
  });

  test('stays when its account is renamed', async () => {
    await renameAccount(world.pool, {accountId: world.accountId}, 'acme-2');
    expect(await links()).toBe(row);
    await renameAccount(world.pool, {accountId: world.accountId}, 'acme');
  });

  test.each([
    ['an author who takes back a new row', tryton, `DELETE FROM warehouse.customers WHERE`],
    [
      'a repair',
      null,
      `SET LOCAL fieldmirror.writer = 'repair'; DELETE FROM warehouse.customers WHERE`,
    ],
  ])('ends when its row is deleted: %s', async (_, role, statement) => {
    const [made] = await world.as(
      tryton,
      `INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id`,
    );
    await set(tryton, String(made?.row_id), 'P-30');
    await world.as(role, `${statement} row_id = ${made?.row_id}`);
    expect(await find(tryton, 'P-30')).toBeNull();
    expect(await set(tryton, row, 'P-30')).toBe(true);
  });

  test('ends when its table is truncated', async () => {
    await world.as(null, `SET LOCAL fieldmirror.writer = 'repair'; TRUNCATE warehouse.customers`);
    expect(await living()).toEqual([]);
  });
});

test('removing an account deletes its links and no others', async () => {
  const given = {name: 'cafe', apiUrl: 'https://example.com/cafe', timeZone};
  const {accountId} = await upsertAccount(world.pool, given);
  const held = await world.sent('customers', {account_id: accountId, customer_number: '7'});
  await set(null, held, 'P-17', `, 'tryton'`);
  await set(tryton, row, 'P-17');
  await inTransaction(world.pool, (client) => removeAccount(client, {accountId}));
  expect(await world.author('SELECT row_id FROM sync.links')).toEqual([{row_id: row}]);
});

describe('the feed', () => {
  const keys = async (role: string, after: string) => {
    await world.end();
    return await world.as(role, `SELECT external_key, after FROM sync.feed('${after}')`);
  };

  test('returns to each author the key of its system', async () => {
    const after = await world.end();
    await set(plain, row, 'C-88');
    await set(shop, row, 'S-1');
    await world.sweep(`UPDATE warehouse.customers SET name = 'Best' WHERE row_id = ${row}`);
    expect(await keys(plain, after)).toEqual([
      {external_key: 'C-88', after: {external_key: 'C-88'}},
      {external_key: 'C-88', after: {name: 'Best'}},
    ]);
    expect(await keys(shop, after)).toEqual([
      {external_key: 'S-1', after: {}},
      {external_key: 'S-1', after: {name: 'Best'}},
    ]);
    expect(await keys(tryton, after)).toMatchObject([{external_key: null}, {external_key: null}]);
    expect(await keys(analyst, after)).toMatchObject([{external_key: 'C-88'}, {}]);
    // A link is news of nobody else, and no entry.
    await set(tryton, row, 'P-17');
    expect(await keys(tryton, after)).toMatchObject([
      {external_key: 'P-17'},
      {external_key: 'P-17', after: {name: 'Best'}},
    ]);
  });

  test('rejects a request for the keys of a named system', async () => {
    await expect(
      world.as(tryton, `SELECT * FROM sync.feed(NULL, 10, of_system => 'shopware')`),
    ).rejects.toThrow("of_system: expected nothing, got 'shopware'");
  });
});
