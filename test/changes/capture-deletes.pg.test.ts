import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {copyInto} from '../../src/rows/load.ts';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, claim, openCaptureWorld, send} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {customer_number: '3', name: 'a', external_key: 'K3'});
});

const held = () =>
  world.row('customers', rowId, 'name, _pending, _deleted_at IS NOT NULL AS gone, external_key');
const deleteIt = () =>
  world.pool.query('DELETE FROM warehouse.customers WHERE row_id = $1 RETURNING row_id', [rowId]);
const set = (assignment: string) =>
  world.author(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);
const changes = () => world.changes('operation, fields, base, number, state');
const lastChange = async () =>
  (await world.author('SELECT max(change_id) AS id FROM sync.changes'))[0]?.id;

describe('a row that the service knows', () => {
  test('is returned by the DELETE as deleted, and stays as a pending tombstone', async () => {
    const {command, rowCount, rows} = await deleteIt();
    expect([command, rowCount, rows]).toEqual(['DELETE', 1, [{row_id: rowId}]]);
    expect(await held()).toEqual({name: 'a', _pending: true, gone: true, external_key: 'K3'});
    const change = {operation: 'delete', fields: {}, base: {}, number: '3', state: 'pending'};
    expect(await changes()).toEqual([change]);
  });

  test('is deleted once: a second DELETE affects no row', async () => {
    await deleteIt();
    const before = await world.row('customers', rowId);
    expect((await deleteIt()).rowCount).toBe(0);
    expect(await world.row('customers', rowId)).toEqual(before);
    expect(await changes()).toHaveLength(1);
  });

  test('cannot be edited after the DELETE, but its external_key can be reused', async () => {
    await deleteIt();
    await expect(set(`name = 'b'`)).rejects.toThrow('the record is deleted');
    await expect(set('_deleted_at = NULL')).rejects.toThrow(
      `_deleted_at: the column is Fieldmirror's own`,
    );
    await set('external_key = NULL');
    await world.author(
      `INSERT INTO warehouse.customers (name, external_key) VALUES ('again', 'K3')`,
    );
    expect(await changes()).toMatchObject([{operation: 'delete'}, {operation: 'create'}]);
  });

  test('loses its update by a DELETE, and is restored if the delete is cancelled', async () => {
    await set(`name = 'b'`);
    await world.author(claim, [await lastChange()]);
    await world.author(`UPDATE sync.changes SET lease_until = now() - interval '1 s'`);
    await deleteIt();
    expect(await changes()).toMatchObject([
      {operation: 'update', state: 'cancelled'},
      {operation: 'delete', state: 'pending'},
    ]);
    await world.author('SELECT sync.cancel_change($1)', [await lastChange()]);
    expect(await held()).toEqual({name: 'a', _pending: null, gone: false, external_key: 'K3'});
  });

  test('is deleted after the change that is being sent', async () => {
    await set(`name = 'b'`);
    const first = await lastChange();
    await world.author(send, [first]);
    await deleteIt();
    expect(await world.changes('operation, state, waits_for')).toEqual([
      {operation: 'update', state: 'sending', waits_for: null},
      {operation: 'delete', state: 'pending', waits_for: first},
    ]);
  });
});

