// A batch: turns the bytes of some pages into rows. A record known byte for byte is never parsed:
// docs/traps.md "The XML parser". The service may return a record as it was before one of our
// confirmed changes, because its reads may lag behind its writes. The row then stays as it is, and
// the sweep reads the record again before it ends.

import type pg from 'pg';
import {freeBytes} from '../core/own-bytes.ts';
import {decodeCopyRow} from '../postgres/sql.ts';
import {showsReplaced} from '../rows/change-values.ts';
import {
  forgetKnown,
  probeKnown,
  readParentsOfLive,
  readVanishing,
  rememberKnown,
} from '../rows/held-rows.ts';
import {
  type Batch,
  type Family,
  type LoadCounts,
  loadProbed,
  markVanished,
  type ProbedRows,
  probeAgain,
  probeRows,
  readSpared,
  type StoredRow,
} from '../rows/load.ts';
import {shapeOf} from '../streams/record-plan.ts';
import {type Child, findParentColumn, listOwnedTables, type Stream} from '../streams/stream.ts';
import type {EncodedRow, MirrorTable} from '../streams/table.ts';
import {type PageFields, rememberFields, type SeenField} from './fields.ts';
import type {EncodedRowSet} from './packed-rows.ts';
import type {PageReader} from './page-reader.ts';
import {type CutPage, hashAt, unpack} from './pages.ts';
import {type QuarantinedRecord, quarantineRecords, resolveQuarantine} from './quarantine.ts';
import {noteOlder, type SweepRun, scopeOf} from './sweep-run.ts';
import {forgetAbsent, undoTombstones} from './tombstones.ts';

/** The content of some pages, ready to be written. */
export interface ReadBatch {
  /** The numbers of all readable records, page by page; a record may come twice. */
  readonly pages: readonly {readonly page: number; readonly numbers: readonly string[]}[];
  /** Records whose bytes were known, and so were not parsed. */
  readonly known: number;
  /** Records that were not known byte for byte; of a record that came twice, the later reading. */
  readonly rowSets: readonly EncodedRowSet[];
  /** The hash of the bytes by which each of `rowSets` is known from now on. */
  readonly bytes: ReadonlyMap<string, Buffer>;
  readonly bad: readonly QuarantinedRecord[];
  /** The fields that the parsed pages sent. */
  readonly fields: readonly PageFields[];
}

interface ReadContext {
  readonly stream: Stream;
  readonly accountId: string;
  readonly timeZone: string;
  readonly pool: pg.Pool;
  readonly pageReader: PageReader;
}

/**
 * Reads the records of some pages that are not known yet.
 * @throws {RetryableError} a page is not a complete, well-formed list
 */
export async function readBatch(
  context: ReadContext,
  pages: readonly CutPage[],
): Promise<ReadBatch> {
  const {stream, accountId, pool, timeZone} = context;
  const known = await probeKnown(pool, {
    accountId,
    stream: stream.name,
    table: stream.table,
    shape: shapeOf(stream, timeZone),
    hashes: Buffer.concat(pages.flatMap((page) => page.hashes ?? [])),
  });
  let from = 0;
  const pageReads = pages.map((page) => {
    const to = from + page.records;
    const knownOfPage = known.slice(from, to);
    from = to;
    return readCutPage(context, page, knownOfPage);
  });
  const parts = await Promise.all(pageReads);
  const rowSets = new Map<string, EncodedRowSet>();
  const bytes = new Map<string, Buffer>();
  for (const {rowSet, hash} of parts.flatMap((part) => part.records)) {
    // The later reading moves to its own, later place: if many records contain the same row, the
    // last of them counts.
    rowSets.delete(rowSet.number);
    rowSets.set(rowSet.number, rowSet);
    if (hash === null) bytes.delete(rowSet.number);
    else bytes.set(rowSet.number, hash);
  }
  return {
    pages: parts.map(({page, numbers}) => ({page, numbers})),
    known: parts.reduce((sum, part) => sum + part.known, 0),
    rowSets: [...rowSets.values()],
    bytes,
    bad: parts.flatMap((part) => part.bad),
    fields: parts.flatMap((part) => part.fields),
  };
}

interface ReadPage {
  readonly page: number;
  readonly known: number;
  readonly numbers: readonly string[];
  readonly records: readonly {readonly rowSet: EncodedRowSet; readonly hash: Buffer | null}[];
  readonly bad: readonly QuarantinedRecord[];
  readonly fields: readonly PageFields[];
}

/**
 * @param known - for each record cut from the page: its number, or null if its bytes are not known
 */
