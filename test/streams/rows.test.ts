import {describe, expect, test} from 'vitest';
import type {Value} from '../../src/api/xml-document.ts';
import {RecordError} from '../../src/core/errors.ts';
import {allStreams} from '../../src/streams/all.ts';
import {customers} from '../../src/streams/customers.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {employees, tasks} from '../../src/streams/team.ts';
import {
  allRows,
  cellOf,
  change,
  element,
  hashOf,
  list,
  REMARK,
  read,
  SECRET,
  sampleRecord,
} from './sample-record.ts';

const streams = allStreams.map((stream) => [stream.name, stream] as const);
describe.each(streams)('a record of %s', (_name, stream) => {
  const record = sampleRecord(stream);

  test('is identified by its number, with or without leading zeros', () => {
    expect(read(stream, record)).toMatchObject({number: '7021', row: {key: '7021'}});
    expect(read(stream, change(record, {[stream.key]: '007021'}))).toMatchObject({
      number: '7021',
      row: {key: '7021'},
    });
  });

  test('fills every column of its table with the value as sent, in column order', () => {
    const {row} = read(stream, record);
    const sent = stream.table.columns.map(({name}) => record.values[record.names.indexOf(name)]);
    expect(row.values).toEqual(
      sent.map((value) =>
        typeof value === 'string'
          ? value
          : JSON.stringify({shares: [{amount: '0.0', kind: 'house'}]}),
      ),
    );
  });

  test('keeps a field without a column in attributes, and keeps no secret', () => {
    const rowSet = read(stream, record);
    expect(JSON.parse(rowSet.row.attributes)).toMatchObject({unheard_of: REMARK});
    expect(JSON.stringify(allRows(rowSet))).not.toContain(SECRET);
  });

  test('makes the same rows when its fields come in another order', () => {
    const turned = {
      ...record,
      names: record.names.toReversed(),
      values: record.values.toReversed(),
    };
    expect(read(stream, turned)).toEqual(read(stream, record));
  });

  test('has the same hash if a secret changes, and another one if any other field does', () => {
    expect(hashOf(stream, change(record, {token: 'another'}))).toBe(hashOf(stream, record));
    expect(hashOf(stream, change(record, {unheard_of: 'else'}))).not.toBe(hashOf(stream, record));
    for (const {name} of stream.table.columns.filter(
      (column) => !(column.name in stream.derived),
    )) {
      const without = change(record, {
        [name]: null,
        [stream.key]: name === stream.key ? '7022' : '7021',
      });
      expect(hashOf(stream, without), name).not.toBe(hashOf(stream, record));
    }
  });

  test('has a hash of sixteen bytes, in hex', () => {
    expect(allRows(read(stream, record)).map((row) => row.hash.length)).toEqual(
      allRows(read(stream, record)).map(() => 32),
    );
  });

  test('is refused without a valid number; the error names stream and field', () => {
    const expected = `field ${stream.key}: expected a positive whole number of 64 bits, got`;
    const cases: [Value | undefined, string][] = [
      [undefined, 'nothing'],
      [null, 'nil'],
      ['', 'an empty text'],
      ['0', '"0"'],
      ['-7', '"-7"'],
      ['7.0', '"7.0"'],
      ['9223372036854775808', '"9223372036854775808"'],
      [element({x: '1'}), 'elements'],
    ];
    for (const [number, got] of cases) {
      const attempt = () => read(stream, change(record, {[stream.key]: number}));
      expect(attempt, got).toThrow(RecordError);
      expect(attempt).toThrow(`${stream.name}: ${expected} ${got}`);
    }
  });

  test('is refused if a field is sent twice, with or without a column for it', () => {
    for (const name of ['created_at', 'unheard_of']) {
      const twice = {...record, names: [...record.names, name], values: [...record.values, null]};
      expect(() => read(stream, twice)).toThrow(RecordError);
      expect(() => read(stream, twice)).toThrow(`field ${name}: expected it once, got it twice`);
    }
  });

  test('is refused with a value invalid for its column; the error names field and value', () => {
    const bad = change(record, {created_at: `yesterday ${'x'.repeat(60)}`});
    expect(() => read(stream, bad)).toThrow(RecordError);
    expect(() => read(stream, bad)).toThrow(
      `${stream.name} 7021: field created_at: expected a date and time, ` +
        `got "yesterday ${'x'.repeat(30)}"…`,
    );
    expect(() => read(stream, change(record, {name: element({first: 'a'})}))).toThrow(
      'field name: expected a text without NUL and without half of a surrogate pair, got elements',
    );
  });

  test('is refused with a text that Postgres cannot store, in a column or in attributes', () => {
    for (const text of ['a\0b', 'a\ud800b']) {
      expect(() => read(stream, change(record, {name: text}))).toThrow(RecordError);
      expect(() => read(stream, change(record, {unheard_of: text}))).toThrow(RecordError);
      expect(() => read(stream, change(record, {unheard_of: element({deep: text})}))).toThrow(
        /field deep: /,
      );
    }
  });
});

