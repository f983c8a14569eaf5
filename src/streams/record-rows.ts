// Makes rows from a record: its own, and those of its parts. The plan of the stream says where the
// values are.

import type {Element, FieldRecord, Value} from '../api/xml-document.ts';
import {RecordError} from '../core/errors.ts';
import {
  type ChildPlan,
  describeValue,
  findLayout,
  type Layout,
  type Part,
  planOf,
  type Reading,
  type RecordPlan,
  refuseValue,
  textToJson,
  toJson,
} from './record-plan.ts';
import type {Stream} from './stream.ts';
import type {Column, Row} from './table.ts';
import {expectedByType, hashRow, meaningOf, readValue, VALUE_END} from './values.ts';

/**
 * The rows that one record makes: its own, and those of the records embedded in it. Plain data,
 * because it crosses threads.
 */
export interface RowSet {
  /** The record's number, as used in paths. */
  readonly number: string;
  readonly row: Row;
  /**
   * One entry for each element of children in the record: an element that was not sent proves
   * nothing.
   */
  readonly children: readonly {readonly element: string; readonly rows: readonly Row[]}[];
}

/**
 * Makes the rows of one record. The same record makes the same rows in either dialect; secrets make
 * none.
 * @param options.timeZone - the account's IANA zone, for times that name no offset
 * @throws {RecordError} the record cannot be accepted: no number, a field twice, a value that its
 *   column refuses, a child without its key or with another parent
 * @see docs/service.md "Envelopes"; docs/service.md "Fields"
 */
export function readRows(
  stream: Stream,
  record: FieldRecord,
  options: {readonly timeZone: string},
): RowSet {
  const reading: Reading = {
    stream: stream.name,
    number: null,
    child: null,
    timeZone: options.timeZone,
  };
  const plan = planOf(stream);
  const layout = findLayout(plan.part, record.names, reading);
  const number = readNumber(plan, readElementAt(record, layout.columns[plan.keyColumn]), reading);
  reading.number = number;
  const row = readRow(
    plan.part,
    {record, layout, given: readDerived(plan, record, layout)},
    reading,
  );
  const children: {element: string; rows: Row[]}[] = [];
  for (const [index, childPlan] of plan.children.entries()) {
    const rows = readChildrenLeniently(childPlan, readElementAt(record, layout.elements[index]), {
      row,
      reading,
    });
    if (rows !== null) children.push({element: childPlan.child.element, rows});
  }
  return {number, row, children};
}

function readNumber(plan: RecordPlan, value: Value | undefined, reading: Reading): string {
  const number = toNumber(value);
  if (number !== null) return number;
  const field = plan.part.columns[plan.keyColumn]?.name ?? '';
  throw refuseValue(reading, {field, expected: NUMBER, got: describeValue(value)});
}

/** The embedded records' values for columns of this record; null if they are missing. */
function readDerived(
  {children, derivedFields}: RecordPlan,
  record: Element,
  layout: Layout,
): Value[] {
  return derivedFields.map((field, index) => {
    const embedded = readElementAt(record, layout.elements[children.length + index]);
    if (typeof embedded !== 'object' || embedded === null) return null;
    return readElementAt(embedded, embedded.names.indexOf(field)) ?? null;
  });
}

/**
 * As `readChildren`, but unreadable children that other records contain in full do not invalidate
 * this record.
 */
function readChildrenLeniently(...args: Parameters<typeof readChildren>): Row[] | null {
  const [plan, , {reading}] = args;
  if (plan.child.isOfStream !== true) return readChildren(...args);
  try {
    return readChildren(...args);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    reading.child = null;
    return null;
  }
}

/** Rows of one kind of child; null if the record does not contain its element. */
function readChildren(
  plan: ChildPlan,
  value: Value | undefined,
  parent: {readonly row: Row; readonly reading: Reading},
): Row[] | null {
  const {element, item} = plan.child;
  const {row, reading} = parent;
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') {
    if (value.trim() !== '')
      throw refuseValue(reading, {field: element, expected: 'elements', got: describeValue(value)});
    return item === null ? null : [];
  }
  const parentValues = plan.parentColumns.map((column) => row.values[column] ?? null);
  if (item === null)
    return value.names.length === 0
      ? null
      : [readChild(plan, {value, given: parentValues}, reading)];
  return readItems(plan, {list: value, given: parentValues}, reading);
}

function readItems(
  plan: ChildPlan,
  {list, given: parentValues}: {readonly list: Element; readonly given: readonly (string | null)[]},
  reading: Reading,
): Row[] {
  const {element, item} = plan.child;
  const rows = new Map<string, Row>();
  for (const [index, value] of list.values.entries()) {
    const name = list.names[index] ?? '';
    if (name !== item)
      throw refuseValue(reading, {
        field: element,
        expected: `items named ${item}`,
        got: describeValue(name),
      });
    const row = readChild(plan, {value, given: parentValues}, reading);
    if (rows.has(row.key)) {
      throw refuseValue(reading, {
        field: element,
        expected: `${item} ${row.key} once`,
        got: 'it twice',
      });
    }
    rows.set(row.key, row);
  }
  return [...rows.values()];
}

