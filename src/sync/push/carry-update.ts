import {readDate} from '../../api/http-date.ts';
import {isGone} from '../../api/verdict.ts';
import type {ChangeValues} from '../../warehouse/change.ts';
import {type EndedAttempt, finishConflict, finishDone} from './finish.ts';
import {type Merge, mergeFields} from './merge.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import type {Subject} from './request.ts';
import {leaveUnread, send} from './send.ts';
import {subjectOf, truthNumberOf} from './subject.ts';
import {findTrueRow, readTruth, type TrueRow, type Truth} from './truth.ts';

/** What a change of a record is about. */
type Known = Subject & {readonly number: string};

/** Reads, merges, sends what differs, reads back. */
export async function carryUpdate(run: PushRun): Promise<PushEnd> {
  const subject = await subjectOf(run);
  const {number} = subject;
  const truthNumber = truthNumberOf(run, subject);
  if (number === null || truthNumber === null)
    return await finishConflict(run, {reason: 'nobody knows the number of its record any more'});
  const truth = await readTruth(run, truthNumber);
  await pass(run, 'read');
  const row = isGone(truth) ? null : findTrueRow(run, truth, number);
  if (isGone(truth) || row === null)
    return await leaveGone(run, isGone(truth) ? truth.words : 'it is not in the list');
  return await sendUpdate(run, {subject: {...subject, number}, truth, row});
}

/** Merges what is wanted with what was just read, sends what differs, reads back. */
export async function sendUpdate(
  run: PushRun,
  {subject, truth, row}: {readonly subject: Known; readonly truth: Truth; readonly row: TrueRow},
): Promise<PushEnd> {
  const {number} = subject;
  const merge = mergeFields(sidesOf(run, truth, row));
  const undecided = merge.clashes.filter(({winner}) => winner === null);
  if (undecided.length > 0) {
    const names = undecided.map(({field}) => field).join(', ');
    return await finishConflict(run, {reason: `changed on both sides: ${names}`, clashes: merge.clashes});
  }
  if (Object.keys(merge.send).length === 0)
    return await finishDone(run, {
      number,
      truth,
      since: run.change.claimedAt,
      sent: {},
      unsent: merge.unsent,
      clashes: merge.clashes,
    });
  return await send(run, {
    subject,
    fields: merge.send,
    narrowed: narrow(run, merge, row),
    clashes: merge.clashes,
    before: truth,
    onGone: (words, attempt) => leaveGone(run, words, attempt),
    onDone: async (_written, attempt) => {
      const after = await readBack(run, truth.number);
      if (after === null)
        return await leaveUnread(run, attempt, {reason: 'it was written, and could not be read back'});
      return await finishDone(run, {
        number,
        truth: after,
        since: attempt.startedAt,
        sent: merge.send,
        unsent: merge.unsent,
        attempt,
      });
    },
  });
}

/** Reads what was just written; null when it cannot be read now. */
export async function readBack(run: PushRun, number: string): Promise<Truth | null> {
  try {
    const truth = await readTruth(run, number);
    await pass(run, 'read-back');
    return isGone(truth) ? null : truth;
  } catch (error) {
    run.signal.throwIfAborted();
    run.deps.log.debug({change: run.change.changeId, reason: String(error)}, 'could not be read back');
    return null;
  }
}

/**
 * Whether the service's record was changed after the wish was made: its `updated_at` against the `Date` of the document that
 * shows it, less the time since the wish. Null where it does not tell both.
 */
function isServiceNewer(run: PushRun, truth: Truth, {updated_at: at}: ChangeValues): boolean | null {
  const {change, claimedMs} = run;
  const shownMs = readDate(truth.dateHeader);
  if (typeof at !== 'string' || shownMs === null) return null;
  const wishedAgoMs =
    Date.parse(change.claimedAt) - Date.parse(change.requestedAt) + truth.askedAt - claimedMs;
  return Date.parse(at) > shownMs - wishedAgoMs;
}

function sidesOf(run: PushRun, truth: Truth, {values}: TrueRow) {
  const {change, rules, writes} = run;
  return {
    fields: change.fields,
    base: change.base,
    truth: values,
    isServiceNewer: isServiceNewer(run, truth, values),
    rules,
    together: writes.together ?? [],
  };
}

/** What is wanted from now on: without what the rule gave to the service, with what moves along. */
function narrow({change}: PushRun, {send: sent, lost, clashes}: Merge, {values}: TrueRow) {
  if (clashes.length === 0) return null;
  const kept = Object.entries(change.fields).filter(([name]) => !lost.includes(name));
  const decided = clashes.map(({field}) => [field, values[field] ?? null] as const);
  const base: ChangeValues = Object.fromEntries(decided);
  return {fields: {...Object.fromEntries(kept), ...sent}, base};
}

/** A record that is gone is not made anew by an edit: a person decides. */
export async function leaveGone(
  run: PushRun,
  words: string,
  attempt: EndedAttempt | null = null,
): Promise<PushEnd> {
  return await finishConflict(run, {reason: `the record is gone at the service (${words})`, attempt});
}
