// The requests for the records of a stream: paths and queries. A record that was requested by its
// number may lack elements that lists embed. Such an element can be read elsewhere: at a separate
// path below the record, or in the list that contains the record. An element found there is put
// into the record, as if it had been embedded; an element found nowhere stays unknown.

import type pg from 'pg';
import type {AccountApi} from '../accounts/open-accounts.ts';
import {listRecords} from '../api/client.ts';
import type {ReadRequest} from '../api/transport.ts';
import {isMissingRecord} from '../api/verdict.ts';
import type {Element, FieldRecord, Value} from '../api/xml-document.ts';
import {FatalError, RecordError} from '../core/errors.ts';
import {readCustomerNumber} from '../rows/held-rows.ts';
import {readRecordNumber, toNumber} from '../streams/record-rows.ts';
import {readWindow, type Stream, type Window} from '../streams/stream.ts';
import type {SweepTarget} from './sweeps.ts';

/** The query that requests the related data of a stream. */
function includeOf(stream: Stream): Record<string, string> {
  return stream.include.length > 0 ? {include: stream.include.join(',')} : {};
}

/** The query of a sweep's first pass: the related data, and the filter of its window. */
export function queryOf(
  stream: Stream,
  {windowName}: Pick<SweepTarget, 'windowName'>,
): Record<string, string> {
  const include = includeOf(stream);
  if (windowName === null) return include;
  return {...include, ...readScheduled(stream, windowName)};
}

/**
 * Reads a window's name. A command has checked it; a schedule is a row that SQL may have written.
 */
function readScheduled(stream: Stream, windowName: string): Window {
  try {
    return readWindow(stream, windowName);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FatalError(`${reason}; fix window_name in sync.schedules`, {cause});
  }
}

/** The query of a sweep's second pass: only the numbers, if the list can return single fields. */
export function keyQueryOf(stream: Stream): Record<string, string> {
  return stream.takesOnly ? {only: stream.key} : {};
}

/** The path of one record. */
export function recordPathOf(stream: Stream, number: string): string {
  return `${stream.path.replace(/\.xml$/, '')}/${number}.xml`;
}

/** The account and stream in which a record is read. */
export interface RecordPlace {
  readonly pool: pg.Pool;
  readonly accountId: string;
  readonly account: AccountApi;
  readonly stream: Stream;
  /** The options of every request. */
  readonly call: Omit<ReadRequest, 'path' | 'query'>;
}

/** Requests a record by its number. @returns its answer, and how errors name it */
export async function requestRecord(
  {account, stream, call}: Pick<RecordPlace, 'account' | 'stream' | 'call'>,
  number: string,
) {
  const path = recordPathOf(stream, number);
  const {transport} = account.api;
  const answer = await transport.read({path, query: includeOf(stream), ...call});
  return {thing: `GET ${path} at ${transport.place}`, answer};
}

/**
 * Returns the record with the wanted elements, read elsewhere. A record that has them all costs no
 * request.
 * @param elements - elements of related lists
 * @throws {RecordError} the content found elsewhere is invalid
 */
export async function embedMissing(
  place: RecordPlace,
  record: FieldRecord,
  elements: readonly string[],
): Promise<FieldRecord> {
  const {stream} = place;
  const number = readRecordNumber(stream, record);
  const missing = elements.filter((name) => !record.names.includes(name));
  if (missing.length === 0 || number === null) return record;
  const hasPath = (name: string) =>
    stream.children.some((child) => child.element === name && child.hasPath === true);
  const foundElements = new Map<string, Value>();
  if (!missing.every(hasPath)) await findInList(place, {record, number, missing}, foundElements);
  for (const name of missing)
    if (!foundElements.has(name) && hasPath(name))
      await findBelow(place, {number, name}, foundElements);
  return embed(record, foundElements);
}

/**
 * Returns the record with the customer that lists embed, if it names one that is stored; costs no
 * request.
 */
export async function embedCustomer(place: RecordPlace, record: FieldRecord): Promise<FieldRecord> {
  const [element] = place.stream.derived.customer_number ?? [];
  if (
    element === undefined ||
    !place.stream.include.includes(element) ||
    record.names.includes(element)
  )
    return record;
  const number = await findCustomer(place, record);
  if (number === null) return record;
  return embed(
    record,
    new Map([[element, {names: ['customer_number'], values: [number], isArray: false}]]),
  );
}

function embed(record: FieldRecord, foundElements: ReadonlyMap<string, Value>): FieldRecord {
  return {
    ...record,
    names: [...record.names, ...foundElements.keys()],
    values: [...record.values, ...foundElements.values()],
  };
}

/** Reads the path that lists one kind of the record's children. */
async function findBelow(
  {stream, account, call}: RecordPlace,
  {number, name}: {readonly number: string; readonly name: string},
  foundElements: Map<string, Value>,
): Promise<void> {
  const item = stream.children.find(({element}) => element === name)?.item ?? '';
  const path = recordPathOf(stream, number).replace(/\.xml$/, `/${name}.xml`);
  const list = await listRecords(account.api.transport, {path, ...call, names: {list: name, item}});
  if (isMissingRecord(list)) return;
  const {records, bad} = list;
  if (bad[0] !== undefined)
    throw new RecordError(`GET ${path} at ${account.api.transport.place}: ${bad[0].reason}`);
  foundElements.set(name, {
    names: records.map(() => item),
    values: records,
    isArray: true,
  } satisfies Element);
}

interface IncompleteRecord {
  readonly record: FieldRecord;
  readonly number: string;
  readonly missing: readonly string[];
}

/**
 * Searches for the record in the list that contains it; that list embeds the requested elements.
 */
async function findInList(
  place: RecordPlace,
  {record, number, missing}: IncompleteRecord,
  foundElements: Map<string, Value>,
): Promise<void> {
  const {stream, account, call} = place;
  const customerNumber = await findCustomer(place, record);
  if (customerNumber === null || stream.listedAt === null) return;
  const {path, query} = stream.listedAt(customerNumber);
  const include = {include: missing.join(',')};
  const seen = new Set<string>();
  for (let page = 1; ; page++) {
    const pageQuery = {...query, ...keyQueryOf(stream), ...include, page: String(page)};
    const list = await listRecords(account.api.transport, {
      path,
      query: pageQuery,
      ...call,
      names: stream,
    });
    const before = seen.size;
    for (const listed of isMissingRecord(list) ? [] : list.records) {
      const listedNumber = readRecordNumber(stream, listed) ?? '';
      seen.add(listedNumber);
      if (listedNumber !== number) continue;
      for (const name of missing) {
        const at = listed.names.indexOf(name);
        if (at !== -1) foundElements.set(name, listed.values[at] ?? null);
      }
      return;
    }
    if (seen.size === before) return;
  }
}

/** The number of the customer that the record is, or is for; null if it is not known. */
async function findCustomer({pool, accountId, stream}: RecordPlace, record: FieldRecord) {
  if (stream.key === 'customer_number') return readRecordNumber(stream, record);
  const [customer = ''] = stream.derived.customer_number ?? [];
  const embedded = valueIn(record, customer);
  if (typeof embedded === 'object' && embedded !== null)
    return toNumber(valueIn(embedded, 'customer_number'));
  const customerId = toNumber(valueIn(record, `${customer}_id`));
  return customerId === null ? null : await readCustomerNumber(pool, {accountId, customerId});
}

function valueIn({names, values}: Element, name: string): Value | undefined {
  return values[names.indexOf(name)];
}
