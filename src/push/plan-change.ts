// The first step of a change: the request to send for it, or a decision that needs no request.

import {isGone} from '../api/verdict.ts';
import {atStep} from './change-context.ts';
import {readMadeAgo, readSubject, remoteNumberOf} from './change-subject.ts';
import {decideUpdate} from './decide-update.ts';
import {type Plan, sendUnread} from './decision.ts';
import {waitForNewer} from './older.ts';
import {lookFor} from './plan-look.ts';
import {decideWait, lackNumber} from './postponements.ts';
import type {PushRun} from './push-run.ts';
import {readRemote} from './read-remote.ts';

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
