// A request whose fate nobody knows is looked for, again and again, and never sent again blindly.

import {isGone} from '../../api/verdict.ts';
import {doubtChange, resendChange} from '../../warehouse/carry-changes.ts';
import {findCandidates} from './candidates.ts';
import {confirmCreate} from './carry-create.ts';
import {carryDelete, isDeleted} from './carry-delete.ts';
import {leaveGone, sendUpdate} from './carry-update.ts';
import {finishConflict, finishDone} from './finish.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import {isEchoOf, isSameValue} from './same-value.ts';
import {subjectOf, truthNumberOf} from './subject.ts';
import {findTrueRow, readTruth, type TrueRow} from './truth.ts';

/** A create is sent twice at the most: the row itself says so. What does the same however often may be sent more often. */
const maxSends = {create: 2, update: 20, delete: 20} as const;
/** Looks that must have found nothing before a request counts as never arrived. */
const fewestLooks = 3;

/** Looks once for what a doubtful request did. An update or a delete that did nothing so far goes again at once. */
export async function settleDoubt(run: PushRun): Promise<PushEnd> {
  const looks = {create: lookForCreated, update: lookForUpdate, delete: lookForDelete} as const;
  return await looks[run.change.operation](run);
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

async function lookForUpdate(run: PushRun): Promise<PushEnd> {
  const {change} = run;
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
  await pass(run, 'looked');
  if (isGone(truth) || row === null)
    return await leaveGone(run, isGone(truth) ? truth.words : 'it is not in the list');
  const names = Object.keys(change.fields);
  if (change.isWritten || names.every((name) => hasArrived(run, row, name)))
    return await finishDone(run, {number, truth, since: change.claimedAt, sent: change.fields});
  const isUndone = names.every((name) => hasArrived(run, row, name) || isAsBefore(run, row, name));
  if (isUndone && mayGoAgain(run)) return await sendUpdate(run, {subject: {...subject, number}, truth, row});
  return await lookAgainOrGiveUp(run);
}

async function lookForDelete(run: PushRun): Promise<PushEnd> {
  const {change} = run;
  const number = change.number ?? '';
  const isGoneNow = await isDeleted(run);
  await pass(run, 'looked');
  if (isGoneNow) return await finishDone(run, {number, truth: null, since: change.claimedAt, sent: {}});
  return mayGoAgain(run) ? await carryDelete(run) : await lookAgainOrGiveUp(run);
}

function hasArrived({change, rules}: PushRun, {values}: TrueRow, name: string): boolean {
  return isEchoOf(rules.get(name)?.kind ?? 'text', change.fields[name] ?? null, values[name] ?? null);
}

/** A third value is somebody's: while the request may still arrive nobody can say what it will have done. */
function isAsBefore({change, rules}: PushRun, {values}: TrueRow, name: string): boolean {
  const held = values[name];
  const {[name]: before = null} = change.base;
  return held !== undefined && isSameValue(rules.get(name)?.kind ?? 'text', before, held);
}

function mayGoAgain({change}: PushRun): boolean {
  return !change.isWritten && change.sends < maxSends[change.operation];
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
  if (mayGoAgain(run) && (change.number === null) === (change.operation === 'create')) {
    await resendChange(deps.pool, change, `no trace of it for ${minutes} minutes: it is sent once more`);
    return 'postponed';
  }
  return await finishConflict(run, {
    reason: `sent ${change.sends} times, and no trace of it for ${minutes} minutes: ${change.reason ?? ''}`,
  });
}
