import type {Element, Value} from '../api/xml-record.ts';
import type {Column} from './mirror-table.ts';
import {textToJson, toJson} from './nested-records.ts';
import {elementAt} from './record-layout.ts';
import type {Layout, Part} from './record-plan.ts';
import {describe, type Reading, refusal} from './record-refusal.ts';
import type {Row} from './row.ts';
import {END, hashRow, meaningOf} from './value-meaning.ts';
import {expectedOf, readValue} from './values.ts';

/** The form of a number that identifies a row, as errors tell it. */
export const NUMBER = 'a positive whole number of 64 bits';

/** True for an integer, as `readValue` gives it, that can identify a row. */
export function isNumber(integer: string): boolean {
  return integer !== '0' && !integer.startsWith('-');
}

/** One element to make a row of. */
interface Source {
  readonly record: Element;
  readonly layout: Layout;
  /** Values from its surroundings, as the part's `givenAt` counts them. */
  readonly given: readonly Value[];
}

/**
 * The row of one element, children left aside.
 * @throws {RecordError} a value that its column refuses, a key that is missing, another value than
 *   the surroundings'
 */
export function readRow(part: Part, source: Source, reading: Reading): Row {
  const {columns, givenAt} = part;
  const values: (string | null)[] = [];
  let meaning = '';
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at];
    if (column === undefined) break;
    const sent = readCell(column, elementAt(source.record, source.layout.columns[at]), reading);
    const place = givenAt[at] ?? -1;
    const value = place === -1 ? sent : agree(column, {sent, given: source.given[place]}, reading);
    values.push(value);
    if (value !== null) meaning += meaningOf(column.type, value);
    meaning += END;
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
  throw refusal(reading, {field: name, expected: expectedOf[type], got: describe(value)});
}

/** The record's own value; without one, the value from its surroundings. The two must agree. */
function agree(
  column: Column,
  {sent, given}: {readonly sent: string | null; readonly given: Value | undefined},
  reading: Reading,
): string | null {
  const filled = readCell(column, given, reading);
  if (sent === null || filled === null || sent === filled) return sent ?? filled;
  throw refusal(reading, {
    field: column.name,
    expected: `${filled} as around it`,
    got: describe(sent),
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
  for (const at of keyColumns) {
    const value = values[at] ?? null;
    if (value === null || !isNumber(value)) {
      const got = value === null ? 'nothing' : describe(value);
      throw refusal(reading, {field: columns[at]?.name ?? '', expected: NUMBER, got});
    }
    key += key === '' ? value : `,${value}`;
  }
  return key;
}
