// The steps of a change after its plan. Its request is composed and stored before its first byte,
// then sent, once. Then the record is read to resolve what the answer leaves open. Requests that
// are about to be sent at the same time are stored in one transaction.
// At last the decision is written. Each end is one transaction: the change, the service's result,
// the rows that show it. Changes that are done at the same time end in one transaction together,
// with one commit, and one statement per table, for all of them. Such a batch never waits for a
// lock. So it is in no deadlock with an author's statement, and an open transaction delays only the
// changes of its rows.

import type pg from 'pg';
import {saveEmployee} from '../accounts/accounts.ts';
import {sendWrite, type WriteResult} from '../api/client.ts';
import type {WriteRequest} from '../api/transport.ts';
import {
  type AssignedJob,
  giveNumber,
  markDeleted,
  settleAssignments,
  stampAssignments,
} from '../changes/authored-rows.ts';
import {
  type Alteration,
  type Begun,
  beginSending,
  doubtChange,
  endAttempt,
  type FinishedClaim,
  finishChanges,
  holdForKind,
  leaveToPerson,
  oneCreate,
  onItsWay,
  postponeChange,
  rejectChange,
  resendChange,
  saveAlterations,
  saveConflicts,
} from '../changes/move-changes.ts';
import {composeRequest, type Subject} from '../changes/request.ts';
import {RetryableError} from '../core/errors.ts';
import {inSweepTransaction, inTransaction, type Queryable} from '../postgres/database.ts';
import {violatedConstraint} from '../postgres/database-errors.ts';
import {lockFree} from '../postgres/lock-waits.ts';
import {forgetKnown} from '../rows/held-rows.ts';
import {lockRows} from '../rows/load.ts';
import {nameTable} from '../rows/table-sql.ts';
import {readRecordNumber} from '../streams/record-rows.ts';
import {listOwnedTables} from '../streams/stream.ts';
import type {SendOutcome} from './decide.ts';
import {
  type ChangeFacts,
  createConflict,
  type Decision,
  type Done,
  type EndedAttempt,
  type InDoubt,
  identifyKind,
  identifyKinds,
  type LeftToPerson,
  listModifiedColumns,
  type Postponed,
  postpone,
  type Rejected,
  type Remote,
  type SendPlan,
} from './decision.ts';
import {findCreatedRemoteNumber, findRemoteNumber} from './plan.ts';
import {readBack, writeRemote} from './remote.ts';
import {
  atStep,
  Batcher,
  type BatchWork,
  type Beginning,
  type Beginnings,
  type Ends,
  type FinishedChange,
  type PushEnd,
  type PushRun,
  type StoppedKinds,
  type ToBegin,
  type UnsentRequests,
} from './run.ts';

/** A request that is stored, and may be sent. */
interface Sendable {
  readonly what: 'begun';
  readonly plan: SendPlan;
  readonly begun: Begun;
  readonly request: Pick<WriteRequest, 'method' | 'path' | 'body'>;
  /** The kinds of the values that the request contains. */
  readonly kinds: readonly string[];
}

/** How long a create waits for the outcome of an identical one in progress. */
const twinDelayMs = 5_000;

/**
 * Stores the request of a change before it is sent.
 * @throws {RetryableError} the claim is lost, the account is paused, or such a kind of value is
 *   stopped
 * @throws {RecordError} a value that cannot be written
 */
export async function begin(run: PushRun, plan: SendPlan): Promise<Sendable | Decision> {
  const {fields, subject} = plan;
  const {writes, account, change} = run;
  const request = composeRequest(writes, subject, {fields, timeZone: account.timeZone});
  const kinds = identifyKinds(run, fields);
  const begun = await storeRequest(run, plan, {kinds, request});
  if (begun === 'lost')
    throw new RetryableError(
      `change ${change.changeId}: another worker has taken it over, its account is paused, ` +
        'or the service has just altered such a value',
    );
  if (begun === 'twin')
    return postpone('another create with the same content is on its way', twinDelayMs);
  await atStep(run, 'sending-committed');
  return {what: 'begun', plan, begun, request, kinds};
}

