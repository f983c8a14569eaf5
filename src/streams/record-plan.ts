// How the rows of a stream's records are read. A plan is made once from the stream's definition and
// contains everything that does not depend on a record: 30,000 records of 100 fields leave no time
// to look it up again. The plan's shape shows whether rows are still read in the same way.

import {hash} from 'node:crypto';
import {crc32} from 'node:zlib';
import {compareNames, type Reading, refuseValue} from './record-parts.ts';
import type {Child, Stream} from './stream.ts';
import type {Column, MirrorTable} from './table.ts';
import {isSecret} from './values.ts';

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
