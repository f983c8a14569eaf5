import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, claim, openCaptureWorld, send} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {
    customer_number: '3',
    name: 'a',
    fax: '1',
    service_city: 'Rome',
  });
});

const set = (assignment: string) =>
  world.author(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);
const changes = () => world.changes('operation, fields, base, state');
const lastChange = async () =>
  (await world.author('SELECT max(change_id) AS id FROM sync.changes'))[0]?.id as string;
const pending = async () => (await world.row('customers', rowId, '_pending, _hash'))?._pending;

describe('unsent updates of a record', () => {
  test('are merged into one change with the latest values and the oldest base', async () => {
    await set(`name = 'b'`);
    await set(`name = 'c', fax = '2'`);
    await set(`service_zip_code = '00100'`);
    const address = {service_address: null, service_state: null, service_country: null};
    expect(await changes()).toEqual([
      {
        operation: 'update',
        fields: {name: 'c', fax: '2', service_zip_code: '00100'},
        base: {name: 'a', fax: '1', service_zip_code: null, service_city: 'Rome', ...address},
        state: 'pending',
      },
    ]);
  });

  test('drop a field that is changed back; an empty change is cancelled', async () => {
    await set(`name = 'b', fax = NULL`);
    await set(`name = 'a'`);
    expect(await changes()).toMatchObject([
      {fields: {fax: null}, base: {name: 'a', fax: '1'}, state: 'pending'},
    ]);
    expect(await pending()).toBe(true);
    await set(`fax = '1'`);
    expect(await world.changes('state, reason')).toEqual([
      {state: 'cancelled', reason: 'changed back before it was sent'},
    ]);
    expect(await pending()).toBeNull();
    await set(`name = 'd'`);
    expect(await changes()).toMatchObject([
      {state: 'cancelled'},
      {fields: {name: 'd'}, base: {name: 'a'}},
    ]);
  });

  test('of many rows in one statement make one change per row', async () => {
    await world.sent('customers', {customer_number: '4', name: 'b'});
    await world.author(`UPDATE warehouse.customers SET name = 'c'`);
    expect(await world.changes('number, base')).toEqual([
      {number: '3', base: {name: 'a'}},
      {number: '4', base: {name: 'b'}},
    ]);
  });
});

describe('an update of an unsent create', () => {
  test('is merged into the create, which drops nulls and gets another fingerprint', async () => {
    const [made] = await world.author(
      `INSERT INTO warehouse.customers (name, fax) VALUES ('x', '1') RETURNING row_id`,
    );
    const print = async () =>
      (await world.changes(`encode(fingerprint, 'hex') AS print`))[0]?.print;
    const before = await print();
    await world.author(
      `UPDATE warehouse.customers SET name = 'y', fax = NULL, phone_number = '5' WHERE row_id = $1`,
      [made?.row_id],
    );
    expect(await changes()).toEqual([
      {operation: 'create', fields: {name: 'y', phone_number: '5'}, base: {}, state: 'pending'},
    ]);
    const changed = await print();
    expect(changed).not.toBe(before);
    await world.author(`INSERT INTO warehouse.customers (phone_number, name) VALUES ('5', 'y')`);
    expect((await world.changes(`encode(fingerprint, 'hex') AS print`))[1]?.print).toBe(changed);
  });

  test('waits for the create if a new record cannot have the field', async () => {
    const [made] = await world.author(
      `INSERT INTO warehouse.tasks (name) VALUES ('x') RETURNING row_id`,
    );
    await world.author('UPDATE warehouse.tasks SET completed = true WHERE row_id = $1', [
      made?.row_id,
    ]);
    const [create, update] = await world.changes('change_id, operation, fields, waits_for');
    expect(create).toMatchObject({operation: 'create', fields: {name: 'x'}});
    expect(update).toMatchObject({fields: {completed: 'true'}, waits_for: create?.change_id});
  });

  test('of a charge is merged, but fails while the create is being sent', async () => {
    await world.sent('jobs', {job_number: '4'});
    await world.author(`INSERT INTO warehouse.job_charges (job_number, details) VALUES (4, 'a')`);
    await world.author(`UPDATE warehouse.job_charges SET details = 'b'`);
    expect(await changes()).toMatchObject([{operation: 'create', fields: {details: 'b'}}]);
    await world.author(send, [await lastChange()]);
    await expect(world.author(`UPDATE warehouse.job_charges SET details = 'c'`)).rejects.toThrow(
      'warehouse.job_charges.details: its create is on its way, ' +
        'and the service cannot change it afterwards',
    );
  });
});

