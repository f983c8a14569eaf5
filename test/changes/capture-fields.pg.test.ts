// Every column of every table that can be written back, and every one that cannot.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allTables, allWrites} from '../../src/streams/all.ts';
import type {Column, MirrorTable} from '../../src/streams/table.ts';
import {type CaptureWorld, neededBy, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.empty());

/** A value of each type: in SQL before and after an edit, and in a change. */
const samples: Readonly<Record<Column['type'], {before: string; after: string; text: string}>> = {
  text: {before: 'old', after: "n'ew\n", text: "n'ew\n"},
  integer: {before: '7', after: '9007199254740993', text: '9007199254740993'},
  decimal: {before: '1.50', after: '12345678901234567890.10', text: '12345678901234567890.10'},
  float: {before: '1.5', after: '2.5', text: '2.5'},
  boolean: {before: 'false', after: 'true', text: 'true'},
  instant: {
    before: '2026-01-31 10:00-05',
    after: '2026-07-04 09:30-04',
    text: '2026-07-04T13:30:00+00:00',
  },
  nested: {before: '{}', after: '{"a":1}', text: ''},
};
const asText = (column: Column) =>
  column.type === 'instant' ? '2026-01-31T15:00:00+00:00' : samples[column.type].before;

const columnOf = (table: MirrorTable, name: string) =>
  table.columns.find((column) => column.name === name);

const writable = allWrites.flatMap((writes) =>
  writes.table.writable
    .filter(({onCreate, onUpdate}) => onCreate || onUpdate)
    .flatMap((rule) => {
      const column = columnOf(writes.table, rule.name);
      return column === undefined
        ? []
        : [{writes, rule, column, name: `${writes.table.name}.${rule.name}`}];
    }),
);

const readOnly = allTables.map((table) => {
  const writes = allWrites.find((candidate) => candidate.table.name === table.name);
  const columns = table.columns.filter(
    ({name}) => !writable.some((one) => one.writes === writes && one.rule.name === name),
  );
  // A new row may be given its parent's number.
  const refusedInNew = columns.filter(({name}) => writes && name !== writes.parent?.numberColumn);
  return {name: table.name, table, columns, refusedInNew};
});

/** A row of a table that the service sent, with its parents. */
async function sent(
  table: MirrorTable,
  values: Readonly<Record<string, string>> = {},
): Promise<string> {
  const parents = {customer_number: '3', job_number: '4'};
  await world.sent('customers', {customer_number: '3'});
  await world.sent('jobs', {job_number: '4', customer_number: '3'});
  const held = Object.fromEntries(
    Object.entries(parents).filter(([name]) => columnOf(table, name)),
  );
  const key = Object.fromEntries(table.key.map((name) => [name, '55']));
  return await world.sent(table.name, {...held, ...key, ...values});
}

/** The parent that an author gives to a new row, beside its fields. */
async function parentOf(table: MirrorTable): Promise<Record<string, string>> {
  const parent = allWrites.find((writes) => writes.table.name === table.name)?.parent;
  if (!parent) return {};
  const number = {customers: 'customer_number', jobs: 'job_number'}[parent.table];
  await world.sent(parent.table, {[number]: '12'});
  return {[parent.numberColumn]: '12'};
}

async function insert(table: string, values: Readonly<Record<string, string>>) {
  const names = Object.keys(values);
  if (names.length === 0)
    return await world.author(`INSERT INTO warehouse.${table} DEFAULT VALUES`);
  return await world.author(
    `INSERT INTO warehouse.${table} (${names.join(', ')})
      VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING row_id`,
    Object.values(values),
  );
}

