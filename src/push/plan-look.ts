// A request whose fate is unknown is looked for, again and again, and never sent again blindly.

import {isGone} from '../api/verdict.ts';
import {findCandidates} from './candidates.ts';
import {atStep} from './change-context.ts';
import {readMadeAgo, readSubject, remoteNumberOf, remoteNumberOfCreated} from './change-subject.ts';
import {
  decideCreated,
  decideDeleted,
  decideUnseen,
  decideUpdated,
  lookAgain,
} from './decide-look.ts';
import type {Decision, Plan} from './decision.ts';
import {lackNumber} from './postponements.ts';
import type {PushRun} from './push-run.ts';
import {readRemote} from './read-remote.ts';
import type {Candidates} from './recognize.ts';

/** Looks once for the effect of a doubtful request. */
export async function lookFor(run: PushRun): Promise<Plan> {
  const unseen = decideUnseen(run);
  if (unseen !== null) return unseen;
  if (run.change.operation === 'create') return await lookForCreated(run);
  const subject = await readSubject(run);
  if (subject === null || subject.operation === 'create') return lackNumber(run);
  const reading = await readRemote(run, remoteNumberOf(subject));
  await atStep(run, 'looked');
  if (isGone(reading) && (await readMadeAgo(run, subject)) !== null) return lookAgain(run);
  return subject.operation === 'update'
    ? decideUpdated(run, subject, reading)
    : decideDeleted(run, subject, reading);
}

async function lookForCreated(run: PushRun): Promise<Decision> {
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
