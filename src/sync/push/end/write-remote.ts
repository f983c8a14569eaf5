import type pg from 'pg';
import type {EncodedRow} from '../../../warehouse/rows/encoded-row.ts';
import {forgetKnown} from '../../../warehouse/rows/known-records.ts';
import type {ReadBack} from '../../../warehouse/rows/load.ts';
import {type EncodedRowSet, encodeShown} from '../../load/encoded-row-set.ts';
import {writeRowSets} from '../../load/write-batch.ts';
import type {ChangeContext} from '../change-context.ts';
import type {Remote} from '../decide/remote.ts';

/** What was read of a change's record. */
export interface Read {
  readonly run: Pick<ChangeContext, 'change' | 'stream'>;
  readonly remote: Remote;
  /** By the database's clock, before it was asked for. */
  readonly since: string;
}

/** Writes what was read of some changes' records, of one account, in the caller's transaction. */
export async function writeRemote(client: pg.ClientBase, reads: readonly Read[]): Promise<void> {
  for (const [stream, ofStream] of Map.groupBy(reads, ({run}) => run.stream)) {
    const readBackOf = new Map<EncodedRow, ReadBack>();
    const rowSets = latestOf(ofStream).map(({run, remote, since}): EncodedRowSet => {
      const rowSet = encodeShown(stream, remote, remote.record);
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
    const {number, askedAt} = read.remote;
    const held = latest.get(number);
    if (held === undefined || held.remote.askedAt < askedAt) latest.set(number, read);
  }
  return [...latest.values()];
}