async function readCutPage(
  context: ReadContext,
  page: CutPage,
  known: readonly (string | null)[],
): Promise<ReadPage> {
  const {stream, timeZone, pageReader} = context;
  const {hashes} = page;
  const knownNumbers = known.filter((number) => number !== null);
  if (hashes !== null && knownNumbers.length === known.length)
    return {
      page: page.page,
      known: known.length,
      numbers: knownNumbers,
      records: [],
      bad: [],
      fields: [],
    };
  const {contentType} = page;
  const unpackedBody = await unpack(page);
  const {isCutTrue, records, bad, fields} = await pageReader.read({
    page: page.page,
    body: unpackedBody,
    contentType,
    stream: stream.name,
    timeZone,
    known: hashes === null ? null : known.map((number) => number !== null),
  });
  if (unpackedBody !== page.body) freeBytes(unpackedBody);
  const numbers = records.map(({rowSet}) => rowSet.number);
  return {
    page: page.page,
    known: isCutTrue ? knownNumbers.length : 0,
    numbers: isCutTrue ? [...knownNumbers, ...numbers] : numbers,
    records: records.map(({at, rowSet}) => ({
      rowSet,
      hash: isCutTrue && hashes !== null ? hashAt(hashes, at) : null,
    })),
    bad,
    fields,
  };
}

/**
 * A batch's effect: rows of the stream's own table, and children that vanished from their parents.
 */
interface WriteCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly revived: number;
  readonly vanished: number;
}

/**
 * The same counts, and the bad records that the sweep had not met before, in the list or requested
 * by number.
 */
interface BatchCounts extends WriteCounts {
  readonly quarantined: number;
}

/**
 * The counts of rows, and the records that the service showed as they were before one of our
 * changes.
 */
interface WrittenRowSets extends WriteCounts, Pick<LoadCounts, 'fresher'> {
  readonly older: readonly string[];
}

/** The content of a batch to be written. */
interface BatchContent extends Pick<ReadBatch, 'rowSets' | 'bytes' | 'bad'> {
  /** Fields that the sweep meets for the first time. */
  readonly fields: readonly SeenField[];
}

