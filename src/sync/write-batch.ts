import type pg from 'pg';
import {shapeOf} from '../streams/rows.ts';
import type {Child, Stream} from '../streams/stream.ts';
import type {EncodedRow} from '../warehouse/encoded-row.ts';
import {rememberKnown} from '../warehouse/known-records.ts';
import {loadRows, markVanished} from '../warehouse/load.ts';
import {quarantineRecords, resolveQuarantine} from '../warehouse/quarantine.ts';
import type {Sweep} from '../warehouse/sweep.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';
import type {ReadBatch} from './read-batch.ts';

/** What a batch did to the warehouse: rows of the stream's own table, and children that vanished from their parents. */
export interface WriteCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly revived: number;
  readonly vanished: number;
}

/** Writes what a batch brought, in the caller's transaction: rows, children, known bytes, quarantine. */
export async function writeBatch(
  client: pg.ClientBase,
  place: {readonly stream: Stream; readonly sweep: Sweep; readonly timeZone: string},
  batch: ReadBatch,
): Promise<WriteCounts> {
  const {stream, sweep, timeZone} = place;
  const {accountId, sweepId} = sweep;
  const rows = batch.rowSets.map((rowSet) => rowSet.row);
  const {inserted, updated, revived} = await loadRows(client, stream.table, rows, {accountId, sweepId});
  let vanished = 0;
  for (const child of stream.children) vanished += await writeChildren(client, {child, sweep}, batch.rowSets);
  await rememberKnown(client, {
    accountId,
    stream: stream.name,
    shape: shapeOf(stream, timeZone),
    known: batch.bytes,
  });
  await resolveQuarantine(client, {
    accountId,
    stream: stream.name,
    numbers: batch.rowSets.map((set) => set.number),
  });
  await quarantineRecords(client, {accountId, stream: stream.name, sweepId, records: batch.bad});
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

function parentColumnOf(child: Child): string {
  const [column] = Object.keys(child.parentColumns);
  if (column === undefined)
    throw new TypeError(`${child.table.name}: owned by a parent, but no column names it`);
  return column;
}
