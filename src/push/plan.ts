// Plans the first step of a change: the request to send for it, or a decision that needs no
// request. If the outcome of a request is unknown, its effect is looked for, again and again, and
// it is never sent again blindly. The effect of a create is looked for in the list that would have
// its record, matched on all that was sent.

import type {ListOptions} from '../api/client.ts';
import {isGone} from '../api/verdict.ts';
import {listRivalCreates, placeInTime} from '../changes/authored-rows.ts';
import {
  type KnownSubject,
  type NewSubject,
  type Parent,
  parentInPath,
  type Subject,
} from '../changes/request.ts';
import {RecordError} from '../core/errors.ts';
import {readParentNumbers} from '../rows/held-numbers.ts';
import {readMadeAgoMs} from '../rows/recent-writes.ts';
import {readRows} from '../streams/record-rows.ts';
import type {Writes} from '../streams/stream.ts';
import {
  type Candidates,
  isMatch,
  listFiltersOf,
  pickCandidates,
  toAppearance,
  waitForNewer,
} from './compare.ts';
import {
  decideCreated,
  decideDelete,
  decideDeleted,
  decideUpdate,
  decideUpdated,
  isLastLook,
  lookAgain,
} from './decide.ts';
import {
  conflict,
  type Decision,
  decideWait,
  lackNumber,
  listRemoteRows,
  type Plan,
  type RemoteRow,
  type ShownRow,
  sendUnread,
} from './decision.ts';
import {readInstead, readRemote} from './remote.ts';
import {atStep, type PushRun} from './run.ts';

/** Plans the next step of a claimed change; reads the record that the plan is based on. */
export async function plan(run: PushRun): Promise<Plan> {
  const {change} = run;
  if (change.state === 'in_doubt') return await findEffect(run);
  run.stops.learn(change);
  const wait = decideWait(run);
  if (wait !== null) return wait;
  const subject = await readSubject(run);
  if (subject === null) return lackNumber(run);
  if (subject.operation === 'create') return sendUnread(subject, change.fields);
  if (subject.operation === 'delete') return await planDelete(run, subject);
  const reading = await readRemote(run, remoteNumberOf(subject));
  await atStep(run, 'read');
  const madeAgoMs = isGone(reading) ? await readMadeAgo(run, subject) : null;
  if (madeAgoMs !== null) return waitForNewer(madeAgoMs);
  return decideUpdate(run, subject, reading);
}

/**
 * Plans a delete. It needs a reading for one reason alone: under the number of a record that was
 * merged at the service, it would delete the record that stayed.
 */
async function planDelete(run: PushRun, subject: KnownSubject): Promise<Plan> {
  const {stream, writes} = run;
  const decided = decideDelete(run, subject);
  if (decided.what !== 'send' || !stream.isMergeable || writes.table !== stream.table)
    return decided;
  const stayed = await readInstead(run, subject.number);
  await atStep(run, 'read');
  if (stayed === null) return decided;
  const shown = `${stream.item} ${subject.number}, got ${stayed}`;
  return conflict(`expected ${shown}: it was merged at the service, and nothing was deleted`);
}

/** Looks once for the effect of a doubtful request. */
async function findEffect(run: PushRun): Promise<Plan> {
  if (run.change.operation === 'create') return await findCreated(run);
  const subject = await readSubject(run);
  if (subject === null || subject.operation === 'create') return lackNumber(run);
  const reading = await readRemote(run, remoteNumberOf(subject));
  await atStep(run, 'looked');
  if (isGone(reading) && (await readMadeAgo(run, subject)) !== null) return lookAgain(run);
  return subject.operation === 'update'
    ? decideUpdated(run, subject, reading)
    : decideDeleted(run, subject, reading);
}

async function findCreated(run: PushRun): Promise<Decision> {
  const {number} = run.change;
  const subject = await readSubject(run);
  let candidates: Candidates = {ours: number === null ? [] : [number], older: []};
  if (number === null) {
    if (subject?.operation !== 'create') return lackNumber(run);
    candidates = await findCandidates(run, subject);
  }
  await atStep(run, 'looked');
  const [only, ...others] = candidates.ours;
  const remoteNumber =
    only === undefined || others.length > 0 ? null : remoteNumberOfCreated(run, subject, only);
  // A reading that fails proves nothing, so it throws, and the change is looked for another time.
  const reading = remoteNumber === null ? null : await readRemote(run, remoteNumber);
  return decideCreated(run, candidates, reading);
}

/** Records that a create may have made. */
async function findCandidates(run: PushRun, subject: NewSubject): Promise<Candidates> {
  const {deps, change, writes} = run;
  const rows = (await readPlace(run, subject)).filter((row) => isMatch(run, change.fields, row));
  if (rows.length === 0) return {ours: [], older: []};
  const records = rows.map(toAppearance);
  // Rivals are read first: if one is settled between the two queries, the second knows its record.
  const rivals = await listRivalCreates(deps.pool, change);
  const times = await placeInTime(deps.pool, writes.table, {...change, key: writes.key, records});
  return pickCandidates(run, rows, {rivals, ...times});
}

