import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {Element, Value} from '../../src/api/xml-document.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {allStreams} from '../../src/streams/all.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {readRows} from '../../src/streams/record-rows.ts';
import type {Stream} from '../../src/streams/stream.ts';
import type {ColumnType, MirrorTable} from '../../src/streams/table.ts';
import {makeJobPage} from '../api/job-page.ts';
import {change, element, list, sampleRecord, timeZone} from './sample-record.ts';

/**
 * The record in the documented dialect: no array is marked as one, an empty one is an empty text.
 */
function toDocumented(value: Value, nil: 'said' | 'left out'): Value {
  if (typeof value === 'string' || value === null) return value;
  if (value.isArray && value.names.length === 0) return '';
  const kept = value.values.flatMap((part, at) =>
    part === null && nil === 'left out' && !value.isArray
      ? []
      : [{name: value.names[at] ?? '', value: toDocumented(part, nil)}],
  );
  return {
    names: kept.map((part) => part.name),
    values: kept.map((part) => part.value),
    isArray: false,
  };
}

function documented(record: Element, nil: 'said' | 'left out'): Element {
  const value = toDocumented(record, nil);
  if (typeof value === 'string' || value === null) throw new TypeError('a record became a text');
  return value;
}

const text = fc.string({
  unit: fc.constantFrom('a', 'é', '\u{1F527}', '\n', '\r\n', ' ', '0', '"', '\\'),
  maxLength: 6,
});
const instant = fc
  .date({
    min: new Date('2001-01-01T00:00:00Z'),
    max: new Date('2068-12-31T00:00:00Z'),
    noInvalidDate: true,
  })
  .map((date) => `${date.toISOString().slice(0, 19)}+00:00`);

/** Fields of an embedded record with the names of Rails: nil, nested and lists among them. */
const {branch} = fc.letrec<{branch: Element; value: Value}>((tie) => ({
  value: fc.oneof(
    {depthSize: 'small'},
    fc.option(text, {nil: null}),
    tie('branch'),
    fc.array(tie('branch'), {minLength: 1, maxLength: 3}).map((items) => list('allocation', items)),
  ),
  branch: fc
    .tuple(fc.constantFrom('id', 'kind', 'job'), tie('value'), tie('value'), text)
    .map(([name, value, allocations, leaf]) =>
      element({
        [name]: asNamed(value),
        allocations: isListOf(allocations) ? allocations : leaf,
        z: leaf,
      }),
    ),
}));

const isListOf = (value: Value): boolean => typeof value === 'object' && value?.isArray === true;
// A list stands only under the plural of its items.
const asNamed = (value: Value): Value => (isListOf(value) ? null : value);

const VALUES: Readonly<Record<ColumnType, fc.Arbitrary<Value>>> = {
  text,
  integer: fc.bigInt({min: 1n, max: 2n ** 63n - 1n}).map(String),
  decimal: fc.double({noNaN: true, noDefaultInfinity: true}).map(String),
  float: fc.double({noNaN: true, noDefaultInfinity: true}).map(String),
  boolean: fc.boolean().map(String),
  instant,
  nested: fc.oneof(branch, fc.constant(list('x', []))),
};

function fieldsOf(
  table: MirrorTable,
  fixed: Readonly<Record<string, Value>>,
): fc.Arbitrary<Element> {
  const fields = table.columns
    .filter(({name}) => !(name in fixed))
    .map(({name, type}) => [name, fc.option(VALUES[type], {nil: null})] as const);
  const unknown = {
    custom_text1: fc.option(text, {nil: null}),
    custom_number1: text,
    glue: branch,
    token: text,
  };
  return fc
    .record({...unknown, ...Object.fromEntries(fields)})
    .map((values) => element({...values, ...fixed}));
}

/** Any record of the stream with 0 to 2 of each child. */
function recordOf(stream: Stream): fc.Arbitrary<Element> {
  const derived = Object.fromEntries(Object.keys(stream.derived).map((name) => [name, null]));
  const children = stream.children.map(({element: name, item, table, parentColumns}) => {
    const parents = Object.fromEntries(Object.keys(parentColumns).map((column) => [column, null]));
    const one = (id: string) => fieldsOf(table, {...parents, id});
    if (item === null) return [name, one('1')] as const;
    return [
      name,
      fc
        .constantFrom([], ['1'], ['1', '2'])
        .chain((ids) => fc.tuple(...ids.map(one)).map((items) => list(item, items))),
    ] as const;
  });
  return fc
    .tuple(
      fieldsOf(stream.table, {...derived, [stream.key]: '7021'}),
      fc.record(Object.fromEntries(children)),
    )
    .map(([record, embedded]) => change(record, embedded));
}

describe.each(allStreams.map((stream) => [stream.name, stream] as const))(
  'a record of %s',
  (_name, stream) => {
    test('makes the same rows and hashes in both dialects, with nil sent or left out', () => {
      fc.assert(
        fc.property(
          recordOf(stream),
          fc.constantFrom('said' as const, 'left out' as const),
          (record, nil) => {
            const rows = readRows(stream, record, {timeZone});
            expect(readRows(stream, documented(record, nil), {timeZone})).toEqual(rows);
          },
        ),
        {numRuns: 150},
      );
    });

    test('with all fields and children makes the same rows in both dialects', () => {
      const record = sampleRecord(stream);
      expect(readRows(stream, documented(record, 'said'), {timeZone})).toEqual(
        readRows(stream, record, {timeZone}),
      );
    });
  },
);

test('a textual time of the documented dialect makes the same row as the observed one', () => {
  const record = sampleRecord(jobs);
  const at = (scheduled_on: string) => readRows(jobs, change(record, {scheduled_on}), {timeZone});
  expect(at('7/4/31 09:00am')).toEqual(at('2031-07-04T09:00:00-04:00'));
});

test('a page in either dialect makes the same rows', () => {
  const read = (dialect: 'observed' | 'documented') =>
    readList(makeJobPage({jobs: 20, dialect}), jobs).records.map((record) =>
      readRows(jobs, record, {timeZone}),
    );
  const observed = read('observed');
  expect(observed).toHaveLength(20);
  expect(observed[0]?.children.map(({rows}) => rows.length)).toEqual([2, 0, 1, 1, 1]);
  expect(read('documented')).toEqual(observed);
});
