// The service's record of a change: read by its number, and written to the rows that show it.

import type pg from 'pg';
import {isMissingRecord, type MissingRecord, refuseOtherKind} from '../api/verdict.ts';
import {readOneApart, readRecord} from '../api/xml-read.ts';
import {RecordError, RetryableError} from '../core/errors.ts';
import {forgetKnown} from '../rows/held-rows.ts';
import type {ReadBack} from '../rows/load.ts';
import {listMissingParts} from '../streams/record-plan.ts';
import {readRecordNumber, readRows} from '../streams/record-rows.ts';
import type {Stream} from '../streams/stream.ts';
import type {EncodedRow} from '../streams/table.ts';
import {writeRowSets} from '../sweeps/batches.ts';
import {type EncodedRowSet, encodeShown} from '../sweeps/packed-rows.ts';
import {
  embedCustomer,
  embedMissing,
  type RecordPlace,
  recordPathOf,
  requestRecord,
} from '../sweeps/requests.ts';
import {findElement, type ModifiedColumns, type Remote} from './decision.ts';
import {atStep, type ChangeContext} from './run.ts';

/**
 * Reads the record of a change's stream by its number. If the record leaves out the element that
 * the change is about, its list is read, too.
 * @throws {RecordError} the record came, and cannot be accepted
 * @throws {RetryableError} no place has the element that the change is about, so the outcome of the
 *   change stays unknown
 */
export async function readRemote(
  run: ChangeContext,
  number: string,
): Promise<Remote | MissingRecord> {
  const {deps, change, stream, account, signal} = run;
  const childElement = findElement(run);
  const elements = [
    ...(childElement === null ? [] : [childElement]),
    ...('employee_ids' in change.fields ? ['employees'] : []),
  ];
  const {accountId} = change;
  const remote = await readRecordAt({pool: deps.pool, accountId, account, stream}, number, {
    wanted: elements,
    signal,
  });
  if (isMissingRecord(remote)) return remote;
  if (childElement !== null && !remote.children.some(({element}) => element === childElement))
    throw new RetryableError(
      `GET ${recordPathOf(stream, number)} at ${account.api.transport.place}: ` +
        `expected its ${childElement}, got the record without, and no list showed them`,
    );
  return remote;
}

/**
 * Reads a record by its number.
 * @param options.wanted - elements of related lists that are read if the record leaves them out
 * @throws {RecordError} the record came, and cannot be accepted
 * @throws {RetryableError} also if the service reports that a record of another kind is unknown
 */
export async function readRecordAt(
  source: Omit<RecordPlace, 'call'>,
  number: string,
  {wanted, signal}: {readonly wanted: readonly string[]; readonly signal: AbortSignal},
): Promise<Remote | MissingRecord> {
  const requestedAt = performance.now();
  const {stream, account} = source;
  const call = {signal, urgency: 'write-back'} as const;
  const {thing, answer} = await requestForPush({account, stream, call}, number);
  if (isMissingRecord(answer)) return answer;
  const shownRecord = readRecord(answer.body, stream, {thing, contentType: answer.contentType});
  const place = {...source, call};
  const record = await embedMissing(place, await embedCustomer(place, shownRecord), wanted);
  const remote = readRows(stream, record, account);
  if (remote.number !== number)
    throw new RecordError(`${thing}: expected ${stream.item} ${number}, got ${remote.number}`);
  return {
    ...remote,
    record,
    unsaid: listMissingParts(stream, record),
    requestedAt,
    dateHeader: answer.dateHeader,
  };
}

/** @throws {RetryableError} also if the service reports that a record of another kind is unknown */
async function requestForPush(
  place: Parameters<typeof requestRecord>[0],
  number: string,
): ReturnType<typeof requestRecord> {
  const requested = await requestRecord(place, number);
  const {thing, answer} = requested;
  const {stream} = place;
  if (isMissingRecord(answer))
    refuseOtherKind({thing, path: recordPathOf(stream, number), item: stream.item}, answer);
  return requested;
}

/**
 * Reads the number of another record that the service shows in place of the requested one, because
 * it merged the two. Null if it shows the requested one, none, or one that cannot be read.
 * @throws {RetryableError} also if the service reports that a record of another kind is unknown
 */
export async function readReplacement(
  {stream, account, signal}: ChangeContext,
  number: string,
): Promise<string | null> {
  const call = {signal, urgency: 'write-back'} as const;
  const {thing, answer} = await requestForPush({account, stream, call}, number);
  if (isMissingRecord(answer)) return null;
  try {
    const documentOptions = {thing, contentType: answer.contentType};
    const shownNumber = readRecordNumber(
      stream,
      readOneApart(answer.body, stream, documentOptions),
    );
    return shownNumber === number ? null : shownNumber;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return null;
  }
}