async function storeRequest(
  run: PushRun,
  {narrowed, conflicts, before}: SendPlan,
  {request: {method, path, body}, kinds}: Pick<Sendable, 'request' | 'kinds'>,
): Promise<Beginning> {
  const readAt = before === null ? null : estimateReadAt(run, before);
  const sending = {
    claim: run.change,
    method,
    path,
    request: body ?? null,
    narrowed,
    conflicts,
    kinds,
    readAt,
  };
  return await run.beginnings.do({run, sending});
}

/** When a record was requested, by the database's clock; rather too early than too late. */
function estimateReadAt({change, heldMs}: ChangeFacts, {requestedAt}: Remote): string {
  return new Date(Date.parse(change.claimedAt) + requestedAt - heldMs).toISOString();
}

export function beginBatch(pool: pg.Pool, unsent: UnsentRequests): Beginnings {
  const beginAll: BatchWork<ToBegin, Beginning> = async (items, mayWait) => {
    try {
      return await inTransaction(pool, async (client) => {
        const freeItems = mayWait ? items : await pickFree(client, items);
        const begun = await beginSending(
          client,
          freeItems.map(({sending}) => sending),
        );
        for (const {run} of freeItems) await atStep(run, 'sending-written');
        const results = new Map(
          freeItems.map((item, index) => [item, begun[index] ?? ('lost' as const)]),
        );
        return items.map((item): Beginning | null => results.get(item) ?? null);
      });
    } catch (error) {
      if (items.length === 1 && violatedConstraint(error) === onItsWay) return ['twin'];
      throw error;
    }
  };
  return new Batcher(beginAll, {isEnough: (count) => unsent.areMany(count)});
}

/** Locks the changes that no other transaction has locked. @returns their items */
async function pickFree(
  client: pg.ClientBase,
  items: readonly ToBegin[],
): Promise<readonly ToBegin[]> {
  const ids = items.map(({sending}) => sending.claim.changeId);
  const free = await lockFree(client, {table: 'sync.changes', key: 'change_id', ids});
  return items.filter(({sending}) => free.has(sending.claim.changeId));
}

type Written = Extract<WriteResult, {outcome: 'done'}>;

/**
 * Sends a request, once, when its turn has come.
 * @param onTurn - called when its first byte is next
 */
export async function send(
  run: PushRun,
  {request, kinds}: Sendable,
  onTurn: () => void,
): Promise<WriteResult> {
  const {writes, account, signal, paused} = run;
  const elementNames = {list: writes.list, item: writes.resource};
  // The request may wait long for its turn, behind others or while the process sleeps. By then
  // another worker may have sent the change again.
  const guard = {
    onTurn: async () => {
      onTurn();
      await atStep(run, 'turn');
    },
    mayStart: () => run.lease.isHeld() && !run.stops.areAmong(kinds) && !paused.aborted,
    leave: AbortSignal.any([signal, paused]),
  };
  const result = await sendWrite(
    account.api.transport,
    {...request, ...guard, signal},
    elementNames,
  );
  await atStep(run, 'answered');
  return result;
}

/** Reads the record after a request that the service has done. */
export async function judge(
  run: PushRun,
  sendable: Sendable,
  result: WriteResult,
): Promise<SendOutcome> {
  const {plan, begun} = sendable;
  const outcome = {plan, begun, result, created: null, after: null};
  if (result.outcome !== 'done') return outcome;
  const {subject} = plan;
  const created = subject.operation === 'create' ? readCreatedNumber(run, result) : null;
  const remoteNumber = findNumberToRead(run, subject, created);
  return {
    ...outcome,
    created,
    after: remoteNumber === null ? null : await readBack(run, remoteNumber),
  };
}

/**
 * The number of the record that shows the write; null if the record no longer exists, or its number
 * is unknown.
 */
