import {isGone} from '../../api/verdict.ts';
import {finishConflict, finishDone} from './finish.ts';
import type {PushEnd, PushRun} from './push-run.ts';
import {send} from './send.ts';
import {subjectOf, truthNumberOf} from './subject.ts';
import {readTruth} from './truth.ts';

/** Sends a delete; that the record is gone already is what was wanted. */
export async function carryDelete(run: PushRun): Promise<PushEnd> {
  const subject = await subjectOf(run);
  const {number} = subject;
  if (number === null || truthNumberOf(run, subject) === null)
    return await finishConflict(run, {reason: 'nobody knows the number of its record any more'});
  const done = {number, truth: null, sent: {}};
  return await send(run, {
    subject,
    fields: {},
    before: null,
    onGone: (_words, attempt) => finishDone(run, {...done, since: attempt.startedAt, attempt}),
    onDone: (_written, attempt) => finishDone(run, {...done, since: attempt.startedAt, attempt}),
  });
}

/** Whether the record of a delete is gone. */
export async function isDeleted(run: PushRun): Promise<boolean> {
  const subject = await subjectOf(run);
  const truth = await readTruth(run, truthNumberOf(run, subject) ?? '');
  if (isGone(truth) || !run.writes.isNested) return isGone(truth);
  return !truth.children.some(
    ({element, rows}) => element === run.writes.list && rows.some(({key}) => key === subject.number),
  );
}
