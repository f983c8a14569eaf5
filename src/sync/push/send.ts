// One writing request, noted before its first byte and judged by its answer. What is certain is settled here; what is
// not, is in doubt, and nobody sends it again before it was looked for.

import {sendWrite, type WriteResult} from '../../api/operations.ts';
import {AccessError, RetryableError} from '../../errors.ts';
import {holdForKind} from '../../warehouse/alterations.ts';
import {
  type Begun,
  doubtChange,
  endAttempt,
  type KeptClash,
  type Narrowed,
  postponeChange,
} from '../../warehouse/carry-changes.ts';
import type {ChangeValues} from '../../warehouse/change.ts';
import {backOffMs} from './back-off.ts';
import {type EndedAttempt, finishRejected} from './finish.ts';
import {kindsOf} from './kinds.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import {composeRequest, type Subject} from './request.ts';
import {formsOfPassword, stopForNewToken, unmask} from './send-password.ts';
import type {Truth} from './truth.ts';

type Written = Extract<WriteResult, {outcome: 'done'}>;
type Refused = Extract<WriteResult, {outcome: 'refused'}>;

/** What to send, and what to do with each certain answer. */
export interface Sending {
  readonly subject: Subject;
  readonly fields: ChangeValues;
  readonly narrowed?: Narrowed | null;
  readonly clashes?: readonly KeptClash[];
  /** What the service held before, to put back into the row when it refuses; null where nobody looked. */
  readonly before: Truth | null;
  readonly onDone: (written: Written, attempt: SentAttempt) => Promise<PushEnd>;
  /** The service knows no such record. */
  readonly onGone: (words: string, attempt: SentAttempt) => Promise<PushEnd>;
}

/** A request that ended, and when it was begun by the database's clock. */
export interface SentAttempt extends EndedAttempt {
  readonly startedAt: string;
}

/** A twin of a create waits until the fate of the other is known. */
const twinDelayMs = 5_000;

/** Sends a change's request, once. @throws {AccessError} the account's token is refused; nothing was written */
export async function send(run: PushRun, sending: Sending): Promise<PushEnd> {
  const {deps, change, writes, account, signal} = run;
  const unmasked = await unmask(run, sending.fields);
  if (typeof unmasked === 'string') return unmasked;
  const {fields, shown, password} = unmasked;
  const compose = (given: ChangeValues) =>
    composeRequest(writes, sending.subject, {fields: given, timeZone: account.timeZone});
  const request = compose(fields);
  const {narrowed = null, clashes = []} = sending;
  const kinds = kindsOf(run, fields);
  const {method, path, body: document = null} = password === null ? request : compose(shown);
  const begun = await run.beginnings.do({
    run,
    sending: {claim: change, method, path, request: document, narrowed, clashes, kinds},
  });
  if (begun === 'lost')
    throw new RetryableError(
      `change ${change.changeId}: another worker has taken it over, or the service has just altered such a value`,
    );
  if (begun === 'twin') {
    const reason = 'another create with the same content is on its way';
    await postponeChange(deps.pool, change, {delayMs: twinDelayMs, isFailure: false, reason});
    return 'postponed';
  }
  await pass(run, 'sending-committed');
  const {resource, list} = writes;
  const hidden = formsOfPassword(password);
  const names = {list, item: resource};
  // It may wait long for its turn, behind others or while the process sleeps. By then another may have sent the change again.
  const guard = {
    onTurn: () => pass(run, 'turn'),
    mayStart: () => run.lease.isHeld() && !run.stops.areAmong(kinds),
  };
  const result = await sendWrite(account.api.transport, {...request, ...guard, signal, hidden}, names);
  await pass(run, 'answered');
  if (result.outcome === 'done' && password !== null && (await stopForNewToken(run))) {
    const end = {outcome: 'done', status: result.status, answer: null} as const;
    const reason = 'the password is set, and is read back when the account has its new token';
    return await leaveUnread(run, {...begun, end}, {reason});
  }
  return await judge(run, sending, {result, begun});
}