function findNumberToRead(run: PushRun, subject: Subject, created: string | null): string | null {
  if (subject.operation === 'delete') return null;
  if (subject.operation === 'update') return findRemoteNumber(subject);
  return created === null ? null : findCreatedRemoteNumber(run, subject, created);
}

function readCreatedNumber(
  {writes, stream}: PushRun,
  {record, locatedNumber}: Written,
): string | null {
  if (record === null) return locatedNumber;
  return (
    readRecordNumber(writes.isNested ? {...stream, key: writes.key} : stream, record) ??
    locatedNumber
  );
}

/**
 * Writes the decision on a change.
 * @throws {AccessError} the account's token was refused; the decision is written
 */
export async function end(run: PushRun, decision: Decision): Promise<PushEnd> {
  const {deps, change} = run;
  switch (decision.what) {
    case 'done':
      return await endDone(run, decision);
    case 'reject':
      return await endRejected(run, decision);
    case 'conflict':
      return await endConflict(run, decision);
    case 'doubt':
      return await endInDoubt(run, decision);
    case 'postpone':
      return await endPostponed(run, decision);
    case 'hold':
      await holdForKind(deps.pool, change, decision);
      return 'postponed';
    case 'resend':
      await resendChange(deps.pool, change, decision.reason);
      return 'postponed';
  }
}

async function endDone(run: PushRun, done: Done): Promise<PushEnd> {
  try {
    await run.ends.do({run, done});
  } catch (error) {
    if (violatedConstraint(error) !== oneCreate) throw error;
    const {number, attempt} = done;
    return await endConflict(
      run,
      createConflict(`record ${number} is what another change created`, {attempt}),
    );
  }
  await atStep(run, 'end-committed');
  return 'done';
}

/** Ends a refused change: the row shows again what the service holds. */
async function endRejected(run: PushRun, {message, remote, attempt}: Rejected): Promise<PushEnd> {
  await writeEnd(run, attempt, async (client) => {
    await rejectChange(client, run.change, message);
    const since = run.change.claimedAt;
    const modifiedColumns =
      remote && listModifiedColumns(run, run.change.number ?? '', remote, remote);
    if (remote !== null) await writeRemote(client, [{run, remote, since, made: modifiedColumns}]);
  });
  return 'rejected';
}

async function endConflict(run: PushRun, {attempt, ...details}: LeftToPerson): Promise<PushEnd> {
  await writeEnd(run, attempt, (client) => leaveToPerson(client, run.change, details));
  return 'conflict';
}

async function endInDoubt({deps, change}: PushRun, {attempt, ...doubt}: InDoubt): Promise<PushEnd> {
  await noteAttempt(deps.pool, attempt);
  await doubtChange(deps.pool, change, doubt);
  return 'in_doubt';
}

async function endPostponed(
  {deps, change}: PushRun,
  {attempt, refusal, ...delay}: Postponed,
): Promise<PushEnd> {
  await noteAttempt(deps.pool, attempt);
  await postponeChange(deps.pool, change, delay);
  if (refusal !== null) throw refusal;
  return 'postponed';
}

async function writeEnd(
  run: PushRun,
  attempt: EndedAttempt | null,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const {deps, change, writes} = run;
  await inSweepTransaction(deps.pool, async (client) => {
    await lockRows(client, writes.table, [change.rowId]);
    // The change is written before its attempt, as it is if another worker finds it lost: so
    // neither waits for the other.
    await work(client);
    await noteAttempt(client, attempt);
    await atStep(run, 'end-written');
  });
  await atStep(run, 'end-committed');
}

/** Stores how the request ended, if one was sent. */
async function noteAttempt(db: Queryable, attempt: EndedAttempt | null): Promise<void> {
  if (attempt !== null) await endAttempt(db, attempt.attemptId, attempt.end);
}

/** @param stops - gets the kinds of values that alterations have stopped */
export function endBatch(pool: pg.Pool, stops: StoppedKinds): Ends {
  return new Batcher(async (endings, mayWait) => {
    const {stopped, ended} = await inSweepTransaction(pool, async (client) => {
      const free = await lockEndings(client, endings, mayWait);
      const kinds = await writeEndings(client, free);
      for (const {run} of free) await atStep(run, 'end-written');
      return {stopped: kinds, ended: new Set(free)};
    });
    stops.add(stopped);
    return endings.map((ending) => (ended.has(ending) ? true : null));
  });
}

