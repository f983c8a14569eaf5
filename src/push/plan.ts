// Plans the first step of a change: the request to send for it, or a decision that needs no
// request. If the outcome of a request is unknown, its effect is looked for, again and again, and
// it is never sent again blindly. The effect of a create is looked for in the list that would have
// its record, matched on all that was sent.

import type {ListOptions} from '../api/client.ts';
import {isMissingRecord, refuseOtherKind} from '../api/verdict.ts';
import {listRivalCreates, placeInTime} from '../changes/authored-rows.ts';
import {
  type KnownSubject,
  type NewSubject,
  type Parent,
  parentInPath,
  type Subject,
} from '../changes/request.ts';
import {RecordError} from '../core/errors.ts';
import {listUndeleted, readParentNumbers} from '../rows/held-rows.ts';
import {readMadeAgoMs} from '../rows/table-sql.ts';
import {allWrites, findStream} from '../streams/all.ts';
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
  checkAgain,
  decideComparedDelete,
  decideCreated,
  decideDelete,
  decideDeleted,
  decideUpdate,
  decideUpdated,
  isLastCheck,
} from './decide.ts';
import {
  createConflict,
  type Decision,
  decideWait,
  decideWithoutNumber,
  findElement,
  listRemoteRows,
  type Plan,
  postpone,
  type Remote,
  type RemoteRow,
  type ShownRow,
  sendUnread,
} from './decision.ts';
import {readRemote, readReplacement} from './remote.ts';
import {atStep, type PushRun} from './run.ts';

/** How long a delete waits for deletes of records that belong to its record. */
const dependentsDelayMs = 2_000;

/** Plans the next step of a claimed change; reads the record that the plan is based on. */
export async function plan(run: PushRun): Promise<Plan> {
  const {change} = run;
  if (change.state === 'in_doubt') return await findEffect(run);
  run.stops.learn(change);
  const decision = decideWait(run);
  if (decision !== null) return decision;
  const subject = await readSubject(run);
  if (subject === null) return decideWithoutNumber(run);
  if (subject.operation === 'create') return sendUnread(subject, change.fields);
  if (subject.operation === 'delete') return await planDelete(run, subject);
  const reading = await readRemote(run, findRemoteNumber(subject));
  await atStep(run, 'read');
  const createdAgoMs = isMissingRecord(reading) ? await readCreatedAgoMs(run, subject) : null;
  if (createdAgoMs !== null) return waitForNewer(createdAgoMs);
  return decideUpdate(run, subject, reading);
}

/**
 * Plans a delete. Under the number of a record that was merged at the service, it would delete the
 * record that stayed, so such a record is read. A record whose values the author knew is compared
 * with them.
 */
async function planDelete(run: PushRun, subject: KnownSubject): Promise<Plan> {
  const {change, stream, writes} = run;
  const deletePlan = decideDelete(run, subject);
  if (deletePlan.what !== 'send') return deletePlan;
  const isOwnRecord = writes.table === stream.table;
  if (stream.isMergeable && isOwnRecord) {
    const mergedInto = await readReplacement(run, subject.number);
    await atStep(run, 'read');
    const mismatch = `${stream.item} ${subject.number}, got ${mergedInto}`;
    if (mergedInto !== null)
      return createConflict(
        `expected ${mismatch}: it was merged at the service, and nothing was deleted`,
      );
  }
  if (Object.keys(change.base).length === 0) return deletePlan;
  const reading = await readRemote(run, findRemoteNumber(subject));
  await atStep(run, 'read');
  const comparedPlan = decideComparedDelete(run, subject, reading);
  if (comparedPlan.what !== 'send' || change.undoes === null || isMissingRecord(reading))
    return comparedPlan;
  return (isOwnRecord ? await planForDependents(run, subject, reading) : null) ?? comparedPlan;
}

/**
 * Looks for records at the service that belong to a record which is to be deleted. If they are
 * being deleted as well, the record waits for that; otherwise it is left to a person.
 * @returns null if there are none
 */
async function planForDependents(
  run: PushRun,
  {number}: KnownSubject,
  reading: Remote,
): Promise<Decision | null> {
  const {deps, change, stream, writes} = run;
  for (const dependent of allWrites) {
    if (dependent.parent?.table !== writes.table.name) continue;
    const dependentRun = {...run, writes: dependent, stream: findStream(dependent.stream)};
    const element = findElement(dependentRun);
    const rows = reading.children.some((child) => child.element === element)
      ? listRemoteRows(dependentRun, reading)
      : await readUnderParent(dependentRun, {table: dependent.parent.table, number});
    const undeleted = await listUndeleted(deps.pool, {
      accountId: change.accountId,
      table: dependent.table,
      numbers: rows.map((row) => row.number),
    });
    if (undeleted.length === 0) continue;
    const names = `${dependent.table.name} ${undeleted.map((each) => each.number).join(', ')}`;
    if (undeleted.every(({isBeingDeleted}) => isBeingDeleted))
      return postpone(`${names} that belong to its record are deleted first`, dependentsDelayMs);
    return createConflict(
      `expected no records that belong to ${stream.item} ${number}, got ${names}: ` +
        'they would be deleted with it',
    );
  }
  return null;
}

