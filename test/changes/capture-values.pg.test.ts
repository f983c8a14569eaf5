import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allWrites, findWrites} from '../../src/streams/all.ts';
import type {WriteRule} from '../../src/streams/table.ts';
import {type CaptureWorld, neededBy, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.empty());

const inZone = (zone: string) => world.author('UPDATE sync.accounts SET time_zone = $1', [zone]);

/** Expects no trace of a refused statement. */
async function expectNothing(): Promise<void> {
  expect(await world.changes()).toEqual([]);
  const tables = ['customers', 'jobs', 'job_charges', 'time_entries', 'tasks'];
  const counts = tables.map((name) => `SELECT 1 FROM warehouse.${name} WHERE _sweep_id IS NULL`);
  expect(
    await world.author(`${counts.join(' UNION ALL ')} UNION ALL SELECT 1 FROM history.edits`),
  ).toEqual([]);
}

/** Tries a value in a new row and in an old one, each beside a valid row. */
async function expectRefused(
  table: string,
  {column, value}: {column: string; value: unknown},
  why: string | RegExp,
) {
  await world.sent('customers', {customer_number: '3'});
  await world.sent('jobs', {job_number: '4'});
  const parents = {
    jobs: ['customer_number', 3],
    job_charges: ['job_number', 4],
    time_entries: ['job_number', 4],
  };
  const [parent, number] = parents[table as keyof typeof parents] ?? ['external_key', 'NULL'];
  const needed = neededBy(findWrites(table).table);
  const fine = {...needed, ...(column in needed ? {} : {[column]: null})};
  const row = (given: Record<string, unknown>) =>
    `INSERT INTO warehouse.${table} (${[...Object.keys(given), parent].join(', ')})
     VALUES (${Object.keys(given)
       .map((_, at) => `$${at + 1}`)
       .join(', ')}, ${number})`;
  /** The parameters of the second INSERT come after those of the first. */
  const renumber = (text: string) =>
    text.replaceAll(/\$(\d+)/g, (_, at) => `$${Number(at) + Object.keys(fine).length}`);
  await expect(
    world.author(`WITH fine AS (${row(fine)}) ${renumber(row({...fine, [column]: value}))}`, [
      ...Object.values(fine),
      ...Object.values({...fine, [column]: value}),
    ]),
  ).rejects.toThrow(why);
  const key = {customers: 'customer_number', jobs: 'job_number'}[table] ?? 'id';
  if (table !== 'job_charges') {
    const rowId = await world.sent(table, {[key]: '55'});
    await expect(
      world.author(`UPDATE warehouse.${table} SET ${column} = $1 WHERE row_id = $2`, [
        value,
        rowId,
      ]),
    ).rejects.toThrow(why);
  }
  await expectNothing();
}

describe('a text', () => {
  test.each([
    ['a control character', 'ab\u0001', 'got U+0001 at 3'],
    ['a vertical tab', '\u000b', 'got U+000B at 1'],
    ['an escape', 'a\u001b', 'got U+001B at 2'],
    ['a noncharacter', 'é\ufffe', 'got U+FFFE at 2'],
    ['another one', '\uffff', 'got U+FFFF at 1'],
  ])('with %s is rejected with the position of the character', async (_, value, place) => {
    const why = `warehouse.customers.name: expected characters that XML has, ${place}`;
    await expectRefused('customers', {column: 'name', value}, why);
  });

  test('with any characters that XML allows is accepted', async () => {
    const value = 'a\t\r\n\u007f\u0085\ud7ff\ue000\ufffd 😀 <&>"\'';
    await world.author('INSERT INTO warehouse.customers (name) VALUES ($1)', [value]);
    expect(await world.changes('fields')).toEqual([{fields: {name: value}}]);
  });
});

describe('a time', () => {
  test.each([
    '1999-12-31 23:59-05',
    '2069-01-01 00:00-05',
    '2099-12-31 23:59-05',
    '0001-01-01 00:00 BC',
    'infinity',
    '-infinity',
  ])('outside the years 2000 to 2068 is rejected: %s', async (value) => {
    await expectRefused(
      'tasks',
      {column: 'scheduled_at', value},
      /scheduled_at: expected a year from 2000 to/,
    );
  });

  test.each(['2000-01-01 00:00-05', '2068-12-31 23:59-05'])(
    'in the first or the last valid minute is accepted: %s',
    async (value) => {
      await world.author(`INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('x', $1)`, [
        value,
      ]);
      expect(await world.changes('state')).toEqual([{state: 'pending'}]);
    },
  );

  test.each([
    ['America/New_York', '2026-11-01 05:30Z', '2026-11-01 06:30Z', '01:30'],
    ['America/New_York', '2026-11-01 05:00Z', '2026-11-01 06:00Z', '01:00'],
    ['America/New_York', '2026-11-01 05:59Z', '2026-11-01 06:59Z', '01:59'],
    ['Australia/Lord_Howe', '2026-04-04 14:45Z', '2026-04-04 15:15Z', '01:45'],
    ['Antarctica/Troll', '2026-10-25 00:30Z', '2026-10-25 02:30Z', '02:30'],
    ['Antarctica/Casey', '2010-03-04 13:30Z', '2010-03-04 16:30Z', '00:30'],
    ['Europe/Dublin', '2026-10-25 00:30Z', '2026-10-25 01:30Z', '01:30'],
  ])(
    'in %s that the clock shows twice is accepted at %s, and rejected at %s',
    async (zone, first, second, shown) => {
      await inZone(zone);
      await world.author(`INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('x', $1)`, [
        first,
      ]);
      await world.empty();
      const why =
        'warehouse.tasks.scheduled_at: expected a time that can be said, ' +
        `got the second ${shown} in ${zone}`;
      await expectRefused('tasks', {column: 'scheduled_at', value: second}, why);
      await inZone('America/New_York');
    },
  );

  test.each(['2026-11-01 07:00Z', '2026-03-08 06:59Z', '2026-03-08 07:00Z'])(
    'close to a change of the clock is accepted: %s',
    async (value) => {
      await world.author(`INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('x', $1)`, [
        value,
      ]);
      expect(await world.changes('state')).toEqual([{state: 'pending'}]);
    },
  );

  test('is stored in UTC, whatever the time zone of the session', async () => {
    const rowId = await world.sent('jobs', {job_number: '4', scheduled_on: '2026-01-01 10:00+00'});
    await world.author(
      `BEGIN; SET LOCAL TimeZone = 'Asia/Kathmandu'; SET LOCAL DateStyle = 'SQL, DMY';
       UPDATE warehouse.jobs SET scheduled_on = '04/07/2026 15:45'; COMMIT`,
    );
    expect(await world.changes('row_id, fields, base')).toEqual([
      {
        row_id: rowId,
        fields: {scheduled_on: '2026-07-04T10:00:00+00:00'},
        base: {scheduled_on: '2026-01-01T10:00:00+00:00'},
      },
    ]);
  });
});

