// Makes rows from a record: its own, and those of its parts. A plan is made once from a stream's
// definition and contains everything that does not depend on a record: 30,000 records of 100 fields
// leave no time to look it up again. The plan's shape shows whether rows are still read in the same
// way.

import {hash} from 'node:crypto';
import {crc32} from 'node:zlib';
import type {Element, FieldRecord, Value} from '../api/xml-document.ts';
import {RecordError} from '../core/errors.ts';
import {
  compareNames,
  describeValue,
  type Reading,
  refuseValue,
  textToJson,
  toJson,
} from './nested-records.ts';
import {isSecret} from './secret-values.ts';
import type {Child, Stream} from './stream.ts';
import type {Column, MirrorTable, Row} from './table.ts';
import {expectedByType, hashRow, meaningOf, readValue, VALUE_END} from './values.ts';

/**
 * The places of a table's values in a record with a particular list of names; -1 for missing ones.
 */
interface Layout {
  /** For each column. */
  readonly columns: readonly number[];
  /** For each of the part's `elements`. */
  readonly elements: readonly number[];
  /** The fields that have no column and are not secrets, sorted by name. */
  readonly rest: readonly {
    readonly name: string;
    readonly label: string;
    readonly position: number;
  }[];
}

/** How one table's rows are read from their elements. */
export interface Part {
  readonly table: MirrorTable;
  readonly columns: readonly Column[];
  /** The column of each field. */
  readonly columnOf: ReadonlyMap<string, number>;
  readonly keyColumns: readonly number[];
  /**
   * For each column the place of its value among those from the surrounding record; -1 if there is
   * none.
   */
  readonly givenAt: readonly number[];
  /**
   * Elements that are looked up by name, in this order: children first, then those that columns are
   * derived from.
   */
  readonly elements: readonly string[];
  /** Fields that go neither to a column nor to `extra`. */
  readonly skipped: ReadonlySet<string>;
  readonly keepsRest: boolean;
  /**
   * One layout for each list of names; the reader uses the same list for all records with equal
   * names.
   */
  readonly layouts: WeakMap<readonly string[], Layout>;
}

interface ChildPlan {
  readonly child: Child;
  readonly part: Part;
  /** Columns of the parent whose values the child's rows receive. */
  readonly parentColumns: readonly number[];
}

interface RecordPlan {
  readonly shape: number;
  readonly part: Part;
  readonly keyColumn: number;
  readonly children: readonly ChildPlan[];
  /** For each value taken from an embedded record: the field inside that record. */
  readonly derivedFields: readonly string[];
}

const plans = new WeakMap<Stream, RecordPlan>();

/**
 * The stream's plan, made once.
 * @throws {TypeError} the definition names a column that its table does not have
 */
export function planOf(stream: Stream): RecordPlan {
  let plan = plans.get(stream);
  if (plan === undefined) {
    plan = makePlan(stream);
    plans.set(stream, plan);
  }
  return plan;
}

function makePlan(stream: Stream): RecordPlan {
  const {table, children, derived, ignored, key} = stream;
  const elements = children.map((child) => child.element);
  const part = makePart(table, {
    given: Object.keys(derived),
    elements: [...elements, ...Object.values(derived).map(([element]) => element)],
    skipped: [...elements, ...ignored],
  });
  return {
    shape: makeShape(stream),
    part,
    keyColumn: columnIndex(table, key),
    children: children.map((child) => makeChildPlan(table, child)),
    derivedFields: Object.values(derived).map(([, field]) => field),
  };
}

function makeChildPlan(parent: MirrorTable, child: Child): ChildPlan {
  const {table, parentColumns, renamed = {}, isLink = false} = child;
  return {
    child,
    part: makePart(table, {given: Object.keys(parentColumns), renamed, keepsRest: !isLink}),
    parentColumns: Object.values(parentColumns).map((field) => columnIndex(parent, field)),
  };
}

