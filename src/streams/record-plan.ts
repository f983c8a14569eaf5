// How the rows of a stream's records are read. A plan is made once from the stream's definition and
// contains everything that does not depend on a record: 30,000 records of 100 fields leave no time
// to look it up again. The plan's shape shows whether rows are still read in the same way.
//
// Then the parts of a record: records inside it, stored as JSON; the error for a refused value,
// which names its place; and the parts that a document omits from a record that was requested by
// its number. The specification promises related data only for lists. So a part that such a
// document does not contain is unknown, not empty: nothing is cleared because it is absent. A list
// that was requested with `include` contains its records in full: only there a missing element
// means that there is nothing.

import {hash} from 'node:crypto';
import {crc32} from 'node:zlib';
import type {Element, FieldRecord, Value} from '../api/xml-document.ts';
import {RecordError} from '../core/errors.ts';
import type {Child, Stream} from './stream.ts';
import type {Column, HeldValues, MirrorTable, Row} from './table.ts';
import {expectedByType, hashRow, isSecret, isStorable, meaningOf, VALUE_END} from './values.ts';

/**
 * The places of a table's values in a record with a particular list of names; -1 for missing ones.
 */
export interface Layout {
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

/** How the rows of one kind of child are read. */
export interface ChildPlan {
  readonly child: Child;
  readonly part: Part;
  /** Columns of the parent whose values the child's rows receive. */
  readonly parentColumns: readonly number[];
}

/** How the rows of a stream's records are read. */
export interface RecordPlan {
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
 * The layout of a list of names, made once per list.
 * @throws {RecordError} a name occurs twice
 */
export function findLayout(part: Part, names: readonly string[], reading: Reading): Layout {
  let layout = part.layouts.get(names);
  if (layout === undefined) {
    layout = makeLayout(part, names, reading);
    part.layouts.set(names, layout);
  }
  return layout;
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
 * Fingerprint of the rows that the stream makes of its records, as int4, the same in every run. It
 * changes if a field gets a column, a type changes, a child is added, or another zone sets the
 * offset of times. Records that were read with another shape must be read again.
 */
export function shapeOf(stream: Stream, timeZone: string): number {
  return crc32(timeZone, planOf(stream).shape >>> 0) | 0;
}

/**
 * How the elements inside one element are written; the same for all elements with the same list of
 * names.
 */
interface NestedLayout {
  /** Positions in the order sent, secrets left out. */
  readonly sent: readonly number[];
  /** The same positions, by name. */
  readonly sorted: readonly number[];
  /** The name that all of them have; null if they differ. */
  readonly onlyName: string | null;
  /** A name that comes twice beside others. */
  readonly repeated: string | null;
}

const layouts = new WeakMap<readonly string[], NestedLayout>();

/**
 * Returns an element that contains others as JSON text: keys sorted, secrets dropped, nil and empty
 * elements left out; null if nothing is left. It is an array if the service marked it as one, or if
 * the names show it: the documented dialect only has names. Leaves stay texts: whether `5` is a
 * number differs between the dialects, and between two rows (docs/service.md "Types and nil").
 * @param name - the element's own, underscored
 * @throws {RecordError} a name occurs twice beside others, or Postgres cannot store a text
 */
export function toJson(name: string, element: Element, reading: Reading): string | null {
  const layout = findNestedLayout(element.names);
  if (element.isArray || isListOf(layout, name, element.names.length)) {
    return layout.sent.length === 0 ? null : arrayToJson(element, layout, reading);
  }
  if (layout.repeated !== null) {
    throw refuseValue(reading, {
      field: `${name}.${layout.repeated}`,
      expected: 'it once',
      got: 'it twice',
    });
  }
  const members = layout.sorted
    .map((index) =>
      memberToJson(element.names[index] ?? '', element.values[index] ?? null, reading),
    )
    .filter((member) => member !== null);
  return members.length === 0 ? null : `{${members.join(',')}}`;
}

/** A text as JSON. @throws {RecordError} Postgres cannot store the text */
export function textToJson(name: string, text: string, reading: Reading): string {
  if (!isStorable(text))
    throw refuseValue(reading, {
      field: name,
      expected: expectedByType.text,
      got: describeValue(text),
    });
  return JSON.stringify(text);
}

function arrayToJson(element: Element, layout: NestedLayout, reading: Reading): string {
  const items = layout.sent.map((index) => {
    const name = element.names[index] ?? '';
    const value = element.values[index] ?? null;
    if (value === null) return 'null';
    return typeof value === 'string'
      ? textToJson(name, value, reading)
      : (toJson(name, value, reading) ?? '{}');
  });
  return `[${items.join(',')}]`;
}

function memberToJson(name: string, value: Value, reading: Reading): string | null {
  if (value === null) return null;
  const json =
    typeof value === 'string' ? textToJson(name, value, reading) : toJson(name, value, reading);
  return json === null ? null : `${JSON.stringify(name)}:${json}`;
}

function findNestedLayout(names: readonly string[]): NestedLayout {
  let layout = layouts.get(names);
  if (layout === undefined) {
    layout = makeNestedLayout(names);
    layouts.set(names, layout);
  }
  return layout;
}

function makeNestedLayout(names: readonly string[]): NestedLayout {
  const sent = [...names.keys()].filter((index) => !isSecret(names[index] ?? ''));
  const sorted = sent.toSorted((left, right) =>
    compareNames(names[left] ?? '', names[right] ?? ''),
  );
  const repeated = sorted.find(
    (nameIndex, index) => index > 0 && names[nameIndex] === names[sorted[index - 1] ?? -1],
  );
  const [first = null] = names;
  const onlyName = names.every((name) => name === first) ? first : null;
  return {
    sent,
    sorted,
    onlyName,
    repeated: repeated === undefined ? null : (names[repeated] ?? null),
  };
}

/** Compares by code units: the one order that no locale changes. */
function compareNames(first: string, second: string): number {
  return first < second ? -1 : first > second ? 1 : 0;
}

function isListOf({onlyName}: NestedLayout, list: string, length: number): boolean {
  if (onlyName === null) return false;
  return length > 1 || isSingularOf(onlyName, list);
}

/** True if Rails would name an item of the list so. @see docs/service.md "Nested records" */
function isSingularOf(item: string, list: string): boolean {
  if (item === list || `${item}s` === list || `${item}es` === list) return true;
  if (item.endsWith('y')) return `${item.slice(0, -1)}ies` === list;
  return (
    (item.endsWith('child') && `${item}ren` === list) ||
    (item.endsWith('person') && list === `${item.slice(0, -6)}people`)
  );
}

const MAX_EXCERPT = 40;

/** The context of reading: enough to locate a refused value, and to read a time without a zone. */
export interface Reading {
  readonly stream: string;
  /** Number of the record, once it is known. */
  number: string | null;
  /** The embedded record being read; null while it is the record itself. */
  child: {readonly name: string; readonly record: Element} | null;
  readonly timeZone: string;
}

/**
 * The error for a record that cannot be accepted.
 * @param facts.got - the received value in words, as `describeValue` returns it
 */
export function refuseValue(
  reading: Reading,
  facts: {field: string; expected: string; got: string},
): RecordError {
  const expected = `${describePosition(reading)}: field ${facts.field}: expected ${facts.expected}`;
  return new RecordError(`${expected}, got ${facts.got}`, {expected});
}

/** A value as an error may show it: 40 characters of a text, and the kind of anything else. */
export function describeValue(value: Value | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nil';
  if (typeof value !== 'string') return value.names.length === 0 ? 'an empty array' : 'elements';
  if (value === '') return 'an empty text';
  return `${JSON.stringify(value.slice(0, MAX_EXCERPT))}${value.length > MAX_EXCERPT ? '…' : ''}`;
}

function describePosition({stream, number, child}: Reading): string {
  const record = number === null ? stream : `${stream} ${number}`;
  if (child === null) return record;
  const id = child.record.values[child.record.names.indexOf('id')];
  return `${record}, ${child.name}${typeof id === 'string' ? ` ${id.slice(0, MAX_EXCERPT)}` : ''}`;
}

/**
 * Columns of the record's own row for which its document has neither an element nor an embedded
 * record.
 */
export function listMissingParts(
  {table, derived}: Stream,
  {names}: FieldRecord,
): ReadonlySet<string> {
  const isIncluded = (column: string) => {
    const [element] = derived[column] ?? [];
    return names.includes(column) || (element !== undefined && names.includes(element));
  };
  return new Set(table.columns.map(({name}) => name).filter((name) => !isIncluded(name)));
}

/**
 * The elements of related lists that the document should contain, but does not. Single embedded
 * records are not included: they may be missing permanently.
 */
export function listUnembedded({children, include}: Stream, {names}: FieldRecord): string[] {
  return children
    .filter(
      ({element, item}) => item !== null && include.includes(element) && !names.includes(element),
    )
    .map(({element}) => element);
}

/**
 * The row of a record, with stored values for those that its document omits; its hash covers the
 * whole row.
 */
export function recallRow(
  stream: Stream,
  {row, record}: {readonly row: Row; readonly record: FieldRecord},
  storedValues: HeldValues,
): Row {
  const {columns} = stream.table;
  const missingColumns = listMissingParts(stream, record);
  let meaning = '';
  const values = columns.map(({name, type}, index) => {
    const isRecalled = missingColumns.has(name) && (row.values[index] ?? null) === null;
    const source =
      isRecalled && isOfSameRecord(stream, name, {row, held: storedValues, unsaid: missingColumns})
        ? storedValues
        : row;
    const value = source.values[index] ?? null;
    const text = value !== null && type === 'nested' ? sortJson(value) : value;
    meaning += text === null ? VALUE_END : `${meaningOf(type, text)}${VALUE_END}`;
    return text;
  });
  const attributes = recallAttributes(row, record, storedValues);
  return {key: row.key, values, attributes, hash: hashRow(meaning, attributes)};
}

/**
 * Whether values taken from an embedded record still belong to the same one: jobs.customer_id shows
 * it.
 */
function isOfSameRecord(
  {table, derived}: Stream,
  column: string,
  {
    row,
    held: storedValues,
    unsaid: missingColumns,
  }: {readonly row: Row; readonly held: HeldValues; readonly unsaid: ReadonlySet<string>},
): boolean {
  const [element] = derived[column] ?? [];
  if (element === undefined || missingColumns.has(`${element}_id`)) return true;
  const index = table.columns.findIndex(({name}) => name === `${element}_id`);
  const storedKey = storedValues.values[index] ?? null;
  return storedKey === null || storedKey === (row.values[index] ?? null);
}

function recallAttributes(row: Row, {names}: FieldRecord, storedValues: HeldValues): string {
  const missingAttributes = Object.entries(toObject(storedValues.attributes)).filter(
    ([name]) => !names.includes(name),
  );
  if (missingAttributes.length === 0) return row.attributes;
  return sortJson(
    JSON.stringify({...toObject(row.attributes), ...Object.fromEntries(missingAttributes)}),
  );
}

function toObject(json: string): object {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null ? value : {};
}

/**
 * JSON in the form in which rows are written: sorted keys, no blanks. Postgres uses another order
 * and adds blanks.
 */
function sortJson(json: string): string {
  return JSON.stringify(JSON.parse(json), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).sort(([first], [second]) => compareNames(first, second)),
        )
      : value,
  );
}
