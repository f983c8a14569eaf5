// The operations on every resource of the specification, in terms of paths and element names. The
// resources themselves stand in client.ts.

import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import {readRecord} from './quick-record.ts';
import type {ReadRequest, Transport, WriteRequest} from './transport.ts';
import {type Answer, type Gone, isGone} from './verdict.ts';
import type {WriteOutcome} from './write-outcome.ts';
import {type BadRecord, readList} from './xml-read.ts';
import type {ElementNames, FieldRecord} from './xml-record.ts';

/** A read of a path, with the names of its elements. */
export interface Target extends ReadRequest {
  readonly names: ElementNames;
}

/**
 * A list, or a page of one. `bad` holds records that could not be taken: the list is not complete
 * without them.
 */
export interface List {
  readonly records: readonly FieldRecord[];
  readonly bad: readonly BadRecord[];
  /** The `Date` header of the answer: the service's clock, which may be any way off ours. */
  readonly dateHeader: string | null;
}

/** The outcome of a write; `done` with the record as the service now holds it, where it says so. */
export type WriteResult =
  | {
      readonly outcome: 'done';
      readonly status: number;
      /** null when the answer brought none that can be read: read the record to know it. */
      readonly record: FieldRecord | null;
      /** The number or id at the end of the `Location` header. */
      readonly locatedNumber: string | null;
    }
  | Exclude<WriteOutcome, {outcome: 'done'}>;

/** Lists the records under a path; gone when the record that they hang on is unknown. */
export async function listRecords(transport: Transport, target: Target): Promise<List | Gone> {
  const answer = await transport.read(target);
  if (isGone(answer)) return answer;
  const list = reading(transport, () =>
    readList(answer.body, target.names, metaOf(transport, target, answer)),
  );
  const bad = list.bad.map((each) => ({...each, reason: transport.hide(each.reason)}));
  return {...list, bad, dateHeader: answer.dateHeader};
}

/**
 * Lists a path that always exists.
 * @throws {FatalError} the service does not know it: then the base address is wrong
 */
export async function listAll(transport: Transport, target: Target): Promise<List> {
  const list = await listRecords(transport, target);
  if (isGone(list)) throw refuseMissing(transport, target.path, list);
  return list;
}

/** Shows one record. @throws {RecordError} it came, but one of its values cannot be taken */
export async function showRecord(
  transport: Transport,
  target: Target,
): Promise<FieldRecord | Gone> {
  const answer = await transport.read(target);
  if (isGone(answer)) return answer;
  return reading(transport, () =>
    readRecord(answer.body, target.names, metaOf(transport, target, answer)),
  );
}

/** Reads what came; an error shows pieces of it, in which the token may be repeated. */
function reading<T>(transport: Transport, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw hideInError(error, (text) => transport.hide(text));
  }
}

/** The error for a list that cannot be missing. */
export function refuseMissing(
  transport: Transport,
  path: string,
  {status, words}: Gone,
): FatalError {
  return new FatalError(
    `GET ${path} at ${transport.place}: expected a list, got ${status} (${words}); check the base address of the account`,
    {kind: 'address'},
  );
}

/**
 * Sends a writing request, once. A success is believed when its body is empty, or the record that
 * was written; any other body leaves it in doubt.
 * @see docs/service.md "Envelopes": 200, 201 or 204, with or without a body; docs/traps.md "Answers
 *   that were lost"
 */
export async function sendWrite(
  transport: Transport,
  request: WriteRequest,
  names: ElementNames,
): Promise<WriteResult> {
  const result = await transport.write(request);
  return result.outcome === 'done'
    ? readWritten(result.answer, {...request, names}, transport)
    : result;
}

type Written = Pick<WriteRequest, 'method' | 'path' | 'hidden'> & {readonly names: ElementNames};

function readWritten(answer: Answer, write: Written, transport: Transport): WriteResult {
  const {status, location} = answer;
  const locatedNumber = /\/([1-9]\d*)(?:\.xml)?$/.exec(location ?? '')?.[1] ?? null;
  try {
    const record = readWrittenRecord(answer, write, transport);
    return {outcome: 'done', status, record, locatedNumber};
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof FatalError)) throw error;
    return {
      outcome: 'in-doubt',
      reason: transport.hide(error.message, write.hidden),
      status,
      retryAfterMs: null,
    };
  }
}

// A delete may answer with the record, a message or nothing, and only an error says that it failed.
function readWrittenRecord(
  answer: Answer,
  write: Written,
  transport: Transport,
): FieldRecord | null {
  const thing = `${write.method} ${write.path} at ${transport.place}`;
  if (/^\s*$/.test(answer.body.toString('latin1', 0, 64))) return null;
  const words = transport.readWords(answer, write.hidden);
  if (words.isReadable)
    throw new RetryableError(
      `${thing}: expected a success, got ${answer.status} with errors (${words.text})`,
    );
  if (write.method === 'DELETE') return null;
  try {
    return readRecord(answer.body, write.names, {thing, contentType: answer.contentType});
  } catch (error) {
    // The body is the record, so it was written; an odd value in it is found when the record is
    // read again.
    if (error instanceof RecordError) return null;
    throw error;
  }
}

/**
 * A number or id on its way into a path.
 * @throws {RecordError} not a positive whole number: it could lead to another path
 */
export function toPathPart(number: string): string {
  if (!/^[1-9]\d{0,18}$/.test(number))
    throw new RecordError('record number: expected a positive whole number, got something else');
  return number;
}

function metaOf(transport: Transport, {path}: Target, {contentType}: Answer) {
  return {thing: `GET ${path} at ${transport.place}`, contentType};
}
