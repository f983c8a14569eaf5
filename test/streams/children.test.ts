import {describe, expect, test} from 'vitest';
import type {Value} from '../../src/api/xml-document.ts';
import {RecordError} from '../../src/core/errors.ts';
import {allStreams} from '../../src/streams/all.ts';
import {customers} from '../../src/streams/customers.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {
  cellOf,
  change,
  childOf,
  element,
  hashOf,
  list,
  read,
  rowsOf,
  SECRET,
  sampleChild,
  sampleChildRecord,
  sampleRecord,
} from './sample-record.ts';

// Records of the stream itself are read in full elsewhere, and nothing in them is refused here.
const children = allStreams.flatMap((stream) =>
  stream.children
    .filter((child) => child.isOfStream !== true)
    .map((child) => [`${child.element} of ${stream.name}`, stream, child] as const),
);

describe.each(children)('the children %s', (_name, stream, child) => {
  const record = sampleRecord(stream);

  test('are all read, with the number or id of their parent', () => {
    const rows = rowsOf(read(stream, record), child.element) ?? [];
    expect(rows.length).toBe(child.item === null ? 1 : 2);
    for (const [column, field] of Object.entries(child.parentColumns)) {
      expect(rows.map((row) => cellOf(child.table, row, column))).toEqual(
        rows.map(() => (field === 'id' ? '41' : '7021')),
      );
    }
  });

  test('may name their parent, and are refused if they name another one', () => {
    for (const column of Object.keys(child.parentColumns)) {
      const say = (value: string) => {
        const own = change(sampleChildRecord(child, '501'), {[column]: value});
        return change(record, {
          [child.element]: child.item === null ? own : list(child.item, [own]),
        });
      };
      const right = column.endsWith('_number') ? '7021' : '41';
      expect(() => read(stream, say(right))).not.toThrow();
      expect(() => read(stream, say('99'))).toThrow(RecordError);
      expect(() => read(stream, say('99'))).toThrow(
        `${stream.name} 7021, ${child.element} 501: ` +
          `field ${column}: expected ${right} as around it, got "99"`,
      );
    }
  });

  test('are unknown, not empty, if the record does not send them', () => {
    expect(
      rowsOf(read(stream, change(record, {[child.element]: undefined})), child.element),
    ).toBeUndefined();
    expect(
      rowsOf(read(stream, change(record, {[child.element]: null})), child.element),
    ).toBeUndefined();
  });

  test('have no rows if the record sends an empty list, in either dialect', () => {
    const none = child.item === null ? undefined : [];
    for (const empty of [list('x', []), '', '\n  ']) {
      expect(rowsOf(read(stream, change(record, {[child.element]: empty})), child.element)).toEqual(
        none,
      );
    }
  });

  test('are refused if they are a plain text or have no key', () => {
    expect(() => read(stream, change(record, {[child.element]: 'soon'}))).toThrow(
      `${stream.name} 7021: field ${child.element}: expected elements, got "soon"`,
    );
    const keyless = change(sampleChildRecord(child, '501'), {id: undefined});
    const embedded = child.item === null ? keyless : list(child.item, [keyless]);
    expect(() => read(stream, change(record, {[child.element]: embedded}))).toThrow(RecordError);
  });

  test('do not change the hash of their parent', () => {
    expect(hashOf(stream, change(record, {[child.element]: undefined}))).toBe(
      hashOf(stream, record),
    );
  });
});

describe.each(children.filter(([, , child]) => child.item !== null))(
  'the list %s',
  (_name, stream, child) => {
    const record = sampleRecord(stream);
    const withItems = (item: string, ...items: Value[]) =>
      change(record, {[child.element]: list(item, items)});

    test('is refused with two items of one key', () => {
      const item = sampleChildRecord(child, '501');
      expect(() => read(stream, withItems(child.item ?? '', item, item))).toThrow(RecordError);
      expect(() => read(stream, withItems(child.item ?? '', item, item))).toThrow(
        /[ ,]501 once, got it twice/,
      );
    });

    test('is refused with items of another name, or without fields', () => {
      expect(() => read(stream, withItems('stranger', sampleChildRecord(child, '501')))).toThrow(
        `field ${child.element}: expected items named ${child.item}, got "stranger"`,
      );
      expect(() => read(stream, withItems(child.item ?? '', 'text'))).toThrow(RecordError);
      expect(() => read(stream, withItems(child.item ?? '', null))).toThrow(RecordError);
    });

    test('is named in the error about a bad value', () => {
      const bad = change(sampleChildRecord(child, '502'), {
        id: '502',
        [child.table.key[0] ?? 'id']: 'many',
      });
      expect(() => read(stream, withItems(child.item ?? '', bad))).toThrow(
        `${stream.name} 7021, ${child.element}`,
      );
    });
  },
);

test('an employee of a job becomes a link; its address is not stored with the job', () => {
  const record = sampleRecord(jobs);
  const ann = element({
    id: '5',
    employee_number: '1',
    name: 'Ann',
    address: '1 Elm',
    encrypted_password: SECRET,
  });
  const [row] =
    rowsOf(read(jobs, change(record, {employees: list('employee', [ann])})), 'employees') ?? [];
  expect(row).toMatchObject({
    key: '7021,5',
    values: ['7021', '41', '5', '1', 'Ann'],
    attributes: '{}',
  });
});

test('an item with an embedded part is one row that keeps the part in attributes', () => {
  const charge = change(sampleChildRecord(childOf(jobs, 'job_charges'), '501'), {
    item: element({price: '1.0', name: 'Filter'}),
  });
  const rowSet = read(
    jobs,
    change(sampleRecord(jobs), {job_charges: list('job_charge', [charge])}),
  );
  expect(rowsOf(rowSet, 'job_charges')?.[0]?.attributes).toBe(
    '{"item":{"name":"Filter","price":"1.0"}}',
  );
});

test('a look-up record makes the same row, whichever record contains it', () => {
  const tax = sampleChild(childOf(jobs, 'tax_entity'));
  const fromJob = rowsOf(read(jobs, change(sampleRecord(jobs), {tax_entity: tax})), 'tax_entity');
  const fromCustomer = rowsOf(
    read(customers, change(sampleRecord(customers), {tax_entity: tax})),
    'tax_entity',
  );
  expect(fromJob).toEqual(fromCustomer);
});
