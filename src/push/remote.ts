// The service's record of a change: read by its number, and written to the rows that show it.

import type pg from 'pg';
import {type Gone, isGone} from '../api/verdict.ts';
import {readOneApart, readRecord} from '../api/xml-read.ts';
import {RecordError, RetryableError} from '../core/errors.ts';
import {forgetKnown} from '../rows/known-records.ts';
import type {ReadBack} from '../rows/load.ts';
import {listMissingParts} from '../streams/missing-parts.ts';
import {numberOf, readRows} from '../streams/record-rows.ts';
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
import {elementOf, type Made, type Remote} from './decision.ts';
import {atStep, type ChangeContext} from './run.ts';

/**
 * Reads the record of a change's stream by its number. If the record leaves out the element that
 * the change is about, its list is read, too.
 * @throws {RecordError} the record came, and cannot be accepted
 * @throws {RetryableError} no place has the element that the change is about, so the outcome of the
 *   change stays unknown
 */
export async function readRemote(run: ChangeContext, number: string): Promise<Remote | Gone> {
  const {deps, change, stream, account, signal} = run;
  const hanging = elementOf(run);
  const wanted = [
    ...(hanging === null ? [] : [hanging]),
    ...('employee_ids' in change.fields ? ['employees'] : []),
  ];
  const {accountId} = change;
  const remote = await readRecordAt({pool: deps.pool, accountId, account, stream}, number, {
    wanted,
    signal,
  });
  if (isGone(remote)) return remote;
  if (hanging !== null && !remote.children.some(({element}) => element === hanging))
    throw new RetryableError(
      `GET ${recordPathOf(stream, number)} at ${account.api.transport.place}: ` +
        `expected its ${hanging}, got the record without, and no list showed them`,
    );
  return remote;
}

/**
 * Reads a record by its number.
 * @param options.wanted - elements of related lists that are read if the record leaves them out
 * @throws {RecordError} the record came, and cannot be accepted
 */
export async function readRecordAt(
  at: Omit<RecordPlace, 'call'>,
  number: string,
  {wanted, signal}: {readonly wanted: readonly string[]; readonly signal: AbortSignal},
): Promise<Remote | Gone> {
  const askedAt = performance.now();
  const {stream, account} = at;
  const call = {signal, urgency: 'write-back'} as const;
  const {thing, answer} = await requestRecord({account, stream, call}, number);
  if (isGone(answer)) return answer;
  const shown = readRecord(answer.body, stream, {thing, contentType: answer.contentType});
  const place = {...at, call};
  const record = await embedMissing(place, await embedCustomer(place, shown), wanted);
  const remote = readRows(stream, record, account);
  if (remote.number !== number)
    throw new RecordError(`${thing}: expected ${stream.item} ${number}, got ${remote.number}`);
  return {
    ...remote,
    record,
    unsaid: listMissingParts(stream, record),
    askedAt,
    dateHeader: answer.dateHeader,
  };
}

/**
 * Reads the number of another record that the service shows in place of the requested one, because
 * it merged the two. Null if it shows the requested one, none, or one that cannot be read.
 */
export async function readInstead(
  {stream, account, signal}: ChangeContext,
  number: string,
): Promise<string | null> {
  const call = {signal, urgency: 'write-back'} as const;
  const {thing, answer} = await requestRecord({account, stream, call}, number);
  if (isGone(answer)) return null;
  try {
    const meta = {thing, contentType: answer.contentType};
    const shown = numberOf(stream, readOneApart(answer.body, stream, meta));
    return shown === number ? null : shown;
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
    return isGone(remote) ? null : remote;
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
interface Read {
  readonly run: Pick<ChangeContext, 'change' | 'stream' | 'writes'>;
  readonly remote: Remote;
  /** By the database's clock, before the record was requested. */
  readonly since: string;
  /** The columns that the change altered; null if no reading shows that. */
  readonly made: Made | null;
}

/** Writes the readings of some changes' records, of one account, in the caller's transaction. */
export async function writeRemote(client: pg.ClientBase, reads: readonly Read[]): Promise<void> {
  const made = reads.flatMap((read) => (read.made ? [[read.run.change.changeId, read.made]] : []));
  if (made.length > 0)
    await client.query(`SELECT set_config('fieldmirror.made', $1, true)`, [
      JSON.stringify(Object.fromEntries(made)),
    ]);
  for (const [stream, ofStream] of Map.groupBy(reads, ({run}) => run.stream))
    for (const lot of lotsOf(ofStream)) await writeLot(client, stream, lot);
}

/** @param reads - of different records */
async function writeLot(
  client: pg.ClientBase,
  stream: Stream,
  reads: readonly Read[],
): Promise<void> {
  const readBackOf = new Map<EncodedRow, ReadBack>();
  const rowSets = reads.map(({run, remote, since}): EncodedRowSet => {
    const rowSet = encodeShown(stream, remote, remote.record);
    const readBack = {changeId: run.change.changeId, since};
    for (const row of [rowSet.row, ...rowSet.children.flatMap(({rows}) => rows)])
      readBackOf.set(row, readBack);
    return rowSet;
  });
  const accountId = reads[0]?.run.change.accountId ?? '';
  await writeRowSets(client, {stream, rowSets}, {accountId, sweepId: null, readBackOf});
  const numbers = rowSets.map(({number}) => number);
  await forgetKnown(client, {accountId, stream: stream.name, numbers});
}

/** Splits readings into lots that hold no record twice. */
function lotsOf(reads: readonly Read[]): Read[][] {
  const ofRecords = Map.groupBy(reads, ({remote}) => remote.number).values();
  const kept = [...ofRecords].flatMap((ofRecord) => [...joinReadings(ofRecord).entries()]);
  return [...Map.groupBy(kept, ([at]) => at).values()].map((lot) => lot.map(([, read]) => read));
}

/**
 * Joins several readings of one record. Each proves its own change alone: if reads lag behind
 * writes, a later request may show an earlier state. So children are taken from the reading of a
 * change about them. The record, and children that no change is about, are taken from that of a
 * change of the record. Of several such readings the latest counts.
 */
function joinReadings(reads: readonly Read[]): Read[] {
  const latestFirst = reads.toSorted((one, other) => other.remote.askedAt - one.remote.askedAt);
  const ofOwn = latestFirst.filter(({run}) => elementOf(run) === null);
  const [own] = [...ofOwn, ...latestFirst];
  if (own === undefined) return [];
  const isAbout = (element: string) => (read: Read) => elementOf(read.run) === element;
  const tells = (element: string) => (read: Read) =>
    read.remote.children.some((child) => child.element === element);
  const elements = new Set(
    reads.flatMap(({remote}) => remote.children.map(({element}) => element)),
  );
  const taken = Map.groupBy(elements, (element) =>
    [...latestFirst.filter(isAbout(element)), own, ...latestFirst].find(tells(element)),
  );
  return [...new Set([own, ...latestFirst])].flatMap((read) => {
    const told = taken.get(read) ?? [];
    const children = read.remote.children.filter(({element}) => told.includes(element));
    if (read !== own && children.length === 0) return [];
    return [{...read, remote: {...own.remote, children}}];
  });
}
