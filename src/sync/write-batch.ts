import type pg from 'pg';
import {shapeOf} from '../streams/rows.ts';
import {type Child, parentColumnOf} from '../streams/stream.ts';
import {forgetAbsent} from '../warehouse/absent-numbers.ts';
import type {EncodedRow} from '../warehouse/encoded-row.ts';
import {rememberFields, type SeenField} from '../warehouse/fields.ts';
import {forgetKnown, rememberKnown} from '../warehouse/known-records.ts';
import {loadRows, markVanished} from '../warehouse/load.ts';
import {quarantineRecords, resolveQuarantine} from '../warehouse/quarantine.ts';
import type {Sweep} from '../warehouse/sweep.ts';
import {undoTombstones} from '../warehouse/tombstones.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';
import type {ReadBatch} from './read-batch.ts';
import {type SweepRun, scopeOf} from './sweep-run.ts';

/** What a batch did to the warehouse: rows of the stream's own table, and children that vanished from their parents. */
export interface WriteCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly revived: number;
  readonly vanished: number;
}

/** What is to be written. */
export interface Brought extends Pick<ReadBatch, 'rowSets' | 'bytes' | 'bad'> {
  /** Fields that the sweep meets for the first time. */
  readonly fields: readonly SeenField[];
}

/** Writes what a batch brought, in the caller's transaction: rows, children, known bytes, fields, quarantine. */
export async function writeBatch(
  client: pg.ClientBase,
  run: Pick<SweepRun, 'stream' | 'sweep' | 'account'>,
  batch: Brought,
): Promise<WriteCounts> {
  const {stream, sweep, account} = run;
  const scope = scopeOf(run);
  const came = {...scope, numbers: batch.rowSets.map((rowSet) => rowSet.number)};
  const rows = batch.rowSets.map((rowSet) => rowSet.row);
  const {inserted, updated, revived} = await loadRows(client, stream.table, rows, scope);
  let vanished = 0;
  for (const child of stream.children) vanished += await writeChildren(client, {child, sweep}, batch.rowSets);
  if (inserted > 0) await forgetAbsent(client, came);
  if (revived > 0) await undoTombstones(client, came);
  await rememberKnown(client, {...scope, shape: shapeOf(stream, account.timeZone), known: batch.bytes});
  await forgetKnown(client, {...came, numbers: came.numbers.filter((number) => !batch.bytes.has(number))});
  await rememberFields(client, {...scope, fields: batch.fields});
  await resolveQuarantine(client, came);
  await quarantineRecords(client, {...scope, records: batch.bad});
  return {inserted, updated, revived, vanished};
}

/** @returns how many were marked deleted because their parent no longer holds them */
async function writeChildren(
  client: pg.ClientBase,
  place: {readonly child: Child; readonly sweep: Sweep},
  rowSets: readonly EncodedRowSet[],
): Promise<number> {
  const {child, sweep} = place;
  const {accountId, sweepId} = sweep;
  const rows: EncodedRow[] = [];
  const parents: string[] = [];
  for (const rowSet of rowSets) {
    // A list that the service did not send is no empty list: its parent is not among those asked about.
    const sent = rowSet.children.find((candidate) => candidate.element === child.element);
    if (sent === undefined) continue;
    parents.push(rowSet.number);
    for (const row of sent.rows) rows.push(row);
  }
  await loadRows(client, child.table, rows, {accountId, sweepId});
  if (!child.isOwned || parents.length === 0) return 0;
  return await markVanished(client, child.table, {
    accountId,
    sweepId,
    parentColumn: parentColumnOf(child),
    parents,
    kept: rows,
  });
}
