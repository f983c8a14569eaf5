// The first step of a change: what is to be sent for it, or written without anything being sent.

import {atStep} from '../change-context.ts';
import {decideUpdate} from '../decide/decide-update.ts';
import {type Plan, sendUnread} from '../decide/decision.ts';
import {decideWait, lackNumber} from '../decide/postponements.ts';
import type {PushRun} from '../push-run.ts';
import {lookFor} from './look.ts';
import {readRemote} from './read-remote.ts';
import {readSubject, remoteNumberOf} from './subject.ts';

/** Says what is to be done with a change that was taken up; reads what that rests on. */
export async function plan(run: PushRun): Promise<Plan> {
  const {change} = run;
  if (change.state === 'in_doubt') return await lookFor(run);
  run.stops.learn(change);
  const wait = decideWait(run);
  if (wait !== null) return wait;
  const subject = await readSubject(run);
  if (subject === null) return lackNumber(run);
  if (subject.operation === 'create') return sendUnread(subject, change.fields);
  if (subject.operation === 'delete') return sendUnread(subject, {});
  const reading = await readRemote(run, remoteNumberOf(subject));
  await atStep(run, 'read');
  return decideUpdate(run, subject, reading);
}
