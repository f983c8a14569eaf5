// Two customers that were made one at the service: the number of the one that went is answered with
// the one that stayed, and its jobs are those of the other.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {pushAccount} from '../../src/push/push.ts';
import {type MergingService, openMergingService} from '../support/merging-service.ts';
import {withClient} from '../support/with-client.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let merging: MergingService;
let world: TestWorld;

beforeEach(async () => {
  service = await openService();
  merging = await openMergingService(service);
  world = await openWorld({url: merging.url, token: service.token});
  expect(await world.sweep('customers')).toMatchObject({state: 'certified'});
});

afterEach(async () => {
  await world?.close();
  await merging?.close();
  await service?.close();
});

/** The entries of a table since a cursor, as a system is told them. */
async function tell(table: string, cursor: string, system: string) {
  await rows('SELECT sync.sequence_feed()');
  return await rows(
    `SELECT operation, number, external_key AS key, before, after, merged_into
       FROM sync.feed($1, 100, of_tables => ARRAY[$2], of_system => $3)`,
    cursor,
    table,
    system,
  );
}

/** The number of a job that a customer has at the service. */
async function findJob(customer: string): Promise<string> {
  return await withClient(service.databaseUrl, async (db) => {
    const {rows: jobs} = await db.query<{number: string}>(
      `SELECT job_number::text AS number FROM service.jobs
        WHERE customer_id = (SELECT id FROM service.customers WHERE customer_number = $1)
        ORDER BY job_number LIMIT 1`,
      [customer],
    );
    return jobs[0]?.number ?? '';
  });
}

async function readEnd(): Promise<string> {
  await rows('SELECT sync.sequence_feed()');
  return (await rows('SELECT sync.feed_end() AS cursor'))[0].cursor;
}

const rows = async (text: string, ...values: unknown[]) =>
  (await world.pool.query(text, values)).rows;

const read = async (number: string) =>
  (
    await rows(
      `SELECT external_key AS key, _deleted_at IS NOT NULL AS gone FROM warehouse.customers
        WHERE customer_number = $1`,
      number,
    )
  )[0];

const rowOf = async (number: string) =>
  (await rows('SELECT row_id FROM warehouse.customers WHERE customer_number = $1', number))[0]
    .row_id;

/** Keys of a row in a system, those of the past included: which of them hold. */
const keys = async (number: string, system: string) =>
  await rows(
    `SELECT key, until IS NULL AS holds FROM sync.links
      WHERE row_id = $1 AND system = $2 ORDER BY link_id`,
    await rowOf(number),
    system,
  );

const link = async (number: string, key: string, system: string) =>
  await rows("SELECT sync.set_link('customers', $1, $2, $3)", await rowOf(number), key, system);

test('the row of a merged customer is marked deleted, with the number of the other', async () => {
  await merging.merge('5', '3');
  expect(await world.sweep('customers')).toMatchObject({
    state: 'certified',
    counts: {tombstoned: 1},
  });
  expect(await read('5')).toMatchObject({gone: true});
  expect(await read('3')).toMatchObject({gone: false});
  expect(
    await rows('SELECT number, status, message, merged_into FROM sync.tombstones WHERE number = 5'),
  ).toEqual([{number: '5', status: 200, message: 'customer 3 in its place', merged_into: '3'}]);
});

test('external keys move to the kept customer unless it has a key in that system', async () => {
  await link('5', 'C-5', 'default');
  await link('5', 'P-5', 'tryton');
  await link('5', 'S-5', 'shopware');
  await link('3', 'S-3', 'shopware');
  await link('7', 'O-7', 'odoo');
  await merging.merge('5', '3');
  expect(await world.sweep('customers')).toMatchObject({state: 'certified'});
  expect([await read('5'), await read('3')]).toEqual([
    {key: null, gone: true},
    {key: 'C-5', gone: false},
  ]);
  expect(await keys('3', 'tryton')).toEqual([{key: 'P-5', holds: true}]);
  expect(await keys('5', 'tryton')).toEqual([{key: 'P-5', holds: false}]);
  expect(await keys('3', 'shopware')).toEqual([{key: 'S-3', holds: true}]);
  expect(await keys('5', 'shopware')).toEqual([{key: 'S-5', holds: true}]);
  expect(await keys('7', 'odoo')).toEqual([{key: 'O-7', holds: true}]);
});

