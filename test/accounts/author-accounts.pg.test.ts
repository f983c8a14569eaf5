// Authors are bound to accounts: they see and write only these.

import {randomBytes} from 'node:crypto';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, openCaptureWorld, timeZone} from '../changes/capture-world.ts';
import {owner} from '../support/plain-owner.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const suffix = randomBytes(4).toString('hex');
/** Bound to acme; to acme and to the bakery; to nothing. */
const [one, two, none] = ['one', 'two', 'none'].map((name) => `author_${name}_${suffix}`) as [
  string,
  string,
  string,
];
const captured = allTables.filter(({capture}) => capture.operations.length > 0);

let world: CaptureWorld;
let accounts: string[];
beforeAll(async () => {
  world = await openCaptureWorld();
  accounts = [world.accountId];
  for (const name of ['bakery', 'cinema', 'dairy']) {
    const apiUrl = `https://example.com/${name}`;
    accounts.push((await upsertAccount(world.pool, {name, apiUrl, timeZone})).accountId);
  }
  for (const role of [one, two, none]) await makeRole(role, 'IN ROLE fieldmirror_author');
  await world.author(
    `SELECT sync.grant_account('${one}', 'acme'), sync.grant_account('${two}', 'acme'),
      sync.grant_account('${two}', 'bakery')`,
  );
});
afterAll(async () => {
  await dropRoles(one, two, none);
  await world?.close();
});

beforeEach(async () => {
  for (const account_id of accounts) {
    await world.sent('customers', {account_id, customer_number: '7', name: 'old'});
    await world.sent('jobs', {account_id, job_number: '4', customer_number: '7', name: 'old'});
    await world.sent('job_employees', {account_id, job_number: '4', employee_id: '9'});
    for (const {name, key} of allTables)
      if (key.join() === 'id') await world.sent(name, {account_id, id: '3'});
    await world.sent('employees', {account_id, employee_number: '5'});
  }
});
afterEach(() => world.empty());

const as: CaptureWorld['as'] = (role, text, values) => world.as(role, text, values);
const accountsOf = async (place: string) =>
  (await world.author(`SELECT DISTINCT account_id FROM ${place} ORDER BY account_id`)).map(
    ({account_id}) => account_id,
  );

describe('an author of one account', () => {
  test.each(allTables.map(({name}) => name))(
    'sees only the rows of that account in %s',
    async (name) => {
      const rows = await as(one, `SELECT DISTINCT account_id FROM warehouse.${name}`);
      expect(rows).toEqual([{account_id: accounts[0]}]);
    },
  );

  test('updates a record by its number only in that account', async () => {
    await as(one, `UPDATE warehouse.customers SET name = 'new' WHERE customer_number = 7`);
    expect(
      await world.author(`SELECT account_id FROM warehouse.customers WHERE name = 'new'`),
    ).toEqual([{account_id: accounts[0]}]);
    expect(await accountsOf('sync.changes')).toEqual([accounts[0]]);
  });

  test.each(captured.map(({name}) => name))(
    'deletes no row of another account from %s',
    async (name) => {
      await as(one, `DELETE FROM warehouse.${name}`).catch(() => {});
      const marked = await accountsOf(`warehouse.${name} WHERE _pending`);
      expect(marked.filter((id) => id !== accounts[0])).toEqual([]);
    },
  );

  test('inserts rows into that account without naming it, and into no other account', async () => {
    expect(
      await as(one, `INSERT INTO warehouse.tasks (name) VALUES ('x') RETURNING account_id`),
    ).toEqual([{account_id: accounts[0]}]);
    await expect(
      as(one, `INSERT INTO warehouse.tasks (account_id, name) VALUES (${accounts[1]}, 'x')`),
    ).rejects.toThrow('row-level security');
  });

  test('can neither read nor act on the changes of another account', async () => {
    await as(null, `UPDATE warehouse.customers SET name = 'new' WHERE account_id = ${accounts[1]}`);
    const [{change_id: id} = {}] = await world.changes('change_id');
    await world.author(
      `INSERT INTO sync.attempts (change_id, fence, method, path)
        VALUES (${id}, 1, 'PUT', '/customers/7.xml');
       INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
         VALUES (${id}, ${accounts[1]}, 'name', 'text', '"new"', '"NEW"', false);
       INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value,
         rule) VALUES (${id}, 'name', '"old"', '"new"', '"theirs"', 'ask')`,
    );
    for (const name of ['changes', 'attempts', 'alterations', 'conflicts']) {
      const text = `SELECT change_id FROM sync.${name}`;
      expect(await as(two, text), name).toEqual([{change_id: id}]);
      expect(await as(one, text), name).toEqual([]);
    }
    for (const verb of [
      'hold_change',
      'release_change',
      'retry_change',
      'cancel_change',
      'accept_change',
      'wait',
    ])
      await expect(as(one, `SELECT sync.${verb}(${id})`)).rejects.toThrow(
        'no change has that number',
      );
    await expect(as(one, `SELECT sync.resolve_change(${id}, 'service')`)).rejects.toThrow(
      'no change has that number',
    );
    expect(await as(two, `SELECT sync.hold_change(${id})`)).toEqual([{hold_change: 'held'}]);
  });

  test('gets a hint on what to check for a change that it cannot see', async () => {
    await as(null, `UPDATE warehouse.customers SET name = 'new' WHERE account_id = ${accounts[1]}`);
    const [{change_id: id} = {}] = await world.changes('change_id');
    const text = `SELECT sync.changed_since_made(${id}) AS since`;
    expect(await as(two, text)).toEqual([{since: []}]);
    const hint = 'Check the number, and that your role is bound to the account of the change.';
    for (const wanted of [text, 'SELECT sync.changed_since_made(4711)'])
      await expect(as(one, wanted)).rejects.toMatchObject({
        message: expect.stringMatching(/^change \d+: no change has that number/),
        hint,
      });
  });
});

