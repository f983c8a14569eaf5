// A stream's definition with everything looked up that does not depend on a record: 30,000 records
// of 100 fields leave no time to look it up again. Its shape says whether rows are still read
// alike.

import {hash} from 'node:crypto';
import type {Child, Stream} from './stream.ts';
import type {Column, MirrorTable} from './table.ts';

/**
 * The places of a table's values in a record with one certain list of names; -1 for missing ones.
 */
export interface Layout {
  /** For each column. */
  readonly columns: readonly number[];
  /** For each of the part's `elements`. */
  readonly elements: readonly number[];
  /** The fields that no column takes and that are no secrets, sorted by name. */
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
  /** The column that a field goes to. */
  readonly columnOf: ReadonlyMap<string, number>;
  readonly keyColumns: readonly number[];
  /**
   * For each column the place of its value among those that the surroundings give; -1 where they
   * give none.
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
  /** One layout for each list of names; the reader uses one list for all records alike. */
  readonly layouts: WeakMap<readonly string[], Layout>;
}

export interface ChildPlan {
  readonly child: Child;
  readonly part: Part;
  /** Columns of the parent whose values the child's rows are given. */
  readonly parentColumns: readonly number[];
}

export interface RecordPlan {
  readonly shape: number;
  readonly part: Part;
  readonly keyColumn: number;
  readonly children: readonly ChildPlan[];
  /** For each given value of the record: the field inside the embedded record. */
  readonly derivedFields: readonly string[];
}

const plans = new WeakMap<Stream, RecordPlan>();

/**
 * The stream's plan, made once.
 * @throws {TypeError} a definition that names a column which its table does not have
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

interface Facts {
  readonly given: readonly string[];
  readonly renamed?: Readonly<Record<string, string>>;
  readonly elements?: readonly string[];
  readonly skipped?: readonly string[];
  readonly keepsRest?: boolean;
}

function makePart(table: MirrorTable, facts: Facts): Part {
  const {given, renamed = {}, elements = [], skipped = [], keepsRest = true} = facts;
  for (const name of [...given, ...Object.keys(renamed)]) columnIndex(table, name);
  const {columns} = table;
  return {
    table,
    columns,
    columnOf: new Map(columns.map(({name}, at) => [renamed[name] ?? name, at])),
    keyColumns: table.key.map((name) => columnIndex(table, name)),
    givenAt: columns.map(({name}) => given.indexOf(name)),
    elements,
    skipped: new Set(skipped),
    keepsRest,
    layouts: new WeakMap(),
  };
}

function columnIndex(table: MirrorTable, name: string): number {
  const at = table.columns.findIndex((column) => column.name === name);
  if (at === -1) throw new TypeError(`table ${table.name}: no column "${name}"`);
  return at;
}

/**
 * Counts up when the same definition makes other rows than before: a rule of reading changed, not a
 * field.
 */
const RULES = 1;

/**
 * Fingerprint of a stream's definition and of the rules it is read by, as int4; comments do not
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

function describeChild({
  element,
  item,
  table,
  parentColumns,
  renamed,
  isLink,
  isOwned,
}: Child): unknown[] {
  return [
    element,
    item,
    describeTable(table),
    parentColumns,
    renamed ?? {},
    isLink ?? false,
    isOwned,
  ];
}
