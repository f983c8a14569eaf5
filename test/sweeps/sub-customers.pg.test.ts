// Customers embedded in their parent, as the service sends them without a request.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {readOne} from '../../src/api/xml-strict.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {customers} from '../../src/streams/customers.ts';
import {readRows} from '../../src/streams/record-rows.ts';
import {writeRowSets} from '../../src/sweeps/batches.ts';
import {encodeShown} from '../../src/sweeps/packed-rows.ts';
import {list, type ScriptedService, scriptService} from '../support/scripted-service.ts';
import {openWorld, type TestWorld} from '../support/world.ts';

let service: ScriptedService;
let world: TestWorld;
/** The records of the list, and the records known by their number. */
let listed: string[];
let known: Map<number, string>;

const fields = (number: number, name: string, parent: number | null) =>
  `<id type="integer">${1_000_000 + number}</id>` +
  `<customer-number type="integer">${number}</customer-number><name>${name}</name>${
    parent === null
      ? '<parent-id type="integer" nil="true"/>'
      : `<parent-id type="integer">${1_000_000 + parent}</parent-id>`
  }`;
const parent = (inside: string) =>
  `<customer>${fields(1, 'Harbor', null)}<contacts type="array"/><notes type="array"/>` +
  `<children type="array">${inside}</children></customer>`;
const child = (name: string) => `<child type="Customer">${fields(3, name, 1)}</child>`;

beforeEach(async () => {
  listed = [parent(child('Dock'))];
  known = new Map([
    [
      3,
      `<customers>${fields(3, 'Dock', 1)}<contacts type="array"/><notes type="array"/></customers>`,
    ],
  ]);
  service = await scriptService((request, response) => {
    const {pathname} = new URL(request.url ?? '/', 'http://service');
    const record = known.get(Number(/^\/customers\/(\d+)\.xml$/.exec(pathname)?.[1]));
    if (record !== undefined) response.end(record);
    else if (pathname === '/customers.xml' && request.page === 1)
      response.end(list('customers', listed));
    else return undefined;
    return true;
  });
  world = await openWorld(service);
});

afterEach(async () => {
  await world.close();
  await service.close();
});

const rows = async () =>
  (
    await world.pool.query(
      `SELECT customer_number::int AS number, name, parent_id::int AS parent,
              _deleted_at IS NOT NULL AS gone FROM warehouse.customers ORDER BY 1`,
    )
  ).rows;
const harbor = {number: 1, name: 'Harbor', parent: null, gone: false};
const dock = {number: 3, name: 'Dock', parent: 1_000_001, gone: false};

test('a sub-customer that the list does not show is mirrored, and stays', async () => {
  expect(await world.sweep('customers')).toMatchObject({
    state: 'certified',
    counts: {inserted: 2, tombstoned: 0},
  });
  expect(await rows()).toEqual([harbor, dock]);
  expect(await world.sweep('customers')).toMatchObject({
    state: 'certified',
    counts: {inserted: 0, tombstoned: 0},
  });
  expect(await rows()).toEqual([harbor, dock]);
});

test('an edit and a delete of a sub-customer are found by its number', async () => {
  await world.sweep('customers');
  known.set(3, `<customers>${fields(3, 'Dock 2', 1)}</customers>`);
  await world.sweep('customers');
  expect(await rows()).toEqual([harbor, {...dock, name: 'Dock 2'}]);
  known.clear();
  listed = [parent('')];
  await world.sweep('customers');
  expect(await rows()).toEqual([harbor, {...dock, name: 'Dock 2', gone: true}]);
});

test('if the list shows a sub-customer as well, the values of the list win', async () => {
  listed = [parent(child('as its parent had it')), `<customer>${fields(3, 'Dock', 1)}</customer>`];
  await world.sweep('customers');
  expect(await rows()).toEqual([harbor, dock]);
  // Its parent is read again, and is older than the list.
  listed[0] = parent(child('as its parent has it now'));
  for (let sweeps = 1; sweeps <= 3; sweeps++) {
    expect(await world.sweep('customers')).toMatchObject({
      state: 'certified',
      counts: {updated: 0},
    });
    expect(await rows()).toEqual([harbor, dock]);
  }
});

test('a sub-customer that cannot be read does not affect its parent', async () => {
  listed = [parent('<child type="Customer"><name>without a number</name></child>')];
  known.clear();
  expect(await world.sweep('customers')).toMatchObject({
    state: 'certified',
    counts: {quarantined: 0},
  });
  expect(await rows()).toEqual([harbor]);
});

test('a sub-customer is read with its parent if only the parent is requested', async () => {
  known.set(1, listed[0]?.replaceAll('customer>', 'customers>') ?? '');
  expect(await world.sweep('customers', {recordNumber: '1'})).toMatchObject({
    counts: {inserted: 2},
  });
  expect(await rows()).toEqual([harbor, dock]);
});

test('a sub-customer written by its own change is not assigned to that of its parent', async () => {
  await world.sweep('customers');
  const since = (await world.pool.query('SELECT now()::text AS now')).rows[0].now;
  const read = (xml: string) => {
    const record = readOne(Buffer.from(xml), customers);
    return encodeShown(customers, readRows(customers, record, world.account), record);
  };
  const renamed = [
    read(parent(child('Pier'))),
    read(
      `<customers>${fields(3, 'Pier', 1)}<contacts type="array"/><notes type="array"/></customers>`,
    ),
  ];
  const readBackOf = new Map(
    renamed.flatMap(({row, children}, at) =>
      [row, ...children.flatMap((kind) => kind.rows)].map((own) => [
        own,
        {changeId: String(at + 1), since},
      ]),
    ),
  );
  const {accountId} = world.account;
  await inSweepTransaction(world.pool, (client) =>
    writeRowSets(
      client,
      {stream: customers, rowSets: renamed},
      {accountId, sweepId: null, readBackOf},
    ),
  );
  const written =
    'SELECT name, _change_id::text AS change FROM warehouse.customers WHERE customer_number = 3';
  expect((await world.pool.query(written)).rows).toEqual([{name: 'Pier', change: '2'}]);
});