/** Locks the rows of endings. @returns those whose rows are locked; all of them if it may wait */
async function lockEndings(
  client: pg.ClientBase,
  endings: readonly FinishedChange[],
  mayWait: boolean,
): Promise<readonly FinishedChange[]> {
  const locked: FinishedChange[] = [];
  for (const [table, tableEndings] of Map.groupBy(endings, ({run}) => run.writes.table)) {
    const ids = tableEndings.map(({run}) => run.change.rowId);
    if (mayWait) {
      await lockRows(client, table, ids);
      locked.push(...tableEndings);
    } else {
      const free = await lockFree(client, {table: nameTable(table), key: 'row_id', ids});
      locked.push(...tableEndings.filter(({run}) => free.has(run.change.rowId)));
    }
  }
  return locked;
}

/** @returns the kinds of values that are stopped by the endings */
async function writeEndings(
  client: pg.ClientBase,
  endings: readonly FinishedChange[],
): Promise<string[]> {
  await finishChanges(client, endings.map(toFinishedClaim));
  const stopped = await saveAlterations(client, endings.flatMap(listAlterations));
  for (const ending of endings) await writeOwnPart(client, ending);
  const assignedJobs = endings.flatMap(listAssignedJobs);
  await settleAssignments(client, assignedJobs);
  const readings = endings.flatMap(({run, done: {remote, since, made}}) =>
    remote === null ? [] : [{run, remote, since, made}],
  );
  await writeRemote(client, readings);
  await stampAssignments(client, assignedJobs);
  for (const ending of endings) if (ending.done.isGone) await markRowDeleted(client, ending);
  return stopped;
}

function toFinishedClaim({run, done}: FinishedChange): FinishedClaim {
  const {number, result, values: remote, attempt} = done;
  return {change: run.change, number, result, remote, attempt};
}

function listAlterations({run, done}: FinishedChange): Alteration[] {
  const {changeId, accountId} = run.change;
  return Object.entries(done.result?.altered ?? {}).map(([field, {sent, got}]) => ({
    changeId,
    accountId,
    field,
    kind: identifyKind(run, field),
    sent,
    got,
  }));
}

/**
 * The job of a change that assigns employees. A created job gets the employees that it had here. A
 * rule may have removed the employees from a change's fields: its base still contains them.
 */
function listAssignedJobs({run, done}: FinishedChange): AssignedJob[] {
  const {changeId, accountId, rowId, operation, fields, base} = run.change;
  const isNew = operation === 'create';
  const isAssigning = isNew || 'employee_ids' in fields || 'employee_ids' in base;
  if (run.writes.table.name !== 'jobs' || !isAssigning) return [];
  const {employee_ids: employees = fields.employee_ids} = done.values;
  const employeeIds = Array.isArray(employees) ? employees : [];
  return [{changeId, accountId, rowId, number: done.number, isNew, employeeIds}];
}

/** Writes the change's own part: its conflicts, and the number and author of a created record. */
async function writeOwnPart(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, writes} = run;
  await saveConflicts(client, change, done.conflicts);
  if (change.operation !== 'create') return;
  await giveNumber(client, writes.table, {...change, key: writes.key, number: done.number});
  const author = done.values.created_by;
  if (typeof author === 'string') await saveEmployee(client, change.accountId, author);
}

/** Marks deleted the record that our delete removed, and its owned children. */
async function markRowDeleted(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, stream, writes} = run;
  const {accountId, changeId, rowId} = change;
  const {number} = done;
  const owned = stream.table === writes.table ? listOwnedTables(stream) : [];
  await markDeleted(client, writes.table, {accountId, rowId, changeId, number, owned});
  await forgetKnown(client, {accountId, stream: stream.name, numbers: [number]});
}