describe('a number', () => {
  test.each([
    ['jobs', 'job_type_id', '0'],
    ['jobs', 'job_status_id', '-1'],
    ['time_entries', 'employee_id', '-9223372036854775808'],
    ['job_charges', 'item_id', '0'],
  ])('%s.%s of %s is rejected', async (table, column, value) => {
    const why = `warehouse.${table}.${column}: expected a number from 1 on, got ${value}`;
    await expectRefused(table, {column, value}, why);
  });

  test.each(['NaN', 'Infinity', `1${'0'.repeat(30)}`, `0.${'0'.repeat(30)}1`])(
    '%s is rejected as a decimal',
    async (value) => {
      const why =
        'warehouse.time_entries.number_of_hours: expected a decimal number of at most 30 digits';
      await expectRefused('time_entries', {column: 'number_of_hours', value}, why);
    },
  );

  test('that is decimal is captured exactly as it was written', async () => {
    await world.sent('jobs', {job_number: '4'});
    await world.author(
      `INSERT INTO warehouse.job_charges (job_number, quantity, price_per_unit)
        VALUES (4, -1.50, ${'9'.repeat(30)}.10)`,
    );
    const fields = {quantity: '-1.50', price_per_unit: `${'9'.repeat(30)}.10`};
    expect(await world.changes('fields')).toEqual([{fields}]);
  });
});

describe('a field that the service requires', () => {
  const needs = allWrites.flatMap((writes) =>
    writes.table.writable.flatMap((rule) =>
      rule.isRequired === true ? [{writes, rule, name: `${writes.table.name}.${rule.name}`}] : [],
    ),
  );
  const blanks = ({kind}: WriteRule): (string | null)[] =>
    kind === 'text' ? [null, '', ' \n\t'] : [null];

  test.each(needs)(
    '$name is required in a new row and cannot be emptied later',
    async ({writes, rule}) => {
      const {table, parent} = writes;
      const needed = neededBy(table);
      const hung: Record<string, string> = parent === null ? {} : {[parent.numberColumn]: '4'};
      if (parent !== null) await world.sent(parent.table, hung);
      const why = `warehouse.${table.name}.${rule.name}: expected `;
      const insert = async (given: Record<string, string | null>) => {
        const names = Object.keys(given);
        const places = names.map((_, at) => `$${at + 1}`).join(', ');
        await world.author(
          `INSERT INTO warehouse.${table.name} (${names.join(', ')}) VALUES (${places})`,
          Object.values(given),
        );
      };
      const rowId = await world.sent(table.name, {...hung, [writes.key]: '55', ...needed});
      for (const blank of blanks(rule)) {
        if (rule.onCreate)
          await expect(insert({...hung, ...needed, [rule.name]: blank})).rejects.toThrow(why);
        const update = `UPDATE warehouse.${table.name} SET ${rule.name} = $1 WHERE row_id = $2`;
        if (!rule.onCreate) await world.sweep(update, ['true', rowId]);
        await expect(world.author(update, [blank, rowId])).rejects.toThrow(why);
      }
      expect(await world.changes()).toEqual([]);
      await insert({...hung, ...needed});
      expect(await world.changes('fields')).toEqual([{fields: needed}]);
    },
  );

  test('is in the written list of its table, which has no other field', async () => {
    const demanded = {
      customers: ['name'],
      customer_notes: ['note'],
      jobs: [],
      job_notes: ['note'],
      time_entries: ['employee_id', 'number_of_hours', 'started_on'],
      job_charges: [],
      employees: ['name'],
      tasks: ['completed', 'name'],
    };
    const found = allWrites.map(({table}) => [
      table.name,
      needs
        .filter(({writes}) => writes.table === table)
        .map(({rule}) => rule.name)
        .sort(),
    ]);
    expect(Object.fromEntries(found)).toEqual(demanded);
  });
});

test.each(['-0.25', '-1'])('%s hours are rejected, and 0 hours are accepted', async (value) => {
  const why = `warehouse.time_entries.number_of_hours: expected a number from 0 on, got ${value}`;
  await expectRefused('time_entries', {column: 'number_of_hours', value}, why);
  await world.author(
    `INSERT INTO warehouse.time_entries (job_number, employee_id, started_on, number_of_hours)
      VALUES (4, 7, '2026-05-05 10:00Z', 0)`,
  );
  expect(await world.changes('operation')).toEqual([{operation: 'create'}]);
});
