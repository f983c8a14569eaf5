// Records as the reader makes them, for every stream, from its own definition: each column's field
// with a value of its type, each child with two records, one field without a column, and a secret.

import type {Element, Value} from '../../src/api/xml-document.ts';
import {type RowSet, readRows} from '../../src/streams/record-rows.ts';
import type {Child, Stream} from '../../src/streams/stream.ts';
import type {ColumnType, MirrorTable, Row} from '../../src/streams/table.ts';

export const timeZone = 'America/New_York';

export function element(fields: Readonly<Record<string, Value>>): Element {
  return {names: Object.keys(fields), values: Object.values(fields), isArray: false};
}

/** A list in the observed dialect; `isArray` is false for the documented one. */
export function list(item: string, items: readonly Value[], isArray = true): Element {
  return {names: items.map(() => item), values: items, isArray};
}

/** The same record with fields set, added or, where undefined, left out. */
export function change(
  record: Element,
  fields: Readonly<Record<string, Value | undefined>>,
): Element {
  const kept = record.names.map((name, at): [string, Value | undefined] => [
    name,
    record.values[at],
  ]);
  const merged = Object.entries({...Object.fromEntries(kept), ...fields});
  return element(
    Object.fromEntries(merged.filter((entry): entry is [string, Value] => entry[1] !== undefined)),
  );
}

const VALUES: Readonly<Record<ColumnType, Value>> = {
  text: ' 00123 Elm & Oak\nBack door ',
  integer: '41',
  decimal: '275.10',
  float: '33.3333333333333',
  boolean: 'true',
  instant: '2031-07-04T09:00:00-04:00',
  nested: element({shares: list('share', [element({amount: '0.0', kind: 'house'})])}),
};

export const REMARK = 'what no column takes';
export const SECRET = 'hunter2-and-43-characters-more';

/** A record of the stream with all its fields and children; its number is 7021, its id 41. */
export function sampleRecord(stream: Stream): Element {
  const derived = Object.entries(stream.derived).map(([column, [name, field]]) => [
    name,
    element({[field]: '41', column}),
  ]);
  return change(sampleFields(stream.table), {
    [stream.key]: '7021',
    unheard_of: REMARK,
    token: SECRET,
    ...Object.fromEntries(derived),
    ...Object.fromEntries(stream.children.map((child) => [child.element, sampleChild(child)])),
  });
}

/** One child as its record embeds it: a list of two, or the single one. */
export function sampleChild(child: Child): Element {
  const first = sampleChildRecord(child, '501');
  return child.item === null ? first : list(child.item, [first, sampleChildRecord(child, '502')]);
}

/** One embedded record with this id; it does not name its parent. */
export function sampleChildRecord(child: Child, id: string): Element {
  const parents = Object.keys(child.parentColumns).map((name): [string, undefined] => [
    name,
    undefined,
  ]);
  return change(sampleFields(child.table), {id, api_token: SECRET, ...Object.fromEntries(parents)});
}

function sampleFields(table: MirrorTable): Element {
  return element(Object.fromEntries(table.columns.map(({name, type}) => [name, VALUES[type]])));
}

export const read = (stream: Stream, record: Element): RowSet =>
  readRows(stream, record, {timeZone});
export const hashOf = (stream: Stream, record: Element): string => read(stream, record).row.hash;
export const allRows = ({row, children}: RowSet): Row[] => [
  row,
  ...children.flatMap((child) => child.rows),
];
export const rowsOf = (rowSet: RowSet, name: string): readonly Row[] | undefined =>
  rowSet.children.find(({element}) => element === name)?.rows;
export const cellOf = (
  table: MirrorTable,
  row: Row | undefined,
  name: string,
): string | null | undefined =>
  row?.values[table.columns.findIndex((column) => column.name === name)];
export const childOf = (stream: Stream, name: string): Child => {
  const child = stream.children.find((candidate) => candidate.element === name);
  if (child === undefined) throw new TypeError(name);
  return child;
};
