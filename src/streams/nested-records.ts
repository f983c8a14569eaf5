// Records inside a record, stored as JSON; and the error for a refused value, which names its
// place.

import type {Element, Value} from '../api/xml-document.ts';
import {RecordError} from '../core/errors.ts';
import {isSecret} from './secret-values.ts';
import {expectedByType, isStorable} from './values.ts';

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
export function compareNames(first: string, second: string): number {
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
