// The one request that carries a change, exactly as the specification has it.

import {toPathPart} from '../api/addresses.ts';
import {formatTime} from '../api/times.ts';
import type {WriteRequest} from '../api/transport.ts';
import {encodeDocument, type FieldKind, type Fields} from '../api/xml-encode.ts';
import {RecordError} from '../core/errors.ts';
import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import type {Writes} from '../streams/stream.ts';
import type {ChangeOperation, WriteKind} from '../streams/table.ts';

/** The customer or job that a path goes by. */
export interface Parent<N extends string | null = string> {
  readonly table: 'customers' | 'jobs';
  readonly number: N;
}

/** A record that is to be created. */
export interface NewSubject<N extends string | null = string> {
  readonly operation: 'create';
  /** Null where paths do not go by one. */
  readonly parent: Parent<N> | null;
}

/** A record that the service has given its number. */
export interface KnownSubject<N extends string | null = string> {
  readonly operation: 'update' | 'delete';
  readonly number: N;
  /** Null where paths do not go by one. */
  readonly parent: Parent<N> | null;
}

/**
 * The subject of a request: every number that its path has. A request that is only shown may lack
 * numbers that the service has not given yet; one that is sent cannot.
 */
export type Subject<N extends string | null = string> = NewSubject<N> | KnownSubject<N>;

const wireKinds: Readonly<Record<WriteKind, FieldKind>> = {
  text: 'text',
  integer: 'integer',
  decimal: 'decimal',
  boolean: 'boolean',
  ids: 'ids',
  // Already written in the account's own way.
  instant: 'text',
  secret: 'text',
};

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
  subject: Subject<string | null>,
  {fields, timeZone}: {readonly fields: ChangeValues; readonly timeZone: string},
): Pick<WriteRequest, 'method' | 'path' | 'body'> {
  const path = pathOf(writes, subject);
  if (subject.operation === 'delete') return {method: 'DELETE', path};
  const {resource, table} = writes;
  const kinds = new Map(table.writable.map(({name, kind}) => [name, wireKinds[kind]]));
  const body = encodeDocument(resource, kinds, encodeFields(writes, fields, timeZone));
  return {method: subject.operation === 'create' ? 'POST' : 'PUT', path, body};
}

/**
 * The parent whose number the path of a request has beside the record's own; null where it has
 * none.
 */
export function parentInPath(
  {parent, isNested}: Writes,
  operation: ChangeOperation,
): Writes['parent'] {
  return isNested || operation === 'create' ? parent : null;
}

/** The path of a record, or of its list where the record is to be created. */
export function pathOf({list}: Writes, subject: Subject<string | null>): string {
  const {parent} = subject;
  const base = parent === null ? `/${list}` : `/${parent.table}/${partOf(parent.number)}/${list}`;
  return subject.operation === 'create' ? `${base}.xml` : `${base}/${partOf(subject.number)}.xml`;
}

/**
 * The fields in the order of the table's declaration, so that the same change is always the same
 * document.
 */
function encodeFields({table, timeShape}: Writes, fields: ChangeValues, timeZone: string): Fields {
  const encoded: Record<string, ChangeValue> = {};
  for (const {name, kind} of table.writable) {
    const value = fields[name];
    if (value === undefined) continue;
    if (kind !== 'instant' || typeof value !== 'string') encoded[name] = value;
    else if (timeShape !== null)
      encoded[name] = formatTime(value, {timeZone, shape: timeShape}).text;
  }
  const [other] = Object.keys(fields).filter((name) => !(name in encoded));
  if (other !== undefined)
    throw new RecordError(
      `${table.name}.${other}: expected a field that can be written, got another`,
    );
  return encoded;
}

function partOf(number: string | null): string {
  return number === null ? unknown : toPathPart(number);
}
