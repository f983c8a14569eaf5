import type pg from 'pg';
import {readParentsOfLive, readVanishing} from '../rows/held-numbers.ts';
import {forgetKnown, rememberKnown} from '../rows/known-records.ts';
import {
  type Batch,
  type Family,
  type LoadCounts,
  loadProbed,
  markVanished,
  type ProbedRows,
  probeRows,
  readSpared,
} from '../rows/load.ts';
import {rememberFields, type SeenField} from '../star/fields.ts';
import {shapeOf} from '../streams/record-rows.ts';
import type {EncodedRow} from '../streams/row.ts';
import {type Child, ownedTablesOf, parentColumnOf, type Stream} from '../streams/stream.ts';
import {forgetAbsent} from './absent-numbers.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';
import {noteOlder} from './older-readings.ts';
import {sortOutOlder} from './older-rows.ts';
import {quarantineRecords, resolveQuarantine} from './quarantine.ts';
import type {ReadBatch} from './read-batch.ts';
import {type SweepRun, scopeOf} from './sweep-run.ts';
import {undoTombstones} from './tombstones.ts';

/**
 * A batch's effect: rows of the stream's own table, and children that vanished from their parents.
 */
export interface WriteCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly revived: number;
  readonly vanished: number;
}

/**
 * The same counts, with bad records that the sweep had not met: in the list, or asked for by
 * number.
 */
export interface BatchCounts extends WriteCounts {
  readonly quarantined: number;
}

/** The counts of rows, and the records that were shown as they were before a change of ours. */
export interface WrittenRowSets extends WriteCounts, Pick<LoadCounts, 'fresher'> {
  readonly older: readonly string[];
}

/** The content of a batch to be written. */
export interface Brought extends Pick<ReadBatch, 'rowSets' | 'bytes' | 'bad'> {
  /** Fields that the sweep meets for the first time. */
  readonly fields: readonly SeenField[];
}

/** Writes a batch, in the caller's transaction: rows, children, known bytes, fields, quarantine. */
export async function writeBatch(
  client: pg.ClientBase,
  run: Pick<SweepRun, 'stream' | 'sweep' | 'account'>,
  batch: Brought,
): Promise<BatchCounts & Pick<WrittenRowSets, 'older'>> {
  const {stream, account} = run;
  const scope = scopeOf(run);
  const {accountId, sweepId} = scope;
  const came = {...scope, numbers: batch.rowSets.map((rowSet) => rowSet.number)};
  // A row that a change has written since this sweep began is newer than any page of the sweep, and
  // the page's bytes are not what the row holds.
  const since = run.sweep.startedAt;
  const {fresher, older, ...counts} = await writeRowSets(
    client,
    {stream, rowSets: batch.rowSets},
    {accountId, sweepId, since},
  );
  const known = fresher > 0 ? new Map<string, Buffer>() : batch.bytes;
  await rememberKnown(client, {...scope, shape: shapeOf(stream, account.timeZone), known});
  await forgetKnown(client, {
    ...came,
    numbers: came.numbers.filter((number) => !known.has(number)),
  });
  await rememberFields(client, {...scope, fields: batch.fields});
  await resolveQuarantine(client, came);
  const {transport} = account.api;
  const hide = (text: string) => transport.hide(text);
  const records = batch.bad.map((bad) => ({...bad, reason: hide(bad.reason), xml: hide(bad.xml)}));
  const quarantined = await quarantineRecords(client, {...scope, records});
  await noteOlder(client, sweepId, older);
  return {...counts, quarantined, older};
}

/** Writes the rows of some records and of their children, in the caller's transaction. */
export async function writeRowSets(
  client: pg.ClientBase,
  {stream, rowSets}: {readonly stream: Stream; readonly rowSets: readonly EncodedRowSet[]},
  batch: Batch,
): Promise<WrittenRowSets> {
  const numbers = rowSets.map((rowSet) => rowSet.number);
  const came = {accountId: batch.accountId, stream: stream.name, numbers};
  // A row that was read back is the result of its own change, wherever else it stood.
  const rows =
    batch.readBackOf === undefined ? ownRowsOf(stream, rowSets) : rowSets.map(({row}) => row);
  const older = new Set<EncodedRow>();
  const load = async (probed: ProbedRows) => {
    const sorted = sortOutOlder(probed);
    for (const row of sorted.older) older.add(row);
    return await loadProbed(client, sorted.probed);
  };
  const own = {inserted: 0, updated: 0, revived: 0, fresher: 0};
  for (const probed of await probeRows(client, [{table: stream.table, rows}], batch))
    Object.assign(own, await load(probed));
  const {updated, revived} = own;
  let {inserted, fresher} = own;
  let vanished = 0;
  const spared: string[] = [];
  const lists = stream.children.map((child) => gather(child, rowSets));
  const vanishing = await findVanishing(client, {stream, rowSets, lists}, batch);
  const listed = lists.map(({child, rows}) => ({
    table: child.table,
    rows,
    // Of a record of the stream that stands inside another, the row that is held stays as it is.
    insertsOnly: child.isOfStream === true,
  }));
  // A table at a time, so that two batches lock rows in the same order.
  for (const probed of await probeRows(client, listed, batch)) {
    const family = vanishing.get(probed.table.name);
    if (family !== undefined) {
      vanished += await markVanished(client, probed.table, family);
      spared.push(...(await readSpared(client, probed.table, family)));
    }
    const counts = await load(probed);
    if (probed.insertsOnly === true) inserted += counts.inserted;
    else fresher += counts.fresher;
  }
  if (inserted > 0) await forgetAbsent(client, came);
  if (revived > 0) await undoTombstones(client, came);
  fresher += spared.length;
  return {
    inserted,
    updated,
    revived,
    vanished,
    fresher,
    older: [...spared, ...numbersOf(rowSets, older)],
  };
}