describe('a row that the service never knew', () => {
  const insertAll = async () => {
    await world.author(`
      WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('new') RETURNING row_id),
      job AS (INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'roof' FROM customer
        RETURNING row_id),
      link AS (INSERT INTO warehouse.job_employees (parent_row_id, employee_id) SELECT row_id, 7
        FROM job)
      INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'x' FROM job`);
  };
  const left = async () => {
    const counts = ['customers', 'jobs', 'job_employees', 'job_notes'].map(
      (name) =>
        `(SELECT count(*)::integer FROM warehouse.${name} WHERE _sweep_id IS NULL) AS ${name}`,
    );
    return Object.values((await world.author(`SELECT ${counts.join(', ')}`))[0] ?? {});
  };
  const deleteNew = () => world.pool.query(`DELETE FROM warehouse.customers WHERE name = 'new'`);

  test('is deleted for good with its child rows; all their changes are cancelled', async () => {
    await insertAll();
    expect(await left()).toEqual([1, 1, 1, 1]);
    expect((await deleteNew()).rowCount).toBe(1);
    expect(await left()).toEqual([0, 0, 0, 0]);
    expect((await world.changes('state')).map(({state}) => state)).toEqual(
      Array(3).fill('cancelled'),
    );
  });

  test('is deleted, and all its changes that wait for one another are cancelled', async () => {
    await insertAll();
    await world.author(`BEGIN; SET LOCAL fieldmirror.mode = 'hold'; UPDATE warehouse.customers
      SET fax = '1' WHERE name = 'new'; COMMIT;
                        UPDATE warehouse.customers SET fax = '2'
                          WHERE name = 'new'; UPDATE warehouse.customers SET fax = '3'
                          WHERE name = 'new'`);
    expect(await changes()).toHaveLength(5);
    await deleteNew();
    expect(await left()).toEqual([0, 0, 0, 0]);
    expect(new Set((await world.changes('state')).map(({state}) => state))).toEqual(
      new Set(['cancelled']),
    );
  });

  test('is deleted even if its create was refused; that and what waits are given up', async () => {
    await insertAll();
    const [create] = await world.changes('change_id');
    await world.author(send, [create?.change_id]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [create?.change_id]);
    expect(await left()).toEqual([1, 1, 1, 1]);
    await deleteNew();
    expect(await left()).toEqual([0, 0, 0, 0]);
    expect(await world.changes('state, reason')).toMatchObject([
      {state: 'cancelled', reason: 'the row was deleted; refused before: no'},
      {state: 'cancelled'},
      {state: 'cancelled'},
    ]);
  });

  test('takes all refused creates with it if the corrected one is cancelled', async () => {
    await insertAll();
    const [create] = await world.changes('change_id');
    await world.author(send, [create?.change_id]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [create?.change_id]);
    await world.author(`UPDATE warehouse.customers SET fax = '1' WHERE name = 'new'`);
    await world.author('SELECT sync.cancel_change($1)', [await lastChange()]);
    expect(await left()).toEqual([0, 0, 0, 0]);
    expect(new Set((await world.changes('state')).map(({state}) => state))).toEqual(
      new Set(['cancelled']),
    );
  });

  test.each(['sending', 'conflict'])(
    'stays as a tombstone while its create is %s',
    async (state) => {
      await insertAll();
      const [create] = await world.changes('change_id');
      await world.author(send, [create?.change_id]);
      if (state === 'conflict')
        await world.author(
          `UPDATE sync.changes SET state = 'conflict', reason = 'two', lease_until = NULL
            WHERE change_id = $1`,
          [create?.change_id],
        );
      await deleteNew();
      expect(await left()).toEqual([1, 1, 1, 1]);
      expect((await world.changes('operation, number, waits_for'))[3]).toEqual({
        operation: 'delete',
        number: null,
        waits_for: create?.change_id,
      });
      // The create failed: then there is nothing to delete.
      const end = state === 'conflict' ? 'cancelled' : 'rejected';
      await world.author(`SELECT sync.close_change($1, $2, 'no')`, [create?.change_id, end]);
      expect(await left()).toEqual([0, 0, 0, 0]);
      expect((await world.changes('state'))[3]).toEqual({state: 'cancelled'});
    },
  );

  test('can be deleted even if the service cannot delete its kind of record', async () => {
    await world.sent('jobs', {job_number: '4'});
    await world.author(`INSERT INTO warehouse.employees (name) VALUES ('Grace')`);
    await world.author(`INSERT INTO warehouse.job_charges (job_number, details) VALUES (4, 'x')`);
    await world.author('DELETE FROM warehouse.employees; DELETE FROM warehouse.job_charges');
    expect((await world.changes('state')).map(({state}) => state)).toEqual([
      'cancelled',
      'cancelled',
    ]);
  });
});

test.each(allTables.map((table) => [table.name, table] as const))(
  'a DELETE does not change a tombstone of %s that came from the service',
  async (name, {key}) => {
    const cells = Object.fromEntries(key.map((column) => [column, '61']));
    const tombstone = await world.sent(name, {...cells, _deleted_at: '2026-01-01'});
    const before = await world.row(name, tombstone);
    const deleted = await world.pool.query(`DELETE FROM warehouse.${name} WHERE row_id = $1`, [
      tombstone,
    ]);
    expect(deleted.rowCount).toBe(0);
    expect(await world.row(name, tombstone)).toEqual(before);
    expect(await changes()).toEqual([]);
  },
);

