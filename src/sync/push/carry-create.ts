import type {WriteResult} from '../../api/operations.ts';
import {numberOf} from '../../streams/number-of.ts';
import {oneCreate} from '../../warehouse/carry-changes.ts';
import {violatedConstraint} from '../../warehouse/violated-constraint.ts';
import {readBack} from './carry-update.ts';
import {finishConflict, finishDone, finishRejected} from './finish.ts';
import type {PushEnd, PushRun} from './push-run.ts';
import {leaveUnread, type SentAttempt, send, tryLater} from './send.ts';
import {subjectOf, truthNumberOf} from './subject.ts';
import {findTrueRow} from './truth.ts';

/** Sends a create, at most once until its fate is known. */
export async function carryCreate(run: PushRun): Promise<PushEnd> {
  const {writes, change} = run;
  const subject = await subjectOf(run);
  if (writes.parent !== null && subject.parentNumber === null)
    return await tryLater(run, {reason: `its ${writes.parent.table} has no number yet`, retryAfterMs: null});
  return await send(run, {
    subject,
    fields: change.fields,
    before: null,
    onGone: (words, attempt) => finishRejected(run, {words, truth: null, attempt}),
    onDone: async (written, attempt) => {
      const number = numberIn(run, written);
      if (number === null) {
        const reason = 'the service created it, and did not say under which number';
        return await leaveUnread(run, attempt, {reason});
      }
      const reason = `it was created as ${number}, and could not be read back`;
      return (
        (await confirmCreate(run, {number, attempt})) ?? (await leaveUnread(run, attempt, {reason, number}))
      );
    },
  });
}

/** Reads a created record and settles the change with it; null when it cannot be read now. */
export async function confirmCreate(
  run: PushRun,
  {number, attempt = null}: {readonly number: string; readonly attempt?: SentAttempt | null},
): Promise<PushEnd | null> {
  const subject = {...(await subjectOf(run)), number};
  const truth = await readBack(run, truthNumberOf(run, subject) ?? '');
  if (truth === null || findTrueRow(run, truth, number) === null) return null;
  const since = attempt?.startedAt ?? run.change.claimedAt;
  try {
    return await finishDone(run, {number, truth, since, sent: run.change.fields, attempt});
  } catch (error) {
    if (violatedConstraint(error) !== oneCreate) throw error;
    return await finishConflict(run, {reason: `record ${number} is what another change created`, attempt});
  }
}

function numberIn(
  {writes, stream}: PushRun,
  written: Extract<WriteResult, {outcome: 'done'}>,
): string | null {
  const {record, locatedNumber} = written;
  if (record === null) return locatedNumber;
  return numberOf(writes.isNested ? {...stream, key: writes.key} : stream, record) ?? locatedNumber;
}
