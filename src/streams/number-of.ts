import type {FieldRecord, Value} from '../api/xml-record.ts';
import type {Stream} from './stream.ts';
import {isNumber} from './table-row.ts';
import {readValue} from './values.ts';

/** The number of a record, as paths know it; null where it bears none that can be read. */
export function numberOf(stream: Stream, record: FieldRecord): string | null {
  return toNumber(record.values[record.names.indexOf(stream.key)]);
}

/** A value as the number of a record; null where it can be none. */
export function toNumber(value: Value | undefined): string | null {
  // Whole numbers know no zone.
  const number = typeof value === 'string' ? readValue('integer', value, 'UTC') : null;
  return number !== null && number !== undefined && isNumber(number) ? number : null;
}