/** Reads the record that was just written; null when it cannot be read now. */
export async function readBack(run: ChangeContext, number: string): Promise<Remote | null> {
  try {
    const remote = await readRemote(run, number);
    await atStep(run, 'read-back');
    return isMissingRecord(remote) ? null : remote;
  } catch (error) {
    run.signal.throwIfAborted();
    const {accountName: account, changeId: change} = run.change;
    run.deps.log.debug(
      {event: 'change.read_back_failed', account, change, reason: String(error)},
      'a record that was written could not be read back',
    );
    return null;
  }
}

/** A reading of a change's record. */
interface Reading {
  readonly run: Pick<ChangeContext, 'change' | 'stream' | 'writes'>;
  readonly remote: Remote;
  /** By the database's clock, before the record was requested. */
  readonly since: string;
  /** The columns that the change altered; null if no reading shows that. */
  readonly made: ModifiedColumns | null;
}

/** Writes the readings of some changes' records, of one account, in the caller's transaction. */
export async function writeRemote(
  client: pg.ClientBase,
  readings: readonly Reading[],
): Promise<void> {
  const modifiedColumns = readings.flatMap((reading) =>
    reading.made ? [[reading.run.change.changeId, reading.made]] : [],
  );
  if (modifiedColumns.length > 0)
    await client.query(`SELECT set_config('fieldmirror.made', $1, true)`, [
      JSON.stringify(Object.fromEntries(modifiedColumns)),
    ]);
  for (const [stream, streamReadings] of Map.groupBy(readings, ({run}) => run.stream))
    for (const batch of splitBatches(streamReadings)) await writeBatch(client, stream, batch);
}

/** @param readings - of different records */
async function writeBatch(
  client: pg.ClientBase,
  stream: Stream,
  readings: readonly Reading[],
): Promise<void> {
  const readBackOf = new Map<EncodedRow, ReadBack>();
  const rowSets = readings.map(({run, remote, since}): EncodedRowSet => {
    const rowSet = encodeShown(stream, remote, remote.record);
    const readBack = {changeId: run.change.changeId, since};
    for (const row of [rowSet.row, ...rowSet.children.flatMap(({rows}) => rows)])
      readBackOf.set(row, readBack);
    return rowSet;
  });
  const accountId = readings[0]?.run.change.accountId ?? '';
  await writeRowSets(client, {stream, rowSets}, {accountId, sweepId: null, readBackOf});
  const numbers = rowSets.map(({number}) => number);
  await forgetKnown(client, {accountId, stream: stream.name, numbers});
}

/** Splits readings into lots that hold no record twice. */
function splitBatches(readings: readonly Reading[]): Reading[][] {
  const readingsByRecord = Map.groupBy(readings, ({remote}) => remote.number).values();
  const numberedReadings = [...readingsByRecord].flatMap((recordReadings) => [
    ...joinReadings(recordReadings).entries(),
  ]);
  return [...Map.groupBy(numberedReadings, ([index]) => index).values()].map((batch) =>
    batch.map(([, reading]) => reading),
  );
}

/**
 * Joins several readings of one record. Each proves its own change alone: if reads lag behind
 * writes, a later request may show an earlier state. So children are taken from the reading of a
 * change about them. The record, and children that no change is about, are taken from that of a
 * change of the record. Of several such readings the latest counts.
 */
function joinReadings(readings: readonly Reading[]): Reading[] {
  const latestFirst = readings.toSorted(
    (one, other) => other.remote.requestedAt - one.remote.requestedAt,
  );
  const ownReadings = latestFirst.filter(({run}) => findElement(run) === null);
  const [ownReading] = [...ownReadings, ...latestFirst];
  if (ownReading === undefined) return [];
  const isAbout = (element: string) => (reading: Reading) => findElement(reading.run) === element;
  const hasElement = (element: string) => (reading: Reading) =>
    reading.remote.children.some((child) => child.element === element);
  const elements = new Set(
    readings.flatMap(({remote}) => remote.children.map(({element}) => element)),
  );
  const elementsByReading = Map.groupBy(elements, (element) =>
    [...latestFirst.filter(isAbout(element)), ownReading, ...latestFirst].find(hasElement(element)),
  );
  return [...new Set([ownReading, ...latestFirst])].flatMap((reading) => {
    const chosenElements = elementsByReading.get(reading) ?? [];
    const children = reading.remote.children.filter(({element}) =>
      chosenElements.includes(element),
    );
    if (reading !== ownReading && children.length === 0) return [];
    return [{...reading, remote: {...ownReading.remote, children}}];
  });
}