/** Reads the list that contains new records. */
async function readPlace(run: PushRun, {parent}: NewSubject): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  const call = {signal, urgency: 'write-back'} as const;
  if (parent !== null) return await readUnderParent(run, parent);
  switch (writes.table.name) {
    case 'customers': {
      const filters = listFiltersOf(run.change.fields, {isLast: isLastLook(run)});
      return await readPages(run, (page) => account.api.customers.list({...call, page, filters}));
    }
    case 'tasks':
      return await readTogether(run, account.api.tasks, (shared) =>
        readPages(run, (page) => account.api.tasks.list({...call, signal: shared, page})),
      );
    default:
      return await readTogether(run, account.api.employees, async (shared) =>
        toShownRows(run, await account.api.employees.list({...call, signal: shared})),
      );
  }
}

async function readUnderParent(run: PushRun, {number}: Parent): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  if (writes.isNested) {
    const remote = await readRemote(run, number);
    return isGone(remote) ? [] : showRows(listRemoteRows(run, remote), remote);
  }
  const call = {signal, urgency: 'write-back', include: ['employees']} as const;
  return await readPages(run, async (page) => {
    const list = await account.api.jobs.listOfCustomer(number, {...call, page});
    return isGone(list) ? {records: [], bad: [], dateHeader: null} : list;
  });
}

/** Reads a list of the whole account, once for all creates that search it at the same time. */
async function readTogether(
  {readings, signal}: PushRun,
  list: object,
  read: (shared: AbortSignal) => Promise<ShownRow[]>,
): Promise<readonly ShownRow[]> {
  const rows = await readings.ask(list, read);
  signal.throwIfAborted();
  return rows;
}

/** Reads all pages, until one is empty or brings nothing new. */
async function readPages(
  run: PushRun,
  readPage: (page: number) => Promise<ListOptions>,
): Promise<ShownRow[]> {
  const rows = new Map<string, ShownRow>();
  for (let page = 1; ; page++) {
    const before = rows.size;
    for (const row of toShownRows(run, await readPage(page))) rows.set(row.number, row);
    if (rows.size === before) return [...rows.values()];
  }
}

function toShownRows(run: PushRun, list: ListOptions): ShownRow[] {
  const [bad] = list.bad;
  if (bad !== undefined)
    throw new RecordError(
      `one of the ${run.writes.list} cannot be read, and may be what was created: ${bad.reason}`,
    );
  const rows = list.records.flatMap((record) =>
    listRemoteRows(run, readRows(run.stream, record, run.account)),
  );
  return showRows(rows, list);
}

function showRows(
  rows: readonly RemoteRow[],
  {dateHeader}: Pick<ListOptions, 'dateHeader'>,
): ShownRow[] {
  return rows.map((row) => ({...row, dateHeader}));
}

/** The subject of a change, as paths know it; null while one of its numbers is unknown. */
async function readSubject(run: PushRun): Promise<Subject | null> {
  const {operation, number} = run.change;
  const place = parentInPath(run.writes, operation);
  const parent = place === null ? null : await readParent(run, place);
  if (place !== null && parent === null) return null;
  if (operation === 'create') return {operation, parent};
  return number === null ? null : {operation, number, parent};
}

async function readParent(
  {deps, change, writes}: PushRun,
  {table: parent, numberColumn}: NonNullable<Writes['parent']>,
): Promise<Parent | null> {
  const {changeId} = change;
  const nesting = {table: writes.table.name, parent, numberColumn};
  const number = (await readParentNumbers(deps.pool, [changeId], [nesting])).get(changeId);
  return number === undefined ? null : {table: parent, number};
}

/**
 * The number of the record that shows the outcome of the change: its own, or that of its parent.
 */
export function remoteNumberOf({number, parent}: KnownSubject): string {
  return parent?.number ?? number;
}

/**
 * Reads how long ago the record that shows the outcome of the change was made here, in
 * milliseconds; null if that is no short while. A reading that does not find the record may be
 * older than its creation.
 */
async function readMadeAgo(
  {deps, change, writes}: PushRun,
  subject: KnownSubject,
): Promise<number | null> {
  const {accountId} = change;
  const table = subject.parent?.table ?? writes.table.name;
  const number = remoteNumberOf(subject);
  return (
    (await readMadeAgoMs(deps.pool, {accountId, table, numbers: [number]})).get(number) ?? null
  );
}

/**
 * The number of the record that shows what a create has made; null if the number of its parent is
 * unknown.
 */
export function remoteNumberOfCreated(
  {writes}: Pick<PushRun, 'writes'>,
  subject: Subject | null,
  created: string,
): string | null {
  return writes.isNested ? (subject?.parent?.number ?? null) : created;
}
