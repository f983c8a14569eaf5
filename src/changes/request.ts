// Composes the one request that carries a change, with its document, exactly as the specification
// defines it, also to show it before it is sent.

import {XMLBuilder} from 'fast-xml-parser';
import type {Account} from '../accounts/accounts.ts';
import {toPathPart} from '../api/addresses.ts';
import {formatTime} from '../api/times.ts';
import type {WriteRequest} from '../api/transport.ts';
import {findForbidden} from '../api/xml-document.ts';
import {RecordError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import {type Nesting, readParentNumbers} from '../rows/held-rows.ts';
import {allWrites, findWrites} from '../streams/all.ts';
import type {Resource, Writes} from '../streams/stream.ts';
import type {ChangeOperation, WriteKind} from '../streams/table.ts';
import type {Change} from './change.ts';

/** The customer or job in a path. */
export interface Parent<RecordNumber extends string | null = string> {
  readonly table: 'customers' | 'jobs';
  readonly number: RecordNumber;
}

/** A record that is to be created. */
export interface NewSubject<RecordNumber extends string | null = string> {
  readonly operation: 'create';
  /** Null if paths have none. */
  readonly parent: Parent<RecordNumber> | null;
}

/** A record with a number that the service has given it. */
export interface KnownSubject<RecordNumber extends string | null = string> {
  readonly operation: 'update' | 'delete';
  readonly number: RecordNumber;
  /** Null if paths have none. */
  readonly parent: Parent<RecordNumber> | null;
}

/**
 * The subject of a request: every number that its path has. A request that is only shown may lack
 * numbers that the service has not given yet; one that is sent cannot.
 */
export type Subject<RecordNumber extends string | null = string> =
  | NewSubject<RecordNumber>
  | KnownSubject<RecordNumber>;

const wireKinds: Readonly<Record<WriteKind, FieldKind>> = {
  text: 'text',
  integer: 'integer',
  decimal: 'decimal',
  boolean: 'boolean',
  ids: 'ids',
  // Already written in the account's own way.
  instant: 'text',
};

/** The placeholder in a path for a number that the service has not given yet. */
const unknownNumber = '…';

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
 * The parent whose number the path of a request has beside the record's own; null if it has none.
 */
export function parentInPath(
  {parent, isNested}: Writes,
  operation: ChangeOperation,
): Writes['parent'] {
  return isNested || operation === 'create' ? parent : null;
}

/** The path of a record, or of its list if the record is to be created. */
export function pathOf({list}: Writes, subject: Subject<string | null>): string {
  const {parent} = subject;
  const listPath =
    parent === null ? `/${list}` : `/${parent.table}/${composePathPart(parent.number)}/${list}`;
  return subject.operation === 'create'
    ? `${listPath}.xml`
    : `${listPath}/${composePathPart(subject.number)}.xml`;
}

/**
 * The fields in the order of the table's declaration, so that the same change is always the same
 * document.
 */
function encodeFields(
  {table, timeShape}: Writes,
  fields: ChangeValues,
  timeZone: string,
): FieldsToSend {
  const encoded: Record<string, ChangeValue> = {};
  for (const {name, kind} of table.writable) {
    const value = fields[name];
    if (value === undefined) continue;
    if (kind !== 'instant' || typeof value !== 'string') encoded[name] = value;
    else if (timeShape !== null)
      encoded[name] = formatTime(value, {timeZone, shape: timeShape}).text;
  }
  const [unwritable] = Object.keys(fields).filter((name) => !(name in encoded));
  if (unwritable !== undefined)
    throw new RecordError(
      `${table.name}.${unwritable}: expected a field that can be written, got another`,
    );
  return encoded;
}

function composePathPart(number: string | null): string {
  return number === null ? unknownNumber : toPathPart(number);
}

/** The request that would be sent for a change, byte for byte. */
export interface PlannedRequest {
  readonly changeId: string;
  readonly method: string;
  /** With `…` for a number that the service has not given yet. */
  readonly path: string;
  /** Null for a request without a document. */
  readonly body: string | null;
}

/** The reason why nothing can be sent. */
export interface Unplannable {
  readonly changeId: string;
  readonly problem: string;
}

/** The tables whose records belong to those of others. */
export const nestings: readonly Nesting[] = allWrites.flatMap(({table, parent}) =>
  parent === null
    ? []
    : [{table: table.name, parent: parent.table, numberColumn: parent.numberColumn}],
);

/**
 * Plans the requests for changes, in their order. An update is sent without the fields that the
 * service holds already: these are known once the record is read, just before the sending.
 */
export async function planRequests(
  db: Queryable,
  changes: readonly Change[],
  accounts: readonly Account[],
): Promise<(PlannedRequest | Unplannable)[]> {
  const ids = changes.map(({changeId}) => changeId);
  const parentNumbers = await readParentNumbers(db, ids, nestings);
  const timeZones = new Map(accounts.map(({accountId, timeZone}) => [accountId, timeZone]));
  return changes.map((change) =>
    planRequest(change, {
      parentNumber: parentNumbers.get(change.changeId) ?? null,
      timeZone: timeZones.get(change.accountId) ?? 'UTC',
    }),
  );
}

function planRequest(
  change: Change,
  {parentNumber, timeZone}: {readonly parentNumber: string | null; readonly timeZone: string},
): PlannedRequest | Unplannable {
  const {changeId, fields} = change;
  try {
    const writes = findWrites(change.table);
    const subject = buildSubject(change, parentInPath(writes, change.operation), parentNumber);
    const {method, path, body} = composeRequest(writes, subject, {fields, timeZone});
    return {changeId, method, path, body: body ?? null};
  } catch (error) {
    if (error instanceof RecordError) return {changeId, problem: error.message};
    throw error;
  }
}

/** The subject of a request; a number that the service has not given yet is null. */
function buildSubject(
  {operation, number}: Change,
  parentTable: ReturnType<typeof parentInPath>,
  parentNumber: string | null,
): Subject<string | null> {
  const parent = parentTable === null ? null : {table: parentTable.table, number: parentNumber};
  return operation === 'create' ? {operation, parent} : {operation, number, parent};
}

/** How a field's text is checked before it is written. */
export type FieldKind = 'text' | 'decimal' | 'integer' | 'boolean' | 'ids';

/** The fields that a document may hold; any other is never sent. */
export type WritableFields = ReadonlyMap<string, FieldKind>;

/**
 * A field to write: its text, null to clear it, or ids for an array. Numbers and booleans come as
 * text.
 */
type FieldValue = string | null | readonly string[];

export type FieldsToSend = Readonly<Record<string, FieldValue>>;

/**
 * Writes the document of a create or update. Everything that reaches fast-xml-parser's builder was
 * checked first: the builder itself writes any tag name and any character it is given.
 * @param root - the resource; a note's text is `note` inside `note`
 * @param writable - the fields that may be written of it
 * @param fields - underscored names; in the order given. The service leaves an absent field as it
 *   is, null clears it
 * @returns the document, UTF-8 when written to the wire. Line ends are sent as LF: every XML reader
 *   converts them
 * @throws {RecordError} a field that may not be written, a text that is not of its field's kind, or
 *   a character that XML 1.0 does not have. It names the field and the character, never the text
 * @see docs/service.md "Endpoints"; docs/traps.md "The XML parser"
 */
export function encodeDocument(
  root: Resource,
  writable: WritableFields,
  fields: FieldsToSend,
): string {
  const children: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(fields)) {
    const kind = writable.get(name);
    if (kind === undefined)
      throw new RecordError(
        `${root}.${quoteName(name)}: expected a field that can be written, got another`,
      );
    children[name] = encodeValue(value, {kind, name, field: `${root}.${name}`});
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${buildXml({[root]: children})}\n`;
}

interface TargetField {
  readonly kind: FieldKind;
  readonly name: string;
  /** `job.name`, for errors. */
  readonly field: string;
}

function encodeValue(value: FieldValue, target: TargetField): unknown {
  if (value === null) return {'@nil': 'true'};
  if (typeof value !== 'string') return encodeIds(value, target);
  if (!isOfKind(value, target.kind))
    throw new RecordError(`${target.field}: expected ${target.kind}, got something else`);
  checkCharacters(value, target.field);
  return value.replaceAll(/\r\n?/g, '\n');
}

function encodeIds(ids: readonly string[], {kind, name, field}: TargetField): unknown {
  if (kind !== 'ids') throw new RecordError(`${field}: expected ${kind}, got a list`);
  if (!ids.every((id) => isOfKind(id, 'integer')))
    throw new RecordError(`${field}: expected ids, got something else`);
  return {'@type': 'array', ...(ids.length === 0 ? {} : {[name.replace(/s$/, '')]: ids})};
}

function isOfKind(text: string, kind: FieldKind): boolean {
  switch (kind) {
    case 'text':
      return true;
    case 'decimal':
      return /^-?\d{1,30}(?:\.\d{1,30})?$/.test(text);
    case 'integer':
      return /^[1-9]\d{0,18}$/.test(text);
    case 'boolean':
      return text === 'true' || text === 'false';
    case 'ids':
      return false;
  }
}

function checkCharacters(text: string, field: string): void {
  const forbidden = findForbidden(text);
  if (forbidden === null) return;
  throw new RecordError(
    `${field}: expected characters of XML 1.0, got ${forbidden.name} at ${forbidden.at}; remove it`,
  );
}

function buildXml(document: unknown): string {
  const builder = new XMLBuilder({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    suppressBooleanAttributes: false,
    suppressEmptyNode: false,
    processEntities: true,
  });
  return builder.build(document);
}

function quoteName(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}
