// The first step of a change: the request to send for it, or a decision that needs no request.

import {isGone} from '../../../api/verdict.ts';
import {atStep} from '../change-context.ts';
import {decideUpdate} from '../decide/decide-update.ts';
import {type Plan, sendUnread} from '../decide/decision.ts';
import {waitForNewer} from '../decide/older.ts';
import {decideWait, lackNumber} from '../decide/postponements.ts';
import type {PushRun} from '../push-run.ts';
import {lookFor} from './look.ts';
import {readRemote} from './read-remote.ts';
import {readMadeAgo, readSubject, remoteNumberOf} from './subject.ts';

/** Plans the next step of a claimed change; reads the record that the plan rests on. */
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
  const madeAgoMs = isGone(reading) ? await readMadeAgo(run, subject) : null;
  if (madeAgoMs !== null) return waitForNewer(madeAgoMs);
  return decideUpdate(run, subject, reading);
}