test('a reader of the feed receives one entry for each of the two customers', async () => {
  await link('5', 'C-5', 'default');
  await link('5', 'P-5', 'tryton');
  const cursor = await readEnd();
  await merging.merge('5', '3');
  await world.sweep('customers');
  expect(await tell('customers', cursor, 'default')).toMatchObject([
    {operation: 'removed', number: '5', key: 'C-5', after: null, merged_into: '3'},
    {
      operation: 'changed',
      number: '3',
      key: 'C-5',
      merged_into: null,
      after: {external_key: 'C-5'},
    },
  ]);
  // The key is that of the other row by now.
  expect((await tell('customers', cursor, 'tryton'))[0]).toMatchObject({
    operation: 'removed',
    number: '5',
    key: 'P-5',
    merged_into: '3',
  });
});

test('if the service answers 404 for the merged customer, only jobs show the merge', async () => {
  await link('5', 'P-5', 'tryton');
  const job = await findJob('5');
  await world.sweep('jobs', {recordNumber: job});
  const cursor = await readEnd();
  await merging.merge('5', '3');
  merging.shown.clear();
  expect(await world.sweep('customers')).toMatchObject({counts: {tombstoned: 1}});
  await world.sweep('jobs', {recordNumber: job});
  expect(await tell('customers', cursor, 'tryton')).toMatchObject([
    {operation: 'removed', number: '5', key: 'P-5', merged_into: null},
  ]);
  // Its jobs say it.
  expect(await tell('jobs', cursor, 'tryton')).toMatchObject([
    {
      operation: 'changed',
      number: job,
      before: {customer_number: '5'},
      after: {customer_number: '3'},
    },
  ]);
  expect(await keys('5', 'tryton')).toEqual([{key: 'P-5', holds: true}]);
});

test('two customers merged into one give it one key, and both are marked deleted', async () => {
  await link('5', 'P-5', 'tryton');
  await link('6', 'P-6', 'tryton');
  await merging.merge('5', '3');
  await merging.merge('6', '3');
  expect(await world.sweep('customers')).toMatchObject({counts: {tombstoned: 2}});
  expect(await keys('3', 'tryton')).toEqual([{key: 'P-5', holds: true}]);
  expect(await keys('6', 'tryton')).toEqual([{key: 'P-6', holds: true}]);
});

test('a merged customer requested by its number is marked deleted as well', async () => {
  await merging.merge('5', '3');
  await world.sweep('customers', {recordNumber: '5'});
  expect(await read('5')).toMatchObject({gone: true});
});

describe('a change of a merged customer is a conflict, and does not touch the other:', () => {
  const readStayed = () =>
    withClient(service.databaseUrl, async (db) => {
      const {rows: held} = await db.query(
        'SELECT fields FROM service.customers WHERE customer_number = 3',
      );
      return held[0].fields;
    });

  test.each([
    ['DELETE FROM warehouse.customers WHERE customer_number = 5', 'nothing was deleted'],
    [`UPDATE warehouse.customers SET fax = '1' WHERE customer_number = 5`, 'customer 5, got 3'],
  ])('%s', async (statement, words) => {
    await merging.merge('5', '3');
    const before = await readStayed();
    await rows(statement);
    await pushAccount(world, world.account.accountId, new AbortController().signal);
    expect(await rows('SELECT state, reason FROM sync.changes')).toEqual([
      {state: 'conflict', reason: expect.stringContaining(words)},
    ]);
    expect(await readStayed()).toEqual(before);
    await rows(`SELECT sync.resolve_change(change_id, 'service') FROM sync.changes`);
    expect(await world.sweep('customers')).toMatchObject({counts: {tombstoned: 1}});
  });
});

describe('no evidence of a merge', () => {
  const expectNothingMarked = async () => {
    expect(await world.sweep('customers')).toMatchObject({
      state: 'uncertified',
      counts: {tombstoned: 0},
    });
    expect(await read('5')).toMatchObject({gone: false});
  };

  test('a service that returns the same record for every number', async () => {
    await merging.merge('5', '3');
    merging.shown.set('*', '3');
    await expectNothingMarked();
  });

  test('a record that the service does not return under its own number', async () => {
    await merging.merge('5', '3');
    merging.shown.set('3', '4');
    await expectNothingMarked();
  });

  test('the held record itself, returned under another number', async () => {
    await inSweepTransaction(world.pool, async (client) => {
      await client.query(
        `UPDATE warehouse.customers SET id = (SELECT id FROM warehouse.customers
           WHERE customer_number = 3) WHERE customer_number = 5`,
      );
    });
    await merging.merge('5', '3');
    await expectNothingMarked();
  });
});
