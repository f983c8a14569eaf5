import {crc32} from 'node:zlib';
import type {Element, FieldRecord, Value} from '../api/xml-record.ts';
import {RecordError} from '../core/errors.ts';
import {toNumber} from './number-of.ts';
import {elementAt, layoutOf} from './record-layout.ts';
import type {Layout} from './record-plan.ts';
import {type ChildPlan, type Plan, planOf} from './record-plan.ts';
import {describe, type Reading, refusal} from './record-refusal.ts';
import type {Row} from './row.ts';
import type {Stream} from './stream.ts';
import {NUMBER, readRow} from './table-row.ts';

/**
 * The rows that one record makes: its own, and those of the records embedded in it. Plain data: it
 * crosses threads.
 */
export interface RowSet {
  /** The record's number, as paths know it. */
  readonly number: string;
  readonly row: Row;
  /**
   * One entry for each element of children in the record: an element that was not sent proves
   * nothing.
   */
  readonly children: readonly {readonly element: string; readonly rows: readonly Row[]}[];
}

/**
 * The rows of one record. The same record makes the same rows in either dialect; secrets make none.
 * @param options.timeZone - the account's IANA zone, for times that name no offset
 * @throws {RecordError} the record cannot be taken: no number, a field twice, a value that its
 *   column refuses, a
 *   child without its key or with a parent of its own
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
  const layout = layoutOf(plan.part, record.names, reading);
  const number = readNumber(plan, elementAt(record, layout.columns[plan.keyColumn]), reading);
  reading.number = number;
  const row = readRow(
    plan.part,
    {record, layout, given: readDerived(plan, record, layout)},
    reading,
  );
  const children: {element: string; rows: Row[]}[] = [];
  for (const [at, childPlan] of plan.children.entries()) {
    const rows = readKin(childPlan, elementAt(record, layout.elements[at]), {row, reading});
    if (rows !== null) children.push({element: childPlan.child.element, rows});
  }
  return {number, row, children};
}

/**
 * Fingerprint of the rows that the stream makes of its records, as int4, the same in every run. It
 * changes when a field gets a column, a type changes, a child comes in, or another zone gives times
 * their offset: records that were read under another shape must be read again.
 */
export function shapeOf(stream: Stream, timeZone: string): number {
  return crc32(timeZone, planOf(stream).shape >>> 0) | 0;
}

function readNumber(plan: Plan, value: Value | undefined, reading: Reading): string {
  const number = toNumber(value);
  if (number !== null) return number;
  const field = plan.part.columns[plan.keyColumn]?.name ?? '';
  throw refusal(reading, {field, expected: NUMBER, got: describe(value)});
}

/** The embedded records' values for columns of this one; null where they are not there. */
function readDerived({children, derivedFields}: Plan, record: Element, layout: Layout): Value[] {
  return derivedFields.map((field, at) => {
    const embedded = elementAt(record, layout.elements[children.length + at]);
    if (typeof embedded !== 'object' || embedded === null) return null;
    return elementAt(embedded, embedded.names.indexOf(field)) ?? null;
  });
}

/**
 * As `readChildren`; but unreadable children that other records bring in full do not spoil this
 * record.
 */
function readKin(...args: Parameters<typeof readChildren>): Row[] | null {
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

/** Rows of one kind of child; null when the record does not hold its element. */
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
      throw refusal(reading, {field: element, expected: 'elements', got: describe(value)});
    return item === null ? null : [];
  }
  const given = plan.parentColumns.map((column) => row.values[column] ?? null);
  if (item === null)
    return value.names.length === 0 ? null : [readChild(plan, {value, given}, reading)];
  return readItems(plan, {list: value, given}, reading);
}

function readItems(
  plan: ChildPlan,
  {list, given}: {readonly list: Element; readonly given: readonly (string | null)[]},
  reading: Reading,
): Row[] {
  const {element, item} = plan.child;
  const rows = new Map<string, Row>();
  for (const [at, value] of list.values.entries()) {
    const name = list.names[at] ?? '';
    if (name !== item)
      throw refusal(reading, {
        field: element,
        expected: `items named ${item}`,
        got: describe(name),
      });
    const row = readChild(plan, {value, given}, reading);
    if (rows.has(row.key)) {
      throw refusal(reading, {
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
  {value, given}: {readonly value: Value; readonly given: readonly (string | null)[]},
  reading: Reading,
): Row {
  if (typeof value === 'string' || value === null) {
    throw refusal(reading, {
      field: child.item ?? child.element,
      expected: 'elements',
      got: describe(value),
    });
  }
  reading.child = {name: child.element, record: value};
  const row = readRow(
    part,
    {record: value, layout: layoutOf(part, value.names, reading), given},
    reading,
  );
  reading.child = null;
  return row;
}
