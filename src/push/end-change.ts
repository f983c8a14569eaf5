// The last step of a change: the decision is written. Each end is one transaction: the change, the
// service's result, the rows that show it.

import type pg from 'pg';
import {holdForKind} from '../changes/alterations.ts';
import {lockRows} from '../changes/authored-rows.ts';
import {
  doubtChange,
  endAttempt,
  leaveToPerson,
  oneCreate,
  postponeChange,
  rejectChange,
  resendChange,
} from '../changes/move-changes.ts';
import {inSweepTransaction, type Queryable} from '../postgres/database.ts';
import {violatedConstraint} from '../postgres/database-errors.ts';
import {atStep} from './change-context.ts';
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
import type {PushEnd} from './push-deps.ts';
import type {PushRun} from './push-run.ts';
import {writeRemote} from './write-remote.ts';

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
    if (remote !== null) await writeRemote(client, [{run, remote, since: run.change.claimedAt}]);
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
