// The third and the fourth step of a change: its request is sent, once, and the record is read for
// what the answer leaves open.

import {sendWrite, type WriteResult} from '../api/client.ts';
import type {Subject} from '../changes/compose-request.ts';
import {numberOf} from '../streams/record-rows.ts';
import type {Sendable} from './begin-send.ts';
import {atStep} from './change-context.ts';
import {remoteNumberOf, remoteNumberOfCreated} from './change-subject.ts';
import type {Outcome} from './decide.ts';
import type {PushRun} from './push-run.ts';
import {readBack} from './read-remote.ts';
import {stopForNewToken} from './send-password.ts';

type Written = Extract<WriteResult, {outcome: 'done'}>;

/** Sends a request, once, when its turn has come. */
export async function send(
  run: PushRun,
  {request, password, kinds}: Sendable,
): Promise<WriteResult> {
  const {writes, account, signal, paused} = run;
  const names = {list: writes.list, item: writes.resource};
  // The request may wait long for its turn, behind others or while the process sleeps. By then
  // another worker may have sent the change again.
  const guard = {
    onTurn: () => atStep(run, 'turn'),
    mayStart: () => run.lease.isHeld() && !run.stops.areAmong(kinds) && !paused.aborted,
    leave: AbortSignal.any([signal, paused]),
  };
  const hidden = password === null ? [] : [password];
  const result = await sendWrite(
    account.api.transport,
    {...request, ...guard, signal, hidden},
    names,
  );
  await atStep(run, 'answered');
  return result;
}

/** Reads the record after a request that the service has done. */
export async function judge(run: PushRun, sent: Sendable, result: WriteResult): Promise<Outcome> {
  const {plan, begun, password} = sent;
  const outcome = {plan, begun, result, created: null, after: null, isTokenSpent: false};
  if (result.outcome !== 'done') return outcome;
  if (password !== null && (await stopForNewToken(run))) return {...outcome, isTokenSpent: true};
  const {subject} = plan;
  const created = subject.operation === 'create' ? numberIn(run, result) : null;
  const remoteNumber = numberToRead(run, subject, created);
  return {
    ...outcome,
    created,
    after: remoteNumber === null ? null : await readBack(run, remoteNumber),
  };
}

/**
 * The number of the record that shows the write; null where there is none any more, or its number
 * is unknown.
 */
function numberToRead(run: PushRun, subject: Subject, created: string | null): string | null {
  if (subject.operation === 'delete') return null;
  if (subject.operation === 'update') return remoteNumberOf(subject);
  return created === null ? null : remoteNumberOfCreated(run, subject, created);
}

function numberIn({writes, stream}: PushRun, {record, locatedNumber}: Written): string | null {
  if (record === null) return locatedNumber;
  return numberOf(writes.isNested ? {...stream, key: writes.key} : stream, record) ?? locatedNumber;
}