/** The numbers of the records that hold some of the rows. */
function numbersOf(rowSets: readonly EncodedRowSet[], some: ReadonlySet<EncodedRow>): string[] {
  if (some.size === 0) return [];
  const holdsOne = ({row, children}: EncodedRowSet) =>
    some.has(row) || children.some(({rows}) => rows.some((child) => some.has(child)));
  return rowSets.flatMap((rowSet) => (holdsOne(rowSet) ? [rowSet.number] : []));
}

/**
 * Finds the families that have lost children since: those of parents with live children here. A new
 * parent has none, and its children are not compared with anything.
 * @returns by name of the children's table
 */
async function findVanishing(
  client: pg.ClientBase,
  {
    stream,
    rowSets,
    lists,
  }: {
    readonly stream: Stream;
    readonly rowSets: readonly EncodedRowSet[];
    readonly lists: readonly ChildList[];
  },
  batch: Batch,
): Promise<ReadonlyMap<string, Family>> {
  const {accountId} = batch;
  const parents = rowSets.map(({row}) => rowNumberOf(row));
  const held = await readParentsOfLive(client, ownedTablesOf(stream), {accountId, parents});
  const families = lists.flatMap(({child, senders, rows}) => {
    const {table} = child;
    const ofLive = senders.filter(({row}) => held.get(table.name)?.has(rowNumberOf(row)) === true);
    return ofLive.length === 0 ? [] : [{table, ...familyOf({child, senders: ofLive, rows}, batch)}];
  });
  const names = await readVanishing(client, accountId, families);
  return new Map(
    families
      .filter(({table}) => names.has(table.name))
      .map((family) => [family.table.name, family]),
  );
}

/**
 * The records' own rows. Where a record stood inside an earlier one just as it stands in the list,
 * the earlier page is its row's, as if each record came in a batch of its own.
 */
function ownRowsOf({children: kinds}: Stream, rowSets: readonly EncodedRowSet[]): EncodedRow[] {
  const kin = kinds.find(({isOfStream}) => isOfStream === true);
  if (kin === undefined) return rowSets.map(({row}) => row);
  const inside = new Map<string, EncodedRow>();
  return rowSets.map((rowSet) => {
    const {row} = rowSet;
    const earlier = inside.get(rowNumberOf(row));
    for (const found of gather(kin, [rowSet]).rows) {
      const number = rowNumberOf(found);
      if (!inside.has(number)) inside.set(number, found);
    }
    return earlier?.hash === row.hash ? earlier : row;
  });
}

/**
 * @param list.senders - the parents to compare; `rows` are those of all parents, for a child may
 * have moved to another
 */
function familyOf(
  {child, senders, rows}: ChildList,
  {accountId, sweepId, since = null, readBackOf}: Batch,
): Family {
  return {
    accountId,
    sweepId,
    since,
    ...(readBackOf === undefined
      ? {}
      : {readBacks: senders.flatMap(({row}) => readBackOf.get(row) ?? [])}),
    parentColumn: parentColumnOf(child),
    parents: senders.map(({row}) => rowNumberOf(row)),
    kept: rows,
  };
}

/**
 * One kind of children: the records that sent a list of them, and those. A list that was not sent
 * is not an empty list.
 */
interface ChildList {
  readonly child: Child;
  readonly senders: readonly EncodedRowSet[];
  readonly rows: readonly EncodedRow[];
}

function gather(child: Child, rowSets: readonly EncodedRowSet[]): ChildList {
  const senders: EncodedRowSet[] = [];
  const rows: EncodedRow[] = [];
  for (const rowSet of rowSets) {
    const sent = rowSet.children.find(({element}) => element === child.element);
    if (sent === undefined) continue;
    senders.push(rowSet);
    for (const row of sent.rows) rows.push(row);
  }
  return {child, senders, rows};
}

/** The number of a record of a stream, as its row and the rows of its children hold it. */
function rowNumberOf({key: [number = '']}: EncodedRow): string {
  return number;
}