interface PartOptions {
  readonly given: readonly string[];
  readonly renamed?: Readonly<Record<string, string>>;
  readonly elements?: readonly string[];
  readonly skipped?: readonly string[];
  readonly keepsRest?: boolean;
}

function makePart(table: MirrorTable, options: PartOptions): Part {
  const {
    given: givenColumns,
    renamed = {},
    elements = [],
    skipped = [],
    keepsRest = true,
  } = options;
  for (const name of [...givenColumns, ...Object.keys(renamed)]) columnIndex(table, name);
  const {columns} = table;
  return {
    table,
    columns,
    columnOf: new Map(columns.map(({name}, index) => [renamed[name] ?? name, index])),
    keyColumns: table.key.map((name) => columnIndex(table, name)),
    givenAt: columns.map(({name}) => givenColumns.indexOf(name)),
    elements,
    skipped: new Set(skipped),
    keepsRest,
    layouts: new WeakMap(),
  };
}

function columnIndex(table: MirrorTable, name: string): number {
  const index = table.columns.findIndex((column) => column.name === name);
  if (index === -1) throw new TypeError(`table ${table.name}: no column "${name}"`);
  return index;
}

/**
 * Increase this if the same definition makes other rows than before: if a rule of reading changed,
 * not a field.
 */
const RULES = 1;

/**
 * Fingerprint of a stream's definition and of the rules for reading it, as int4; comments do not
 * matter.
 */
function makeShape(stream: Stream): number {
  const {name, key, table, children, ignored, derived} = stream;
  const definition = [
    RULES,
    name,
    key,
    describeTable(table),
    children.map(describeChild),
    ignored,
    derived,
  ];
  return hash('sha256', JSON.stringify(definition), 'buffer').readInt32BE(0);
}

function describeTable({name, key, columns}: MirrorTable): unknown[] {
  return [name, key, columns.map((column) => [column.name, column.type])];
}

function describeChild(child: Child): unknown[] {
  const {element, item, table, parentColumns, renamed = {}, isLink = false, isOwned} = child;
  return [element, item, describeTable(table), parentColumns, renamed, isLink, isOwned];
}

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

/**
 * Fingerprint of the rows that the stream makes of its records, as int4, the same in every run. It
 * changes if a field gets a column, a type changes, a child is added, or another zone sets the
 * offset of times. Records that were read with another shape must be read again.
 */
export function shapeOf(stream: Stream, timeZone: string): number {
  return crc32(timeZone, planOf(stream).shape >>> 0) | 0;
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
 * The layout of a list of names, made once per list.
 * @throws {RecordError} a name occurs twice
 */
function findLayout(part: Part, names: readonly string[], reading: Reading): Layout {
  let layout = part.layouts.get(names);
  if (layout === undefined) {
    layout = makeLayout(part, names, reading);
    part.layouts.set(names, layout);
  }
  return layout;
}

/**
 * The value at a layout's position; undefined for -1, because it is slow to read an array at -1.
 */
function readElementAt(record: Element, position: number | undefined): Value | undefined {
  return position === undefined || position === -1 ? undefined : record.values[position];
}

function makeLayout(part: Part, names: readonly string[], reading: Reading): Layout {
  const columns = part.columns.map(() => -1);
  const rest: {name: string; label: string; position: number}[] = [];
  const seen = new Set<string>();
  for (const [position, name] of names.entries()) {
    if (seen.has(name))
      throw refuseValue(reading, {field: name, expected: 'it once', got: 'it twice'});
    seen.add(name);
    const column = part.columnOf.get(name);
    if (column !== undefined) columns[column] = position;
    else if (part.keepsRest && !part.skipped.has(name) && !isSecret(name)) {
      rest.push({name, label: `${JSON.stringify(name)}:`, position});
    }
  }
  rest.sort((first, second) => compareNames(first.name, second.name));
  return {columns, elements: part.elements.map((name) => names.indexOf(name)), rest};
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
