// A request whose fate nobody knows is looked for, again and again, and never sent again blindly.

import {isGone} from '../../api/verdict.ts';
import {doubtChange, resendChange} from '../../warehouse/carry-changes.ts';
import {findCandidates} from './candidates.ts';
import {confirmCreate} from './carry-create.ts';
import {isDeleted} from './carry-delete.ts';
import {leaveGone} from './carry-update.ts';
import {finishConflict, finishDone} from './finish.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import {isEchoOf} from './same-value.ts';
import {subjectOf, truthNumberOf} from './subject.ts';
import {findTrueRow, readTruth} from './truth.ts';

/** A create is sent twice at the most: the row itself says so. What cannot do harm may be sent more often. */
const maxSends = {create: 2, update: 5, delete: 5} as const;
/** Looks that must have found nothing before a request counts as never arrived. */
const fewestLooks = 3;

/** Looks once for what a doubtful request did. */
export async function settleDoubt(run: PushRun): Promise<PushEnd> {
  if (run.change.operation === 'create') return await lookForCreated(run);
  const look = run.change.operation === 'update' ? lookForUpdate : lookForDelete;
  const end = await look(run);
  await pass(run, 'looked');
  return end ?? (await lookAgainOrGiveUp(run));
}

async function lookForCreated(run: PushRun): Promise<PushEnd> {
  const {number} = run.change;
  const {ours, older} = number === null ? await findCandidates(run) : {ours: [number], older: []};
  await pass(run, 'looked');
  const [first, ...others] = ours;
  if (first !== undefined && others.length > 0)
    return await finishConflict(run, {
      reason: `several records could be it: ${ours.join(', ')}`,
      result: {candidates: ours},
    });
  const end = first === undefined ? null : await confirmCreate(run, {number: first});
  return end ?? (await lookAgainOrGiveUp(run, older));
}

async function lookForUpdate(run: PushRun): Promise<PushEnd | null> {
  const {change, rules} = run;
  if ('password' in change.fields && !change.isWritten) {
    const step = `give it up (fieldmirror changes resolve ${change.changeId} service) and set it again`;
    return await finishConflict(run, {
      reason: `no reading tells whether the password was set: ${step}; ${change.reason ?? ''}`,
    });
  }
  const subject = await subjectOf(run);
  const truth = await readTruth(run, truthNumberOf(run, subject) ?? '');
  const number = subject.number ?? '';
  const row = isGone(truth) ? null : findTrueRow(run, truth, number);
  if (isGone(truth) || row === null)
    return await leaveGone(run, isGone(truth) ? truth.words : 'it is not in the list');
  const hasArrived =
    change.isWritten ||
    Object.entries(change.fields).every(([name, value]) =>
      isEchoOf(rules.get(name)?.kind ?? 'text', value, row.values[name] ?? null),
    );
  return hasArrived
    ? await finishDone(run, {number, truth, since: change.claimedAt, sent: change.fields})
    : null;
}

async function lookForDelete(run: PushRun): Promise<PushEnd | null> {
  const {change} = run;
  if (!(await isDeleted(run))) return null;
  return await finishDone(run, {number: change.number ?? '', truth: null, since: change.claimedAt, sent: {}});
}

/** @param lookalikes - records that bear all that was sent, though they seem to have been there before */
async function lookAgainOrGiveUp(run: PushRun, lookalikes: readonly string[] = []): Promise<PushEnd> {
  const {deps, change, settle} = run;
  const {lookDelaysMs, quarantineMs} = settle;
  const isOver = (change.sentAgoMs ?? 0) >= quarantineMs && change.looks + 1 >= fewestLooks;
  if (!isOver) {
    const delayMs = lookDelaysMs[Math.min(change.looks + 1, lookDelaysMs.length - 1)] ?? 0;
    await doubtChange(deps.pool, change, {reason: change.reason ?? 'in doubt', delayMs, isLook: true});
    return 'in_doubt';
  }
  const minutes = Math.round(quarantineMs / 60_000);
  if (lookalikes.length > 0)
    return await finishConflict(run, {
      reason: `it could be ${change.table} ${lookalikes.join(', ')}, which is all that was sent, but seems to have been there before`,
      result: {candidates: lookalikes},
    });
  if (
    !change.isWritten &&
    (change.number === null) === (change.operation === 'create') &&
    change.sends < maxSends[change.operation]
  ) {
    await resendChange(deps.pool, change, `no trace of it for ${minutes} minutes: it is sent once more`);
    return 'postponed';
  }
  return await finishConflict(run, {
    reason: `sent ${change.sends} times, and no trace of it for ${minutes} minutes: ${change.reason ?? ''}`,
  });
}
