import type pg from 'pg';
import {forgetKnown} from '../rows/known-records.ts';
import type {ReadBack} from '../rows/load.ts';
import type {Stream} from '../streams/stream.ts';
import type {EncodedRow} from '../streams/table.ts';
import {writeRowSets} from '../sweeps/batches.ts';
import {type EncodedRowSet, encodeShown} from '../sweeps/packed-rows.ts';
import type {ChangeContext} from './change-context.ts';
import type {Remote} from './remote.ts';

/** A reading of a change's record. */
export interface Read {
  readonly run: Pick<ChangeContext, 'change' | 'stream'>;
  readonly remote: Remote;
  /** By the database's clock, before the record was asked for. */
  readonly since: string;
}

/** Writes the readings of some changes' records, of one account, in the caller's transaction. */
export async function writeRemote(client: pg.ClientBase, reads: readonly Read[]): Promise<void> {
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

/** Readings in lots that hold no record twice. */
function lotsOf(reads: readonly Read[]): Read[][] {
  const ofRecords = Map.groupBy(reads, ({remote}) => remote.number).values();
  const kept = [...ofRecords].flatMap((ofRecord) => [...leaveOutRepeats(ofRecord).entries()]);
  return [...Map.groupBy(kept, ([at]) => at).values()].map((lot) => lot.map(([, read]) => read));
}

/**
 * The latest of several readings of one record counts. Children of the record stand only in the
 * reading of a change that asked for them: an earlier reading counts for the children that no later
 * one tells.
 */
function leaveOutRepeats(reads: readonly Read[]): Read[] {
  const [latest, ...earlier] = reads.toSorted(
    (one, other) => other.remote.askedAt - one.remote.askedAt,
  );
  if (latest === undefined) return [];
  const told = new Set(latest.remote.children.map(({element}) => element));
  const untold = earlier.flatMap((read) => {
    const children = read.remote.children.filter(({element}) => !told.has(element));
    for (const {element} of children) told.add(element);
    return children.length === 0 ? [] : [{...read, remote: {...latest.remote, children}}];
  });
  return [latest, ...untold];
}