describe.each(writable)('$name', ({writes: {table, parent}, rule, column}) => {
  const {before, after, text} = samples[column.type];

  test(`is ${rule.onCreate ? 'taken' : 'refused'} in an INSERT`, async () => {
    const given = {...(await parentOf(table)), ...neededBy(table), [column.name]: after};
    if (!rule.onCreate) {
      await expect(insert(table.name, given)).rejects.toThrow(
        `warehouse.${table.name}.${column.name}: the service does not take it with a new record`,
      );
      return;
    }
    const [made] = await insert(table.name, given);
    const parentTable = parent?.table ?? 'customers';
    const [held] = await world.author(`SELECT min(row_id) AS row_id FROM warehouse.${parentTable}`);
    const changes = await world.changes(
      'table_name, operation, row_id, number, parent_row_id, ' +
        'fields, base, state, waits_for, requested_by, application',
    );
    expect(changes).toEqual([
      {
        table_name: table.name,
        operation: 'create',
        row_id: made?.row_id,
        number: null,
        parent_row_id: parent === null ? null : held?.row_id,
        fields: {...neededBy(table), [column.name]: text},
        base: {},
        state: 'pending',
        waits_for: null,
        requested_by: 'fieldmirror',
        application: 'erp',
      },
    ]);
    expect(await world.row(table.name, made?.row_id, '_pending, _hash')).toEqual({
      _pending: true,
      _hash: null,
    });
  });

  const does = rule.onUpdate ? 'captured' : 'refused';
  test(`is ${does} when a row that the service sent is updated`, async () => {
    const rowId = await sent(table, {[column.name]: before});
    const update = (value: string | null) =>
      world.author(`UPDATE warehouse.${table.name} SET ${column.name} = $1 WHERE row_id = $2`, [
        value,
        rowId,
      ]);
    if (!rule.onUpdate) {
      await expect(update(after)).rejects.toThrow(
        `warehouse.${table.name}.${column.name}: ` +
          'the service cannot change it once the record is there',
      );
      expect(await world.changes()).toEqual([]);
      return;
    }
    await update(before);
    expect(await world.changes()).toEqual([]);
    await update(after);
    const mates = table.writable.filter(({group}) => group !== null && group === rule.group);
    const base = Object.fromEntries(mates.map((mate) => [mate.name, null]));
    const change = {table_name: table.name, operation: 'update', number: '55', state: 'pending'};
    const columns = 'table_name, operation, number, state, fields, base';
    expect(await world.changes(columns)).toEqual([
      {...change, fields: {[column.name]: text}, base: {...base, [column.name]: asText(column)}},
    ]);
    expect(await world.row(table.name, rowId, '_pending, _hash')).toMatchObject({_pending: true});
    if (rule.isRequired === true) {
      await expect(update(null)).rejects.toThrow(
        `warehouse.${table.name}.${column.name}: expected `,
      );
      return;
    }
    await update(null);
    expect(await world.changes(columns)).toEqual([
      {...change, fields: {[column.name]: null}, base: {...base, [column.name]: asText(column)}},
    ]);
  });
});

describe('a column that cannot be written', () => {
  test.each(readOnly)(
    'is refused with an error that names it, in $name',
    async ({table, columns, refusedInNew}) => {
      await sent(table);
      for (const {name, type} of columns) {
        const isLogin = table.writable.some((rule) => rule.name === name);
        const reason = isLogin ? 'a login is set with its password' : 'the service';
        const why = `warehouse.${table.name}.${name}: ${reason}`;
        const update = `UPDATE warehouse.${table.name} SET "${name}" = $1`;
        await expect(world.author(update, [samples[type].after]), why).rejects.toThrow(why);
        if (refusedInNew.some((column) => column.name === name))
          await expect(insert(table.name, {[name]: samples[type].after}), why).rejects.toThrow(why);
      }
      expect(await world.changes()).toEqual([]);
    },
  );

  test.each([
    ['_hash', `'\\x01'`],
    ['_first_seen_at', `'2001-01-01'`],
    ['_changed_at', `'2001-01-01'`],
    ['_deleted_at', 'now()'],
    ['_sweep_id', '9'],
    ['_page', '9'],
    ['_change_id', '9'],
    ['_pending', 'false'],
    ['extra', `'{"a":1}'`],
  ])('%s belongs to Fieldmirror: INSERT and UPDATE of it fail', async (column, value) => {
    await world.sent('customers', {customer_number: '3', name: 'Ada'});
    const refused = `warehouse.customers.${column}: the column is Fieldmirror's own`;
    await expect(
      world.author(`INSERT INTO warehouse.customers (name, ${column}) VALUES ('x', ${value})`),
    ).rejects.toThrow(refused);
    await expect(
      world.author(`UPDATE warehouse.customers SET ${column} = ${value}`),
    ).rejects.toThrow(refused);
    expect(await world.changes()).toEqual([]);
  });

  test.each(['row_id', 'account_id', 'parent_row_id'])(
    '%s cannot be changed by an UPDATE',
    async (column) => {
      await world.sent('customers', {customer_number: '3'});
      await expect(
        world.author(
          `UPDATE warehouse.customers SET ${column} = ${column === 'row_id' ? 'DEFAULT' : '999'}`,
        ),
      ).rejects.toThrow(`warehouse.customers.${column}: the column is Fieldmirror's own`);
    },
  );
});