test('a DELETE of a row deleted at the service only cancels its pending update', async () => {
  await set(`name = 'b'`);
  await world.sweep(
    `UPDATE warehouse.customers SET _deleted_at = '2026-01-01', _sweep_id = 9, _hash = '\\x09'`,
  );
  expect(await held()).toMatchObject({name: 'b', _pending: true, gone: true});
  expect((await deleteIt()).rowCount).toBe(1);
  expect(await changes()).toMatchObject([{operation: 'update', state: 'cancelled'}]);
  // The tombstone stays, with what the service had, and with the sweep that found it out.
  expect(await held()).toEqual({name: 'a', _pending: null, gone: true, external_key: 'K3'});
  expect(await world.row('customers', rowId, '_deleted_at, _sweep_id')).toEqual({
    _deleted_at: '2026-01-01T00:00:00Z',
    _sweep_id: '9',
  });
});

describe('an operation that the service does not have', () => {
  test.each([
    ['employees', 'employee_number', 'delete', 'made inactive in the service itself'],
    ['job_charges', 'id', 'delete', 'A charge can only be created'],
    ...['contacts', 'job_types', 'job_statuses', 'tax_entities'].flatMap((table) =>
      ['create', 'delete'].map((operation) => [table, 'id', operation, 'no way to write it']),
    ),
  ])('fails with a hint, on %s (%s): %s', async (table = '', key = '', operation, hint) => {
    await world.sent(table, {[key]: '5'});
    const statement =
      operation === 'delete'
        ? `DELETE FROM warehouse.${table}`
        : `INSERT INTO warehouse.${table} DEFAULT VALUES`;
    const error = await world.author(statement).catch((refused) => refused);
    expect(error.message).toBe(`warehouse.${table}: the service cannot ${operation} one`);
    expect(error.hint).toContain(hint);
    expect(await changes()).toEqual([]);
  });

  test('fails if it is TRUNCATE', async () => {
    await expect(world.author('TRUNCATE warehouse.customers')).rejects.toThrow(
      'TRUNCATE would delete every record',
    );
  });
});

describe('other ways to write', () => {
  test('ON CONFLICT DO UPDATE inserts or updates, and each is captured', async () => {
    const upsert = (name: string, key: string) =>
      world.author(
        `INSERT INTO warehouse.customers (name, external_key) VALUES ($1, $2)
             ON CONFLICT (account_id, external_key) WHERE external_key IS NOT NULL
               DO UPDATE SET name = EXCLUDED.name`,
        [name, key],
      );
    await upsert('b', 'K3');
    await upsert('new', 'K4');
    await upsert('newer', 'K4');
    expect(await world.changes('operation, fields, external_key')).toEqual([
      {operation: 'update', fields: {name: 'b'}, external_key: 'K3'},
      {operation: 'create', fields: {name: 'newer'}, external_key: 'K4'},
    ]);
  });

  test('MERGE is captured', async () => {
    await world.author(
      `MERGE INTO warehouse.customers AS held
         USING (VALUES ('K3', 'b'), ('K4', 'new')) AS given (key, name)
            ON held.external_key = given.key
        WHEN MATCHED THEN UPDATE SET name = given.name
        WHEN NOT MATCHED THEN INSERT (external_key, name) VALUES (given.key, given.name)`,
    );
    expect(await world.changes('operation, fields')).toEqual([
      {operation: 'update', fields: {name: 'b'}},
      {operation: 'create', fields: {name: 'new'}},
    ]);
  });

  test('COPY is captured', async () => {
    const client = await world.pool.connect();
    try {
      const text = 'K5\tfive\nK6\tsix\n';
      await copyInto(
        client,
        'COPY warehouse.customers (external_key, name) FROM STDIN',
        Buffer.from(text),
      );
    } finally {
      client.release();
    }
    expect(await world.changes('operation, fields, external_key')).toEqual([
      {operation: 'create', fields: {name: 'five'}, external_key: 'K5'},
      {operation: 'create', fields: {name: 'six'}, external_key: 'K6'},
    ]);
  });
});
