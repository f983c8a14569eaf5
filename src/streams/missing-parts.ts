// The parts that a document leaves out of a record asked for by its number. The specification
// promises related data for lists alone, so a part that such a document does not contain is
// unknown, not empty: nothing is cleared because it is absent. A list that was asked for with
// `include` is the whole of its records: only there a missing element means that there is nothing.

import type {FieldRecord} from '../api/xml-document.ts';
import {compareNames} from './nested-records.ts';
import type {Stream} from './stream.ts';
import type {HeldValues, Row} from './table.ts';
import {END, hashRow, meaningOf} from './values.ts';

/**
 * Columns of the record's own row without a value in its document, from an element or an embedded
 * record.
 */
export function listMissingParts(
  {table, derived}: Stream,
  {names}: FieldRecord,
): ReadonlySet<string> {
  const isSaid = (column: string) => {
    const [element] = derived[column] ?? [];
    return names.includes(column) || (element !== undefined && names.includes(element));
  };
  return new Set(table.columns.map(({name}) => name).filter((name) => !isSaid(name)));
}

/**
 * The elements of related lists that the document should have, and has not. A single one may be
 * missing for good.
 */
export function listUnembedded({children, include}: Stream, {names}: FieldRecord): string[] {
  return children
    .filter(
      ({element, item}) => item !== null && include.includes(element) && !names.includes(element),
    )
    .map(({element}) => element);
}

/**
 * The row of a record, with held values where its document left some out; its hash is of the whole
 * row.
 */
export function recallRow(
  stream: Stream,
  {row, record}: {readonly row: Row; readonly record: FieldRecord},
  held: HeldValues,
): Row {
  const {columns} = stream.table;
  const unsaid = listMissingParts(stream, record);
  let meaning = '';
  const values = columns.map(({name, type}, at) => {
    const isRecalled = unsaid.has(name) && (row.values[at] ?? null) === null;
    const source = isRecalled && isOfSame(stream, name, {row, held, unsaid}) ? held : row;
    const value = source.values[at] ?? null;
    const text = value !== null && type === 'nested' ? sortJson(value) : value;
    meaning += text === null ? END : `${meaningOf(type, text)}${END}`;
    return text;
  });
  const attributes = recallAttributes(row, record, held);
  return {key: row.key, values, attributes, hash: hashRow(meaning, attributes)};
}

/**
 * Whether values taken from an embedded record still are of the same one: jobs.customer_id tells
 * it.
 */
function isOfSame(
  {table, derived}: Stream,
  column: string,
  {
    row,
    held,
    unsaid,
  }: {readonly row: Row; readonly held: HeldValues; readonly unsaid: ReadonlySet<string>},
): boolean {
  const [element] = derived[column] ?? [];
  if (element === undefined || unsaid.has(`${element}_id`)) return true;
  const at = table.columns.findIndex(({name}) => name === `${element}_id`);
  const before = held.values[at] ?? null;
  return before === null || before === (row.values[at] ?? null);
}

function recallAttributes(row: Row, {names}: FieldRecord, held: HeldValues): string {
  const recalled = Object.entries(toObject(held.attributes)).filter(
    ([name]) => !names.includes(name),
  );
  if (recalled.length === 0) return row.attributes;
  return sortJson(JSON.stringify({...toObject(row.attributes), ...Object.fromEntries(recalled)}));
}

function toObject(json: string): object {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null ? value : {};
}

/**
 * JSON as rows are written with it: keys in order, nothing between. Postgres has an order and
 * blanks of its own.
 */
function sortJson(json: string): string {
  return JSON.stringify(JSON.parse(json), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => compareNames(one, other)))
      : value,
  );
}