/** Looks once for the effect of a doubtful request. */
async function findEffect(run: PushRun): Promise<Plan> {
  if (run.change.operation === 'create') return await findCreated(run);
  const subject = await readSubject(run);
  if (subject === null || subject.operation === 'create') return decideWithoutNumber(run);
  const reading = await readRemote(run, findRemoteNumber(subject));
  await atStep(run, 'checked');
  if (isMissingRecord(reading) && (await readCreatedAgoMs(run, subject)) !== null)
    return checkAgain(run);
  return subject.operation === 'update'
    ? decideUpdated(run, subject, reading)
    : decideDeleted(run, subject, reading);
}

async function findCreated(run: PushRun): Promise<Decision> {
  const {number} = run.change;
  const subject = await readSubject(run);
  let candidates: Candidates = {ours: number === null ? [] : [number], older: []};
  if (number === null) {
    if (subject?.operation !== 'create') return decideWithoutNumber(run);
    candidates = await findCandidates(run, subject);
  }
  await atStep(run, 'checked');
  const [candidate, ...otherCandidates] = candidates.ours;
  const remoteNumber =
    candidate === undefined || otherCandidates.length > 0
      ? null
      : findCreatedRemoteNumber(run, subject, candidate);
  // A reading that fails proves nothing, so it throws, and the change is looked for another time.
  const reading = remoteNumber === null ? null : await readRemote(run, remoteNumber);
  return decideCreated(run, candidates, reading);
}

/** Records that a create may have made. */
async function findCandidates(run: PushRun, subject: NewSubject): Promise<Candidates> {
  const {deps, change, writes} = run;
  const rows = (await readNewRecords(run, subject)).filter((row) =>
    isMatch(run, change.fields, row),
  );
  if (rows.length === 0) return {ours: [], older: []};
  const records = rows.map(toAppearance);
  // Rivals are read first: if one is settled between the two queries, the second knows its record.
  const rivals = await listRivalCreates(deps.pool, change);
  const recordTimes = await placeInTime(deps.pool, writes.table, {
    ...change,
    key: writes.key,
    records,
  });
  return pickCandidates(run, rows, {rivals, ...recordTimes});
}

/** Reads the list that contains new records. */
async function readNewRecords(run: PushRun, {parent}: NewSubject): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  const options = {signal, urgency: 'write-back'} as const;
  if (parent !== null) return await readUnderParent(run, parent);
  switch (writes.table.name) {
    case 'customers': {
      const filters = listFiltersOf(run.change.fields, {isLast: isLastCheck(run)});
      return await readPages(run, (page) =>
        account.api.customers.list({...options, page, filters}),
      );
    }
    case 'tasks':
      return await readShared(run, account.api.tasks, (sharedSignal) =>
        readPages(run, (page) => account.api.tasks.list({...options, signal: sharedSignal, page})),
      );
    default:
      return await readShared(run, account.api.employees, async (sharedSignal) =>
        toShownRows(run, await account.api.employees.list({...options, signal: sharedSignal})),
      );
  }
}

async function readUnderParent(run: PushRun, {number}: Parent): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  if (writes.isNested) {
    const remote = await readRemote(run, number);
    return isMissingRecord(remote) ? [] : addDateHeader(listRemoteRows(run, remote), remote);
  }
  const options = {signal, urgency: 'write-back', include: ['employees']} as const;
  return await readPages(run, async (page) => {
    const list = await account.api.jobs.listOfCustomer(number, {...options, page});
    if (!isMissingRecord(list)) return list;
    const path = `/customers/${number}.xml`;
    refuseOtherKind({thing: `jobs of customer ${number}`, path, item: 'customer'}, list);
    return {records: [], bad: [], dateHeader: null};
  });
}

/** Reads a list of the whole account, once for all creates that search it at the same time. */
async function readShared(
  {readings, signal}: PushRun,
  list: object,
  read: (sharedSignal: AbortSignal) => Promise<ShownRow[]>,
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
    const sizeBefore = rows.size;
    for (const row of toShownRows(run, await readPage(page))) rows.set(row.number, row);
    if (rows.size === sizeBefore) return [...rows.values()];
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
  return addDateHeader(rows, list);
}

function addDateHeader(
  rows: readonly RemoteRow[],
  {dateHeader}: Pick<ListOptions, 'dateHeader'>,
): ShownRow[] {
  return rows.map((row) => ({...row, dateHeader}));
}

/** The subject of a change, as paths know it; null while one of its numbers is unknown. */
async function readSubject(run: PushRun): Promise<Subject | null> {
  const {operation, number} = run.change;
  const parentTable = parentInPath(run.writes, operation);
  const parent = parentTable === null ? null : await readParent(run, parentTable);
  if (parentTable !== null && parent === null) return null;
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
export function findRemoteNumber({number, parent}: KnownSubject): string {
  return parent?.number ?? number;
}

/**
 * Reads how long ago the record that shows the outcome of the change was made here, in
 * milliseconds; null if that is no short while. A reading that does not find the record may be
 * older than its creation.
 */
async function readCreatedAgoMs(
  {deps, change, writes}: PushRun,
  subject: KnownSubject,
): Promise<number | null> {
  const {accountId} = change;
  const table = subject.parent?.table ?? writes.table.name;
  const number = findRemoteNumber(subject);
  return (
    (await readMadeAgoMs(deps.pool, {accountId, table, numbers: [number]})).get(number) ?? null
  );
}

/**
 * The number of the record that shows what a create has made; null if the number of its parent is
 * unknown.
 */
export function findCreatedRemoteNumber(
  {writes}: Pick<PushRun, 'writes'>,
  subject: Subject | null,
  created: string,
): string | null {
  return writes.isNested ? (subject?.parent?.number ?? null) : created;
}