function readChild(
  {child, part}: ChildPlan,
  {value, given: parentValues}: {readonly value: Value; readonly given: readonly (string | null)[]},
  reading: Reading,
): Row {
  if (typeof value === 'string' || value === null) {
    throw refuseValue(reading, {
      field: child.item ?? child.element,
      expected: 'elements',
      got: describeValue(value),
    });
  }
  reading.child = {name: child.element, record: value};
  const row = readRow(
    part,
    {record: value, layout: findLayout(part, value.names, reading), given: parentValues},
    reading,
  );
  reading.child = null;
  return row;
}

/** The form of a number that identifies a row, as errors describe it. */
const NUMBER = 'a positive whole number of 64 bits';

/** True for an integer, as `readValue` returns it, that can identify a row. */
function isRowNumber(integer: string): boolean {
  return integer !== '0' && !integer.startsWith('-');
}

/** One element from which a row is made. */
interface Source {
  readonly record: Element;
  readonly layout: Layout;
  /** Values from the surrounding record, in the order that the part's `givenAt` refers to. */
  readonly given: readonly Value[];
}

/**
 * Makes the row of one element, without its children.
 * @throws {RecordError} a column refuses a value, a key is missing, or a value differs from that of
 *   the surrounding record
 */
function readRow(part: Part, source: Source, reading: Reading): Row {
  const {columns, givenAt} = part;
  const values: (string | null)[] = [];
  let meaning = '';
  for (let index = 0; index < columns.length; index++) {
    const column = columns[index];
    if (column === undefined) break;
    const sent = readCell(
      column,
      readElementAt(source.record, source.layout.columns[index]),
      reading,
    );
    const position = givenAt[index] ?? -1;
    const value =
      position === -1 ? sent : mergeValues(column, {sent, given: source.given[position]}, reading);
    values.push(value);
    if (value !== null) meaning += meaningOf(column.type, value);
    meaning += VALUE_END;
  }
  const attributes = readAttributes(source, reading);
  return {
    key: readKey(part, values, reading),
    values,
    attributes,
    hash: hashRow(meaning, attributes),
  };
}

function readCell(column: Column, value: Value | undefined, reading: Reading): string | null {
  if (value === null || value === undefined) return null;
  const {name, type} = column;
  if (typeof value !== 'string') {
    if (type === 'nested') return toJson(name, value, reading);
    if (value.names.length === 0) return null;
  } else if (type === 'nested') {
    return value.trim() === '' ? null : textToJson(name, value, reading);
  } else {
    const read = readValue(type, value, reading.timeZone);
    if (read !== undefined) return read;
  }
  throw refuseValue(reading, {
    field: name,
    expected: expectedByType[type],
    got: describeValue(value),
  });
}

/**
 * The record's own value; without one, the value from the surrounding record. The two must agree.
 */
function mergeValues(
  column: Column,
  {sent, given: surrounding}: {readonly sent: string | null; readonly given: Value | undefined},
  reading: Reading,
): string | null {
  const surroundingValue = readCell(column, surrounding, reading);
  if (sent === null || surroundingValue === null || sent === surroundingValue)
    return sent ?? surroundingValue;
  throw refuseValue(reading, {
    field: column.name,
    expected: `${surroundingValue} as around it`,
    got: describeValue(sent),
  });
}

function readAttributes({record, layout}: Source, reading: Reading): string {
  let members = '';
  for (const {name, label, position} of layout.rest) {
    const value = record.values[position];
    if (value === null || value === undefined) continue;
    const json =
      typeof value === 'string' ? textToJson(name, value, reading) : toJson(name, value, reading);
    if (json !== null) members += `${members === '' ? '' : ','}${label}${json}`;
  }
  return `{${members}}`;
}

function readKey(
  {columns, keyColumns}: Part,
  values: readonly (string | null)[],
  reading: Reading,
): string {
  let key = '';
  for (const index of keyColumns) {
    const value = values[index] ?? null;
    if (value === null || !isRowNumber(value)) {
      const got = value === null ? 'nothing' : describeValue(value);
      throw refuseValue(reading, {field: columns[index]?.name ?? '', expected: NUMBER, got});
    }
    key += key === '' ? value : `,${value}`;
  }
  return key;
}

/**
 * The value at a layout's position; undefined for -1, because it is slow to read an array at -1.
 */
function readElementAt(record: Element, position: number | undefined): Value | undefined {
  return position === undefined || position === -1 ? undefined : record.values[position];
}

/** The number of a record, as used in paths; null if it has none that can be read. */
export function readRecordNumber(stream: Stream, record: FieldRecord): string | null {
  return toNumber(record.values[record.names.indexOf(stream.key)]);
}

/** A value as the number of a record; null if it is not a valid one. */
export function toNumber(value: Value | undefined): string | null {
  // Whole numbers do not depend on a zone.
  const number = typeof value === 'string' ? readValue('integer', value, 'UTC') : null;
  return number !== null && number !== undefined && isRowNumber(number) ? number : null;
}
