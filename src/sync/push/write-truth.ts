import type pg from 'pg';
import type {EncodedRow} from '../../warehouse/encoded-row.ts';
import {forgetKnown} from '../../warehouse/known-records.ts';
import type {ReadBack} from '../../warehouse/load.ts';
import {type EncodedRowSet, encodeShown} from '../encoded-row-set.ts';
import {writeRowSets} from '../write-batch.ts';
import type {PushRun} from './push-run.ts';
import type {Truth} from './truth.ts';

/** What was read of a change's record. */
export interface Read {
  readonly run: Pick<PushRun, 'change' | 'stream'>;
  readonly truth: Truth;
  /** By the database's clock, before it was asked for. */
  readonly since: string;
}

/** Writes what was read of some changes' records, of one account, in the caller's transaction. */
export async function writeTruth(client: pg.ClientBase, reads: readonly Read[]): Promise<void> {
  for (const [stream, ofStream] of Map.groupBy(reads, ({run}) => run.stream)) {
    const readBackOf = new Map<EncodedRow, ReadBack>();
    const rowSets = latestOf(ofStream).map(({run, truth, since}): EncodedRowSet => {
      const rowSet = encodeShown(stream, truth, truth.record);
      const readBack = {changeId: run.change.changeId, since};
      for (const row of [rowSet.row, ...rowSet.children.flatMap(({rows}) => rows)])
        readBackOf.set(row, readBack);
      return rowSet;
    });
    const accountId = ofStream[0]?.run.change.accountId ?? '';
    await writeRowSets(client, {stream, rowSets}, {accountId, sweepId: null, readBackOf});
    const numbers = rowSets.map(({number}) => number);
    await forgetKnown(client, {accountId, stream: stream.name, numbers});
  }
}

/** Of several readings of one record the latest: it knows what the others know. */
function latestOf(reads: readonly Read[]): Read[] {
  const latest = new Map<string, Read>();
  for (const read of reads) {
    const {number, askedAt} = read.truth;
    const held = latest.get(number);
    if (held === undefined || held.truth.askedAt < askedAt) latest.set(number, read);
  }
  return [...latest.values()];
}
