import type {Element, Value} from '../api/xml-record.ts';
import {RecordError} from '../core/errors.ts';

const MAX_GOT = 40;

/** The thing being read: enough to place a refused value, and to read a time that names no zone. */
export interface Reading {
  readonly stream: string;
  /** Number of the record, once it is known. */
  number: string | null;
  /** The embedded record being read; null while it is the record itself. */
  child: {readonly name: string; readonly record: Element} | null;
  readonly timeZone: string;
}

/**
 * The error for a record that cannot be taken.
 * @param facts.got - the value that came, in words: `describe` makes them
 */
export function refusal(
  reading: Reading,
  facts: {field: string; expected: string; got: string},
): RecordError {
  const {field, expected, got} = facts;
  return new RecordError(
    `${describePlace(reading)}: field ${field}: expected ${expected}, got ${got}`,
  );
}

/** A value as an error may show it: 40 characters of a text, and the kind of anything else. */
export function describe(value: Value | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nil';
  if (typeof value !== 'string') return value.names.length === 0 ? 'an empty array' : 'elements';
  if (value === '') return 'an empty text';
  return `${JSON.stringify(value.slice(0, MAX_GOT))}${value.length > MAX_GOT ? '…' : ''}`;
}

function describePlace({stream, number, child}: Reading): string {
  const record = number === null ? stream : `${stream} ${number}`;
  if (child === null) return record;
  const id = child.record.values[child.record.names.indexOf('id')];
  return `${record}, ${child.name}${typeof id === 'string' ? ` ${id.slice(0, MAX_GOT)}` : ''}`;
}