describe('the accounts of a role', () => {
  const ask = async (as_: string | null, role: string) =>
    await as(as_, `SELECT sync.accounts_of('${role}') AS own`);

  test.each([
    ['another author', () => two],
    ['a worker', () => 'fieldmirror_worker'],
    ['the owner', () => owner],
  ])('are not shown to an author who requests those of %s', async (_, other) => {
    await expect(ask(one, other())).rejects.toThrow(
      `role ${other()}: expected your role, ${one}, or one that it is a member of`,
    );
  });

  test('are shown to the role itself, its members, a worker and the owner', async () => {
    const own = [{own: [accounts[0]]}];
    const member = `author_member_${suffix}`;
    await makeRole(member, `IN ROLE ${one}`);
    try {
      for (const role of [one, member, 'fieldmirror_worker', null])
        expect(await ask(role, one), String(role)).toEqual(own);
      expect(await ask(member, member)).toEqual(own);
      await expect(ask(one, member)).rejects.toThrow('expected your role');
    } finally {
      await dropRoles(member);
    }
  });
});

describe.each([
  ['the owner', null],
  ['an author of two accounts', two],
])('%s', (_, role) => {
  test.each(['UPDATE', 'DELETE'])(
    'cannot run %s by a record number that exists in several accounts',
    async (verb) => {
      const statement =
        verb === 'UPDATE'
          ? `UPDATE warehouse.customers SET name = 'new'`
          : 'DELETE FROM warehouse.customers';
      await expect(as(role, `${statement} WHERE customer_number = 7`)).rejects.toThrow(
        `expected ${verb === 'UPDATE' ? 'an UPDATE' : 'a DELETE'} of one account, ` +
          `got rows of ${accounts[0]} (acme), ${accounts[1]} (bakery)`,
      );
      expect(await world.changes()).toEqual([]);
      await as(role, `${statement} WHERE account_id = ${accounts[1]} AND customer_number = 7`);
      expect(await accountsOf('sync.changes')).toEqual([accounts[1]]);
    },
  );

  test('must name the account of a new row if there are several', async () => {
    await expect(as(role, `INSERT INTO warehouse.tasks (name) VALUES ('x')`)).rejects.toThrow(
      'more than one account',
    );
  });

  test.each(
    captured.filter(({capture}) => capture.operations.includes('delete')).map(({name}) => name),
  )('cannot run one DELETE on rows of several accounts in %s', async (name) => {
    await expect(as(role, `DELETE FROM warehouse.${name}`)).rejects.toThrow(
      'of one account, got rows of',
    );
  });
});

describe('an author without an account', () => {
  test.each([
    'SELECT FROM warehouse.customers',
    `UPDATE warehouse.customers SET name = 'x'`,
    'DELETE FROM warehouse.tasks',
    `INSERT INTO warehouse.tasks (name) VALUES ('x')`,
  ])('must be bound to an account if there are several: %s', async (text) => {
    await expect(as(none, text)).rejects.toThrow(
      `role ${none}: expected it to be bound to an account, for there are several`,
    );
  });

  test('writes to the only account of a warehouse', async () => {
    const alone = await openCaptureWorld();
    try {
      await alone.author(
        `BEGIN; SET LOCAL ROLE ${none}; INSERT INTO warehouse.tasks (name) VALUES ('x'); COMMIT`,
      );
      expect(await alone.changes('account_id')).toEqual([{account_id: alone.accountId}]);
    } finally {
      await alone.close();
    }
  });
});

test('only the owner grants an account to a role, and the grant can be revoked', async () => {
  await expect(as(none, `SELECT sync.grant_account('${none}', 'acme')`)).rejects.toThrow(
    'permission denied',
  );
  await as(null, `SELECT sync.grant_account('${none}', 'dairy')`);
  expect(await as(none, 'SELECT account_id FROM warehouse.tasks')).toEqual([
    {account_id: accounts[3]},
  ]);
  await as(null, `SELECT sync.revoke_account('${none}', 'dairy')`);
  await expect(as(none, 'SELECT account_id FROM warehouse.tasks')).rejects.toThrow(
    'bound to an account',
  );
  await expect(as(null, `SELECT sync.grant_account('nobody_${suffix}', 'acme')`)).rejects.toThrow(
    'no role has that name',
  );
  await expect(as(null, `SELECT sync.grant_account('${none}', 'acme ')`)).rejects.toThrow(
    'expected one of acme, bakery, cinema, dairy',
  );
});

test('readers and workers see the rows of all accounts', async () => {
  for (const role of ['fieldmirror_reader', 'fieldmirror_worker'])
    expect(await as(role, 'SELECT DISTINCT account_id FROM warehouse.tasks')).toHaveLength(4);
});