async function judge(
  run: PushRun,
  sending: Sending,
  {result, begun}: {readonly result: WriteResult; readonly begun: Begun},
): Promise<PushEnd> {
  const {deps} = run;
  const {attemptId} = begun;
  switch (result.outcome) {
    case 'done':
      return await sending.onDone(result, {
        ...begun,
        end: {outcome: 'done', status: result.status, answer: null},
      });
    case 'refused': {
      const end = {outcome: 'refused', status: result.status, answer: result.words} as const;
      return await judgeRefusal(run, sending, {result, attempt: {...begun, end}});
    }
    case 'not-sent':
      await endAttempt(deps.pool, attemptId, {outcome: 'not-sent', status: null, answer: result.reason});
      return await tryLater(run, {reason: result.reason, retryAfterMs: null});
    case 'in-doubt':
      await endAttempt(deps.pool, attemptId, {
        outcome: 'in-doubt',
        status: result.status,
        answer: result.reason,
      });
      return await doubt(run, result);
  }
}

async function judgeRefusal(
  run: PushRun,
  sending: Sending,
  {result, attempt}: {readonly result: Refused; readonly attempt: SentAttempt},
): Promise<PushEnd> {
  const {error, words, isGone} = result;
  if (error instanceof AccessError || error instanceof RetryableError) {
    await endAttempt(run.deps.pool, attempt.attemptId, attempt.end);
    if (error instanceof AccessError) {
      await postponeChange(run.deps.pool, run.change, {delayMs: 0, isFailure: false, reason: error.message});
      throw error;
    }
    return await tryLater(run, {reason: error.message, retryAfterMs: error.retryAfterMs});
  }
  if (isGone) return await sending.onGone(words, attempt);
  return await finishRejected(run, {words: `${result.status}: ${words}`, truth: sending.before, attempt});
}

/** Nothing was written, and the same may succeed later. */
export async function tryLater(
  {deps, change}: PushRun,
  {reason, retryAfterMs}: {readonly reason: string; readonly retryAfterMs: number | null},
): Promise<PushEnd> {
  const delayMs = Math.max(backOffMs(change.failures), retryAfterMs ?? 0);
  await postponeChange(deps.pool, change, {delayMs, isFailure: true, reason});
  return 'postponed';
}

/** The service altered such a value, and nobody has looked yet: what is sent like that might be altered, too. */
export async function holdStopped({deps, change}: PushRun, kind: string): Promise<PushEnd> {
  const reason = `the service altered what was sent (${kind}): somebody looks at that first (fieldmirror changes list --state altered)`;
  await holdForKind(deps.pool, change, {kind, reason});
  return 'postponed';
}

/** A lost request of an earlier change of the record may still arrive, and would undo what is sent before it does. */
export async function waitForCalm({deps, change}: PushRun, delayMs: number): Promise<PushEnd> {
  const reason = 'a request of an earlier change of this record was lost, and may still arrive';
  await postponeChange(deps.pool, change, {delayMs, isFailure: false, reason});
  return 'postponed';
}

/**
 * The service said that it is written, and the record could not be read: it is read later, and never sent again.
 * @param number - of the record, where the answer told it
 */
export async function leaveUnread(
  run: PushRun,
  {attemptId, end}: EndedAttempt,
  unread: {readonly reason: string; readonly number?: string | null},
): Promise<PushEnd> {
  await endAttempt(run.deps.pool, attemptId, end);
  return await doubt(run, unread);
}

/** Nobody knows whether it was written: it is looked for, when the service says, and later the more often it was sent. */
async function doubt(
  {deps, change, settle}: PushRun,
  {
    reason,
    number = null,
    retryAfterMs = null,
  }: {readonly reason: string; readonly number?: string | null; readonly retryAfterMs?: number | null},
): Promise<PushEnd> {
  const before = change.operation === 'create' ? 0 : change.sends;
  const {lookDelaysMs} = settle;
  const usualMs = lookDelaysMs[Math.min(before, lookDelaysMs.length - 1)] ?? 0;
  const delayMs = before === 0 ? (retryAfterMs ?? usualMs) : Math.max(usualMs, retryAfterMs ?? 0);
  await doubtChange(deps.pool, change, {reason, delayMs, number});
  return 'in_doubt';
}