describe('an earlier change of the same record', () => {
  test.each([
    ['claimed', claim],
    ['sending', send],
  ])(
    'that is %s is not merged with later edits, whose change waits for it',
    async (_, statement) => {
      await set(`name = 'b'`);
      const first = await lastChange();
      await world.author(statement, [first]);
      await set(`name = 'c'`);
      await set(`fax = '2'`);
      const [, second] = await world.changes('fields, base, waits_for');
      expect(second).toEqual({
        fields: {name: 'c', fax: '2'},
        base: {name: 'b', fax: '1'},
        waits_for: first,
      });
      expect(await changes()).toHaveLength(2);
    },
  );

  test('whose lease expired is merged with later edits and gets a new fence', async () => {
    await set(`name = 'b'`);
    await world.author(claim, [await lastChange()]);
    await world.author(`UPDATE sync.changes SET lease_until = now() - interval '1 second'`);
    await set(`name = 'c'`);
    expect(await world.changes('fields, fence, lease_until')).toEqual([
      {fields: {name: 'c'}, fence: 2, lease_until: null},
    ]);
  });

  test('that is cancelled makes the next change wait for the one before it', async () => {
    const ids: string[] = [];
    for (const [mode, name] of [
      ['', 'b'],
      ['hold', 'c'],
      ['', 'd'],
    ]) {
      await world.author(
        `BEGIN; SET LOCAL fieldmirror.mode = '${mode}'; UPDATE warehouse.customers
          SET name = '${name}'; COMMIT`,
      );
      ids.push(await lastChange());
    }
    expect(await world.changes('waits_for')).toEqual([
      {waits_for: null},
      {waits_for: ids[0]},
      {waits_for: ids[1]},
    ]);
    await world.author('SELECT sync.cancel_change($1)', [ids[1]]);
    expect((await world.changes('waits_for'))[2]).toEqual({waits_for: ids[0]});
  });
});

describe('the mode hold', () => {
  test('makes held changes, which are not merged with pending ones', async () => {
    const held = (name: string) =>
      world.author(
        `BEGIN; SET LOCAL fieldmirror.mode = 'hold'; UPDATE warehouse.customers
          SET name = '${name}'; COMMIT`,
      );
    await held('b');
    await held('c');
    await set(`name = 'd'`);
    await held('e');
    const {change_id: first} = (await world.changes('change_id'))[0] ?? {};
    expect(await world.changes('state, fields, base, waits_for')).toMatchObject([
      {state: 'held', fields: {name: 'c'}, base: {name: 'a'}, waits_for: null},
      {state: 'pending', fields: {name: 'd'}, base: {name: 'c'}, waits_for: first},
      {state: 'held', fields: {name: 'e'}, base: {name: 'd'}},
    ]);
  });

  test('is one of two modes: a misspelt mode fails and captures nothing', async () => {
    const mistyped = world.author(
      `BEGIN; SET LOCAL fieldmirror.mode = 'hodl'; UPDATE warehouse.customers SET name = 'b'`,
    );
    await expect(mistyped).rejects.toThrow(
      `fieldmirror.mode: expected hold, hold-deletes, or nothing, got 'hodl'`,
    );
    expect(await changes()).toEqual([]);
  });
});

test('if two sessions update one row, the second waits and both are captured', async () => {
  const first = await world.pool.connect();
  const second = await world.pool.connect();
  try {
    await first.query(`BEGIN; UPDATE warehouse.customers SET name = 'first'`);
    await second.query('BEGIN');
    const waiting = second.query(`UPDATE warehouse.customers SET name = 'second', fax = '2'`);
    await first.query('COMMIT');
    await waiting;
    await second.query('COMMIT');
  } finally {
    first.release(true);
    second.release(true);
  }
  expect(await changes()).toEqual([
    {
      operation: 'update',
      fields: {name: 'second', fax: '2'},
      base: {name: 'a', fax: '1'},
      state: 'pending',
    },
  ]);
});
