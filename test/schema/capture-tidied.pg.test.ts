// What a program adds to a value, and nobody meant, is not sent: the noise of floats, and seconds.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allWrites} from '../../src/streams/all.ts';
import {type CaptureWorld, neededBy, openCaptureWorld} from '../changes/capture-world.ts';

const role = 'fieldmirror_author';
let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.empty());

/** A value as a program writes it, as it is wanted, and another one. */
const untidy = {
  decimal: {given: '0.30000000000000004', wanted: '0.3', other: '0.5'},
  instant: {
    given: '2026-05-05 10:00:59.999999+00',
    wanted: '2026-05-05T10:00:00+00:00',
    other: '2026-05-06T10:00:00+00:00',
  },
};

/** Every field of these kinds that can be written. */
const fields = allWrites.flatMap((writes) =>
  writes.table.writable.flatMap(({name, kind, onCreate, onUpdate}) =>
    kind === 'decimal' || kind === 'instant'
      ? [{field: `${writes.table.name}.${name}`, writes, name, onCreate, onUpdate, ...untidy[kind]}]
      : [],
  ),
);

test('decimal and time fields are both among the tested fields', () => {
  expect(fields.map(({field}) => field)).toEqual(
    expect.arrayContaining(['jobs.scheduled_on', 'job_charges.quantity']),
  );
});

describe.each(fields)('$field', ({writes, name, onCreate, onUpdate, given, wanted, other}) => {
  const {table, parent, key} = writes;
  const needed = neededBy(table);

  test.runIf(onCreate)('is tidied in an INSERT: in the change, the row and the feed', async () => {
    const hung: Record<string, string> = parent === null ? {} : {[parent.numberColumn]: '4'};
    if (parent !== null) await world.sent(parent.table, hung);
    const row = {...hung, ...needed, [name]: given};
    const [made] = await world.as(
      role,
      `INSERT INTO warehouse.${table.name} (${Object.keys(row).join(', ')})
       VALUES (${Object.keys(row).map((_, at) => `$${at + 1}`)}) RETURNING row_id`,
      Object.values(row),
    );
    expect(await world.changes('operation, fields')).toEqual([
      {operation: 'create', fields: {...needed, [name]: wanted}},
    ]);
    const held = await world.row(
      table.name,
      made?.row_id,
      `to_jsonb(${name}) #>> '{}' AS value, _pending`,
    );
    expect(held).toEqual({value: wanted, _pending: true});
    await world.author('SELECT sync.sequence_feed()');
    const entries = await world.author(
      `SELECT operation, after->>$2 AS value, change_id IS NOT NULL AS has_change
         FROM sync.feed() WHERE row_id = $1 AND table_name = '${table.name}'`,
      [made?.row_id, name],
    );
    expect(entries).toEqual([
      {operation: 'created', value: expect.anything(), has_change: true},
      {operation: 'changed', value: wanted, has_change: true},
    ]);
  });

  test.runIf(onUpdate)(
    'is tidied in an UPDATE, and makes no change if the row has the tidied value',
    async () => {
      const rowId = await world.sent(table.name, {[key]: '55', ...needed, [name]: other});
      const update = `UPDATE warehouse.${table.name} SET ${name} = $1 WHERE row_id = $2`;
      await world.as(role, update, [given, rowId]);
      expect(await world.changes('operation, fields, base')).toEqual([
        {operation: 'update', fields: {[name]: wanted}, base: {[name]: other}},
      ]);
      expect(await world.row(table.name, rowId, `to_jsonb(${name}) #>> '{}' AS value`)).toEqual({
        value: wanted,
      });
      await world.author('DELETE FROM sync.changes');
      await world.sweep(`UPDATE warehouse.${table.name} SET _pending = NULL WHERE row_id = $1`, [
        rowId,
      ]);
      const before = await world.row(table.name, rowId);
      await world.as(role, update, [given, rowId]);
      expect(await world.row(table.name, rowId)).toEqual(before);
      expect(await world.changes()).toEqual([]);
    },
  );
});

describe('a decimal number', () => {
  test.each([
    ['0.1 + 0.2', '0.30000000000000004', '0.3'],
    ['1.1 * 1.1', '1.2100000000000002', '1.21'],
    ['2.675 * 100', '267.49999999999994', '267.5'],
    ['0.7 + 0.1', '0.7999999999999999', '0.8'],
    ['8.2 - 0.2', '7.999999999999999', '8'],
    ['-4.35 * 100', '-434.99999999999994', '-435'],
    ['100000.1 + 0.2', '100000.3', '100000.3'],
    ['12345.1 * 3', '37035.299999999996', '37035.3'],
  ])('computed as %s is captured without float noise', async (_, given, wanted) => {
    await world.sent('jobs', {job_number: '4'});
    await world.as(
      role,
      'INSERT INTO warehouse.job_charges (job_number, price_per_unit) VALUES (4, $1)',
      [given],
    );
    expect(await world.changes('fields')).toEqual([{fields: {price_per_unit: wanted}}]);
  });

  test.each([
    ['a third', '0.3333333333333333'],
    ['a number of an ERP', '1234.56789'],
    ['one with zeros at its end', '1.5000000'],
    ['one near another that is no float', '0.30000000000000005'],
    ['one of more digits than a float has', '0.300000000000000000000000000001'],
    ['one of a float', '0.1234567890123456'],
    ['a large one', '123456789012345.00001'],
  ])('that is %s stays as it was written', async (_, given) => {
    await world.sent('jobs', {job_number: '4'});
    await world.as(
      role,
      'INSERT INTO warehouse.job_charges (job_number, price_per_unit) VALUES (4, $1)',
      [given],
    );
    expect(await world.changes('fields')).toEqual([{fields: {price_per_unit: given}}]);
  });
});

test('seconds are cut off, not rounded, before the check for ambiguous times', async () => {
  // 05:59:59Z is the first 1:59 of that night in New York; a minute later the second 1:00 begins.
  await world.as(
    role,
    `INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('x', '2026-11-01 05:59:59.9Z')`,
  );
  expect(await world.changes('fields')).toEqual([
    {fields: {name: 'x', scheduled_at: '2026-11-01T05:59:00+00:00'}},
  ]);
});

test('values from the service and from a repair keep every digit', async () => {
  const noise = ['0.30000000000000004', '0.7999999999999999'];
  const rowId = await world.sent('time_entries', {id: '5', number_of_hours: noise[0]});
  const read = () => world.row('time_entries', rowId, 'number_of_hours');
  await world.as(role, 'UPDATE warehouse.time_entries SET employee_id = 7 WHERE row_id = $1', [
    rowId,
  ]);
  expect(await world.changes('fields')).toEqual([{fields: {employee_id: '7'}}]);
  expect(await read()).toEqual({number_of_hours: noise[0]});
  await world.as(
    null,
    `SET LOCAL fieldmirror.writer = 'repair';
     UPDATE warehouse.time_entries SET number_of_hours = ${noise[1]}`,
  );
  expect(await read()).toEqual({number_of_hours: noise[1]});
});
