// The last step of a change: the decision is written. Each end is one transaction: the change, the
// service's result, the rows that show it. Changes that are done beside each other end in one
// transaction together: a commit, and a statement a table, for all.

import type pg from 'pg';
import {learnEmployee} from '../accounts/accounts.ts';
import {
  type AssignedJob,
  giveNumber,
  markDeleted,
  settleAssignments,
  stampAssignments,
} from '../changes/authored-rows.ts';
import {
  type Alteration,
  holdForKind,
  keepAlterations,
  keepConflicts,
} from '../changes/conflicts.ts';
import {
  doubtChange,
  endAttempt,
  type FinishedClaim,
  finishChanges,
  leaveToPerson,
  oneCreate,
  postponeChange,
  rejectChange,
  resendChange,
} from '../changes/move-changes.ts';
import {inSweepTransaction, type Queryable} from '../postgres/database.ts';
import {violatedConstraint} from '../postgres/database-errors.ts';
import {forgetKnown} from '../rows/known-records.ts';
import {lockRows} from '../rows/load.ts';
import {ownedTablesOf} from '../streams/stream.ts';
import {
  conflict,
  type Decision,
  type Done,
  type EndedAttempt,
  type InDoubt,
  type LeftToPerson,
  type Postponed,
  type Rejected,
} from './decision.ts';
import {kindOf, listMade} from './facts.ts';
import {writeRemote} from './remote.ts';
import {
  atStep,
  Batcher,
  type Ends,
  type FinishedChange,
  type PushEnd,
  type PushRun,
  type StoppedKinds,
} from './run.ts';

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
      conflict(`record ${number} is what another change created`, {attempt}),
    );
  }
  await atStep(run, 'end-committed');
  return 'done';
}

/** The row shows again what the service holds. */
async function endRejected(run: PushRun, {words, remote, attempt}: Rejected): Promise<PushEnd> {
  await inEnd(run, attempt, async (client) => {
    await rejectChange(client, run.change, words);
    const since = run.change.claimedAt;
    const made = remote && listMade(run, run.change.number ?? '', remote, remote);
    if (remote !== null) await writeRemote(client, [{run, remote, since, made}]);
  });
  return 'rejected';
}

async function endConflict(run: PushRun, {attempt, ...left}: LeftToPerson): Promise<PushEnd> {
  await inEnd(run, attempt, (client) => leaveToPerson(client, run.change, left));
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

async function inEnd(
  run: PushRun,
  attempt: EndedAttempt | null,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const {deps, change, writes} = run;
  await inSweepTransaction(deps.pool, async (client) => {
    await lockRows(client, writes.table, [change.rowId]);
    // The change before its attempt, as where another worker finds it lost: neither waits for the
    // other.
    await work(client);
    await noteAttempt(client, attempt);
    await atStep(run, 'end-written');
  });
  await atStep(run, 'end-committed');
}

/** Notes how the request ended, where one was sent. */
async function noteAttempt(db: Queryable, attempt: EndedAttempt | null): Promise<void> {
  if (attempt !== null) await endAttempt(db, attempt.attemptId, attempt.end);
}

/** @param stops - told of the kinds of values that alterations have stopped */
export function endBatch(pool: pg.Pool, stops: StoppedKinds): Ends {
  return new Batcher(async (endings) => {
    const stopped = await inSweepTransaction(pool, async (client) => {
      const kinds = await writeEndings(client, endings);
      for (const {run} of endings) await atStep(run, 'end-written');
      return kinds;
    });
    stops.add(stopped);
    return endings.map(() => true as const);
  });
}

/** @returns the kinds of values that are stopped by the endings */
async function writeEndings(
  client: pg.ClientBase,
  endings: readonly FinishedChange[],
): Promise<string[]> {
  const byTable = [...Map.groupBy(endings, ({run}) => run.writes.table)].sort(([one], [other]) =>
    one.name < other.name ? -1 : 1,
  );
  for (const [table, ofTable] of byTable)
    await lockRows(
      client,
      table,
      ofTable.map(({run}) => run.change.rowId),
    );
  await finishChanges(client, endings.map(claimOf));
  const stopped = await keepAlterations(client, endings.flatMap(alterationsOf));
  for (const ending of endings) await writeOwn(client, ending);
  const assigned = endings.flatMap(assignedJobOf);
  await settleAssignments(client, assigned);
  const reads = endings.flatMap(({run, done: {remote, since, made}}) =>
    remote === null ? [] : [{run, remote, since, made}],
  );
  await writeRemote(client, reads);
  await stampAssignments(client, assigned);
  for (const ending of endings) if (ending.done.isGone) await markRowDeleted(client, ending);
  return stopped;
}

function claimOf({run, done}: FinishedChange): FinishedClaim {
  const {number, result, values: remote, attempt} = done;
  return {change: run.change, number, result, remote, attempt};
}

function alterationsOf({run, done}: FinishedChange): Alteration[] {
  const {changeId, accountId} = run.change;
  return Object.entries(done.result?.altered ?? {}).map(([field, {sent, got}]) => ({
    changeId,
    accountId,
    field,
    kind: kindOf(run, field),
    sent,
    got,
  }));
}

/**
 * The job of a change that assigns employees. A created job takes those that it had here. A rule
 * may have taken the employees out of a change's fields: its base still tells of them.
 */
function assignedJobOf({run, done}: FinishedChange): AssignedJob[] {
  const {changeId, accountId, rowId, operation, fields, base} = run.change;
  const isNew = operation === 'create';
  const isAssigning = isNew || 'employee_ids' in fields || 'employee_ids' in base;
  if (run.writes.table.name !== 'jobs' || !isAssigning) return [];
  const {employee_ids: held = fields.employee_ids} = done.values;
  const employeeIds = Array.isArray(held) ? held : [];
  return [{changeId, accountId, rowId, number: done.number, isNew, employeeIds}];
}

/** Writes the change's own part: its conflicts, and the number and author of a created record. */
async function writeOwn(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, writes} = run;
  await keepConflicts(client, change, done.conflicts);
  if (change.operation !== 'create') return;
  await giveNumber(client, writes.table, {...change, key: writes.key, number: done.number});
  const author = done.values.created_by;
  if (typeof author === 'string') await learnEmployee(client, change.accountId, author);
}

/** Marks deleted the record that our delete removed, and its owned children. */
async function markRowDeleted(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, stream, writes} = run;
  const {accountId, changeId, rowId} = change;
  const {number} = done;
  const owned = stream.table === writes.table ? ownedTablesOf(stream) : [];
  await markDeleted(client, writes.table, {accountId, rowId, changeId, number, owned});
  await forgetKnown(client, {accountId, stream: stream.name, numbers: [number]});
}