test('a job gets its customer number from the embedded customer and keeps nothing else', () => {
  const record = change(sampleRecord(jobs), {customer_number: undefined});
  const withCustomer = (customer: Value | undefined) => read(jobs, change(record, {customer})).row;
  const row = withCustomer(element({id: '9', customer_number: '0380', name: 'Ann', token: SECRET}));
  expect(cellOf(jobs.table, row, 'customer_number')).toBe('380');
  expect(JSON.parse(row.attributes)).not.toHaveProperty('customer');
  expect(withCustomer(element({id: '9', customer_number: '380', name: 'Bea'})).hash).toEqual(
    row.hash,
  );
  expect(cellOf(jobs.table, withCustomer(undefined), 'customer_number')).toBeNull();
  expect(cellOf(jobs.table, withCustomer(null), 'customer_number')).toBeNull();
  expect(() => withCustomer(element({customer_number: 'x'}))).toThrow(
    /field customer_number: expected a whole number/,
  );
});

test('a job is refused if its customer number differs from its embedded customer', () => {
  const record = change(sampleRecord(jobs), {customer_number: '4'});
  expect(() => read(jobs, record)).toThrow(
    'jobs 7021: field customer_number: expected 41 as around it, got "4"',
  );
});

test('embedded sub-customers, jobs and tasks are not stored with their customer', () => {
  const record = change(sampleRecord(customers), {
    children: list('child', [element({id: '1'})]),
    jobs: list('job', [element({id: '2'})]),
    tasks: list('task', [element({id: '3'})]),
  });
  expect(Object.keys(JSON.parse(read(customers, record).row.attributes))).toEqual(['unheard_of']);
});

test('records embedded in a task are kept in attributes, without their secrets', () => {
  const customer = element({customer_number: '41', token: SECRET, name: 'Ann'});
  const record = change(sampleRecord(tasks), {
    customer,
    employees: list('employee', [element({id: '5', password_salt: SECRET})]),
  });
  const {row} = read(tasks, record);
  expect(JSON.parse(row.attributes)).toMatchObject({
    customer: {customer_number: '41', name: 'Ann'},
    employees: [{id: '5'}],
  });
  expect(row.attributes).not.toContain(SECRET);
});

test('every secret of the observed records is dropped', () => {
  const secrets =
    `token remember_me_token password_digest encrypted_password password_salt remember_token
    api_key apikey remember_me_token_expires_at password stripe_customer_id`.split(/\s+/);
  const record = change(
    sampleRecord(employees),
    Object.fromEntries(secrets.map((name) => [name, SECRET])),
  );
  expect(read(employees, record)).toEqual(read(employees, sampleRecord(employees)));
});

test('custom fields and QuickBooks references are in attributes, nil left out', () => {
  const record = change(sampleRecord(jobs), {
    custom_text1: '',
    custom_number1: '1.50',
    custom_datetime1: null,
    txn_id: 'A-1',
  });
  expect(JSON.parse(read(jobs, record).row.attributes)).toEqual({
    custom_number1: '1.50',
    custom_text1: '',
    txn_id: 'A-1',
    unheard_of: REMARK,
  });
});
