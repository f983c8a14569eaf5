// The one request that carries a change, exactly as the specification has it.

import {encodeDocument, type Fields} from '../../api/encoder.ts';
import {toPathPart} from '../../api/operations.ts';
import {formatTime} from '../../api/times.ts';
import type {WriteRequest} from '../../api/transport.ts';
import {RecordError} from '../../errors.ts';
import type {Writes} from '../../streams/writes.ts';
import type {ChangeOperation, ChangeValue, ChangeValues} from '../../warehouse/change.ts';

/** What a request is about. */
export interface Subject {
  readonly operation: ChangeOperation;
  /** Of the record; null of one that is to be created. */
  readonly number: string | null;
  /** Of the customer or job that the record hangs on; null where paths do not go by it, or nobody knows it yet. */
  readonly parentNumber: string | null;
}

/** Stands in a path for a number that the service has not given yet. */
const unknown = '…';

/**
 * The request for a change.
 * @param fields - what to send, as the change keeps it: instants in UTC, numbers as text
 * @param timeZone - the account's IANA zone, in which times are written
 * @throws {RecordError} a value that cannot be written
 * @see docs/service.md "Endpoints"
 */
export function composeRequest(
  writes: Writes,
  subject: Subject,
  {fields, timeZone}: {readonly fields: ChangeValues; readonly timeZone: string},
): Pick<WriteRequest, 'method' | 'path' | 'body'> {
  const path = pathOf(writes, subject);
  if (subject.operation === 'delete') return {method: 'DELETE', path};
  const body = encodeDocument(writes.resource, encodeFields(writes, fields, timeZone));
  return {method: subject.operation === 'create' ? 'POST' : 'PUT', path, body};
}

/** Where a record is, or its list where it is to be created. */
export function pathOf(writes: Writes, {operation, number, parentNumber}: Subject): string {
  const {list, parent, isNested} = writes;
  const isUnderParent = parent !== null && (isNested || operation === 'create');
  const base = isUnderParent ? `/${parent.table}/${partOf(parentNumber)}/${list}` : `/${list}`;
  return operation === 'create' ? `${base}.xml` : `${base}/${partOf(number)}.xml`;
}

/** In the order in which the table declares them, so that the same change is always the same document. */
function encodeFields({table, timeShape}: Writes, fields: ChangeValues, timeZone: string): Fields {
  const encoded: Record<string, ChangeValue> = {};
  for (const {name, kind} of table.writable) {
    const value = fields[name];
    if (value === undefined) continue;
    if (kind !== 'instant' || typeof value !== 'string') encoded[name] = value;
    else if (timeShape !== null) encoded[name] = formatTime(value, {timeZone, shape: timeShape}).text;
  }
  const [other] = Object.keys(fields).filter((name) => !(name in encoded));
  if (other !== undefined)
    throw new RecordError(`${table.name}.${other}: expected a field that can be written, got another`);
  return encoded;
}

function partOf(number: string | null): string {
  return number === null ? unknown : toPathPart(number);
}
