// The author and the time of each edit, as history tells them.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {customer_number: '3', name: 'a'});
});

const versions = (row = rowId) =>
  world.author(
    `SELECT name, written_by, _sweep_id IS NOT NULL AS swept, _pending,
      _deleted_at IS NOT NULL AS gone, valid_to IS NULL AS "isCurrent"
       FROM history.customers WHERE row_id = $1 ORDER BY valid_from`,
    [row],
  );
const edits = () =>
  world.author('SELECT kind, written_by, application FROM history.edits ORDER BY at');

async function expectTiling(): Promise<void> {
  const torn = await world.author(
    `SELECT * FROM (SELECT valid_from, valid_to,
      lead(valid_from) OVER (PARTITION BY row_id ORDER BY valid_from) AS next
     FROM history.customers) AS version
      WHERE valid_to <= valid_from OR next IS NOT NULL AND valid_to IS DISTINCT FROM next`,
  );
  expect(torn).toEqual([]);
}

const swept = {
  name: 'a',
  written_by: null,
  swept: true,
  _pending: null,
  gone: false,
  isCurrent: false,
};
const mine = {written_by: 'fieldmirror', swept: false, _pending: true};
const who = {written_by: 'fieldmirror', application: 'erp'};

test('an UPDATE adds one version with its author', async () => {
  await world.author(`UPDATE warehouse.customers SET name = 'b'`);
  expect(await versions()).toEqual([swept, {...mine, name: 'b', gone: false, isCurrent: true}]);
  expect(await edits()).toEqual([{kind: 'update', ...who}]);
  await expectTiling();
});

test('an INSERT adds one version with its author', async () => {
  const [made] = await world.author(
    `INSERT INTO warehouse.customers (name) VALUES ('new') RETURNING row_id`,
  );
  expect(await versions(String(made?.row_id))).toEqual([
    {...mine, name: 'new', gone: false, isCurrent: true},
  ]);
  expect(await edits()).toEqual([{kind: 'insert', ...who}]);
});

test('a DELETE adds one version, the tombstone', async () => {
  await world.author('DELETE FROM warehouse.customers');
  expect(await versions()).toEqual([swept, {...mine, name: 'a', gone: true, isCurrent: true}]);
  expect(await edits()).toEqual([{kind: 'delete', ...who}]);
  await expectTiling();
});

test('versions of several edits in one transaction leave no gap and no overlap', async () => {
  await world.author(`BEGIN; UPDATE warehouse.customers SET name = 'b'; UPDATE warehouse.customers
    SET name = 'c';
                      DELETE FROM warehouse.customers; COMMIT`);
  expect((await versions()).map(({name, gone}) => [name, gone])).toEqual([
    ['a', false],
    ['b', false],
    ['c', false],
    ['a', true],
  ]);
  const [last] = await world.author('SELECT max(change_id) AS id FROM sync.changes');
  await world.author('SELECT sync.cancel_change($1)', [last?.id]);
  await world.sweep(`UPDATE warehouse.customers SET name = 'a', _sweep_id = 2, _hash = '\\x00'`);
  expect((await versions()).at(-1)).toEqual({...swept, isCurrent: true});
  await expectTiling();
});

test('deleting a row that never reached the service records who deleted it', async () => {
  await world.author(
    `WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('new') RETURNING row_id)
     INSERT INTO warehouse.customer_notes (parent_row_id, note) SELECT row_id, 'x' FROM customer`,
  );
  await world.author(`DELETE FROM warehouse.customers WHERE name = 'new'`);
  const removed = await world.author(
    `SELECT table_name, kind, written_by FROM history.edits WHERE kind = 'delete'
     ORDER BY table_name`,
  );
  expect(removed).toEqual([
    {table_name: 'customer_notes', kind: 'delete', written_by: 'fieldmirror'},
    {table_name: 'customers', kind: 'delete', written_by: 'fieldmirror'},
  ]);
  await expectTiling();
});

test('setting external_key adds a version with its author, and keeps the sweep id', async () => {
  await world.author(`UPDATE warehouse.customers SET external_key = 'K'`);
  expect(await versions()).toEqual([swept, {...swept, written_by: 'fieldmirror', isCurrent: true}]);
});

test('restoring the values of a cancelled change adds a version but no edit', async () => {
  await world.author(`UPDATE warehouse.customers SET name = 'b'`);
  await world.author('SELECT sync.cancel_change(change_id) FROM sync.changes');
  expect((await versions()).at(-1)).toMatchObject({name: 'a', written_by: null, _pending: null});
  expect(await edits()).toHaveLength(1);
  await expectTiling();
});

test('an UPDATE that changes nothing makes neither a version nor a change', async () => {
  await world.author(`UPDATE warehouse.customers SET name = 'a', fax = NULL`);
  expect([await versions(), await world.changes()]).toEqual([[{...swept, isCurrent: true}], []]);
});

describe.each(allTables)('an UPDATE of $name that changes nothing', ({name, columns, key}) => {
  const names = columns.map((column) => column.name);
  const same = [...names, 'external_key', 'extra']
    .map((column) => `"${column}" = "${column}"`)
    .join(', ');
  const held = () =>
    world.author(
      `SELECT to_jsonb(t) AS row, (SELECT count(*) FROM history.past_${name}) AS past
       FROM warehouse.${name} AS t`,
    );

  test.each(['', 'repair'])(
    'returns the matched row and adds no version and no change (writer "%s")',
    async (writer) => {
      const keys = Object.fromEntries(key.map((column, at) => [column, String(at + 7)]));
      const id = await world.sent(name, {...keys, _hash: Buffer.from('11', 'hex')});
      await world.author(
        `INSERT INTO sync.known_records (account_id, stream, number, shape, bytes_hash)
          VALUES ($1, 'jobs', 7, 1, '\\x00')`,
        [world.accountId],
      );
      const before = await held();
      const client = await world.pool.connect();
      try {
        await client.query(`SELECT set_config('fieldmirror.writer', $1, false)`, [writer]);
        const {rowCount, rows} = await client.query(
          `UPDATE warehouse.${name} SET ${same} WHERE row_id = $1 RETURNING row_id`,
          [id],
        );
        expect([rowCount, rows]).toEqual([1, [{row_id: id}]]);
      } finally {
        client.release(true);
      }
      expect(await held()).toEqual(before);
      expect([await edits(), await world.changes()]).toEqual([[], []]);
      expect(await world.author('SELECT count(*) FROM sync.known_records')).toEqual([{count: '1'}]);
    },
  );
});

test('an UPDATE adds versions only for the rows that it really changes', async () => {
  await world.sent('customers', {customer_number: '4', name: 'b'});
  const {rowCount} = await world.pool.query(`UPDATE warehouse.customers SET name = 'b'`);
  expect(rowCount).toBe(2);
  expect(await world.changes('fields')).toEqual([{fields: {name: 'b'}}]);
  expect(await world.author('SELECT name FROM history.past_customers')).toEqual([{name: 'a'}]);
  await expectTiling();
});