/** Writes a batch, in the caller's transaction: rows, children, known bytes, fields, quarantine. */
export async function writeBatch(
  client: pg.ClientBase,
  run: Pick<SweepRun, 'stream' | 'sweep' | 'account'>,
  batch: BatchContent,
): Promise<BatchCounts & Pick<WrittenRowSets, 'older'>> {
  const {stream, account} = run;
  const scope = scopeOf(run);
  const {accountId, sweepId} = scope;
  const receivedRecords = {...scope, numbers: batch.rowSets.map((rowSet) => rowSet.number)};
  // If a change has written a row since this sweep began, the row is newer than any page of the
  // sweep. Its values are then not those of the page's bytes.
  const since = run.sweep.startedAt;
  const {fresher, older, ...counts} = await writeRowSets(
    client,
    {stream, rowSets: batch.rowSets},
    {accountId, sweepId, since},
  );
  const known = fresher > 0 ? new Map<string, Buffer>() : batch.bytes;
  await rememberKnown(client, {...scope, shape: shapeOf(stream, account.timeZone), known});
  await forgetKnown(client, {
    ...receivedRecords,
    numbers: receivedRecords.numbers.filter((number) => !known.has(number)),
  });
  await rememberFields(client, {...scope, fields: batch.fields});
  await resolveQuarantine(client, receivedRecords);
  const {transport} = account.api;
  const hide = (text: string) => transport.hide(text);
  const records = batch.bad.map(({reason, expected, xml, ...bad}) => ({
    ...bad,
    reason: hide(reason),
    xml: hide(xml),
    expected: expected === null ? null : hide(expected),
  }));
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
  const receivedRecords = {accountId: batch.accountId, stream: stream.name, numbers};
  // A row that was read back is the result of its own change, even if another record contains it
  // too.
  const rows =
    batch.readBackOf === undefined ? ownRowsOf(stream, rowSets) : rowSets.map(({row}) => row);
  const older = new Set<EncodedRow>();
  const load = async (probed: ProbedRows) => {
    const sorted = sortOutOlder(await probeAgain(client, probed));
    for (const row of sorted.older) older.add(row);
    return await loadProbed(client, sorted.probed);
  };
  const ownCounts = {inserted: 0, updated: 0, revived: 0, fresher: 0};
  for (const probed of await probeRows(client, [{table: stream.table, rows}], batch))
    Object.assign(ownCounts, await load(probed));
  const {updated, revived} = ownCounts;
  let {inserted, fresher} = ownCounts;
  let vanished = 0;
  const spared: string[] = [];
  const childLists = stream.children.map((child) => gatherChildren(child, rowSets));
  const vanishing = await findVanishing(client, {stream, rowSets, lists: childLists}, batch);
  const childTables = childLists.map(({child, rows}) => ({
    table: child.table,
    rows,
    // If a record of the stream is embedded in another one, its stored row stays as it is.
    insertsOnly: child.isOfStream === true,
  }));
  // The tables are written one at a time, so that two batches lock rows in the same order.
  for (const probed of await probeRows(client, childTables, batch)) {
    const family = vanishing.get(probed.table.name);
    if (family !== undefined) {
      vanished += await markVanished(client, probed.table, family);
      spared.push(...(await readSpared(client, probed.table, family)));
    }
    const counts = await load(probed);
    if (probed.insertsOnly === true) inserted += counts.inserted;
    else fresher += counts.fresher;
  }
  if (inserted > 0) await forgetAbsent(client, receivedRecords);
  if (revived > 0) await undoTombstones(client, receivedRecords);
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

/** The numbers of the records that contain some of the rows. */
function numbersOf(
  rowSets: readonly EncodedRowSet[],
  wantedRows: ReadonlySet<EncodedRow>,
): string[] {
  if (wantedRows.size === 0) return [];
  const hasWantedRow = ({row, children}: EncodedRowSet) =>
    wantedRows.has(row) || children.some(({rows}) => rows.some((child) => wantedRows.has(child)));
  return rowSets.flatMap((rowSet) => (hasWantedRow(rowSet) ? [rowSet.number] : []));
}

/**
 * Finds the families that have lost children. Only parents with live children here are compared: a
 * new parent has none.
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
  const liveParents = await readParentsOfLive(client, listOwnedTables(stream), {
    accountId,
    parents,
  });
  const families = lists.flatMap(({child, senders, rows}) => {
    const {table} = child;
    const liveSenders = senders.filter(
      ({row}) => liveParents.get(table.name)?.has(rowNumberOf(row)) === true,
    );
    return liveSenders.length === 0
      ? []
      : [{table, ...familyOf({child, senders: liveSenders, rows}, batch)}];
  });
  const vanishingTables = await readVanishing(client, accountId, families);
  return new Map(
    families
      .filter(({table}) => vanishingTables.has(table.name))
      .map((family) => [family.table.name, family]),
  );
}

/**
 * Returns the records' own rows. If an earlier record embedded a record with equal content, its row
 * keeps the earlier page, as if each record came in a separate batch.
 */
function ownRowsOf(
  {children: childKinds}: Stream,
  rowSets: readonly EncodedRowSet[],
): EncodedRow[] {
  const sibling = childKinds.find(({isOfStream}) => isOfStream === true);
  if (sibling === undefined) return rowSets.map(({row}) => row);
  const embeddedRows = new Map<string, EncodedRow>();
  return rowSets.map((rowSet) => {
    const {row} = rowSet;
    const earlier = embeddedRows.get(rowNumberOf(row));
    for (const embeddedRow of gatherChildren(sibling, [rowSet]).rows) {
      const number = rowNumberOf(embeddedRow);
      if (!embeddedRows.has(number)) embeddedRows.set(number, embeddedRow);
    }
    return earlier?.hash === row.hash ? earlier : row;
  });
}

/**
 * @param list.senders - the parents to compare; `rows` are the children of all parents, because a
 *   child may have moved to another parent
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
    parentColumn: findParentColumn(child),
    parents: senders.map(({row}) => rowNumberOf(row)),
    kept: rows,
  };
}

/**
 * One kind of children: the records that contain a list of them, and the rows of these lists. A
 * missing list is not an empty list.
 */
interface ChildList {
  readonly child: Child;
  readonly senders: readonly EncodedRowSet[];
  readonly rows: readonly EncodedRow[];
}

function gatherChildren(child: Child, rowSets: readonly EncodedRowSet[]): ChildList {
  const senders: EncodedRowSet[] = [];
  const rows: EncodedRow[] = [];
  for (const rowSet of rowSets) {
    const sentChildren = rowSet.children.find(({element}) => element === child.element);
    if (sentChildren === undefined) continue;
    senders.push(rowSet);
    for (const row of sentChildren.rows) rows.push(row);
  }
  return {child, senders, rows};
}

/** The number of a record of a stream, as stored in its row and in the rows of its children. */
function rowNumberOf({key: [number = '']}: EncodedRow): string {
  return number;
}

/** Probed rows. In `probed`, the stored rows of the older ones are marked as fresher. */
interface SortedRows {
  readonly probed: ProbedRows;
  readonly older: readonly EncodedRow[];
}

/**
 * Finds the rows that show values that one of our changes replaced a short while ago, and the rows
 * that one of them deleted then.
 */
function sortOutOlder(probed: ProbedRows): SortedRows {
  if (probed.insertsOnly === true) return {probed, older: []};
  const older: EncodedRow[] = [];
  const storedRows = probed.found.map((storedRow) => {
    const row = probed.rows[storedRow.at];
    if (row === undefined || storedRow.isFresher || !isOlder(probed.table, row, storedRow))
      return storedRow;
    older.push(row);
    return {...storedRow, isFresher: true};
  });
  return older.length === 0 ? {probed, older} : {probed: {...probed, found: storedRows}, older};
}

function isOlder(
  table: MirrorTable,
  row: EncodedRow,
  {isDeletedLately, recent, values}: StoredRow,
): boolean {
  if (isDeletedLately) return true;
  if (recent === null || recent.length === 0) return false;
  const {recall} = row;
  const wholeRow =
    recall === undefined || values === null
      ? row
      : recall({values: values.slice(0, -1), attributes: values.at(-1) ?? '{}'});
  const shownValues = decodeCopyRow(wholeRow.line.toString());
  const columns = table.columns.map(({name}, at) => [name, shownValues[at] ?? null] as const);
  const kinds = new Map(table.writable.map(({name, kind}) => [name, kind]));
  return showsReplaced(recent, Object.fromEntries(columns), (name) => kinds.get(name) ?? 'text');
}
