// The parts that a document omits from a record that was requested by its number. The specification
// promises related data only for lists. So a part that such a document does not contain is unknown,
// not empty: nothing is cleared because it is absent. A list that was requested with `include`
// contains its records in full: only there a missing element means that there is nothing.

import type {FieldRecord} from '../api/xml-document.ts';
import {compareNames} from './nested-records.ts';
import type {Stream} from './stream.ts';
import type {HeldValues, Row} from './table.ts';
import {hashRow, meaningOf, VALUE_END} from './values.ts';

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
