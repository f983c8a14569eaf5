// The next step of a change, decided by the answer to its request. A certain answer ends the
// change, or lets it be sent later. Otherwise the change is in doubt, and is not sent again before
// a look. Pure.

import type {WriteResult} from '../api/client.ts';
import type {AttemptEnd, Begun} from '../changes/move-changes.ts';
import {AccessError, RetryableError} from '../core/errors.ts';
import {type Decision, type EndedAttempt, leaveGone, type SendPlan} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {finish} from './finish.ts';
import {isBeforeOthers, showsTheOld} from './older.ts';
import {doubt, tryLater} from './postponements.ts';
import {findRemoteRow, type Remote} from './remote.ts';

type Written = Extract<WriteResult, {outcome: 'done'}>;
type Refused = Extract<WriteResult, {outcome: 'refused'}>;

/** A request that ended, and the reading of its record since. */
export interface Outcome {
  readonly plan: SendPlan;
  readonly begun: Begun;
  readonly result: WriteResult;
  /** The number of the record that a create made, where the answer told it. */
  readonly created: string | null;
  /** The record after it was written; null where it is a delete, and where it could not be read. */
  readonly after: Remote | null;
  /**
   * The password of the token in use was set: nothing can be read before the account has its new
   * token.
   */
  readonly isTokenSpent: boolean;
}

/** The decision on a change whose request has ended. */
export function decide(facts: ChangeFacts, outcome: Outcome): Decision {
  const {result, begun} = outcome;
  switch (result.outcome) {
    case 'done':
      return decideWritten(facts, outcome, result);
    case 'refused':
      return decideRefused(facts, outcome, result);
    case 'not-sent': {
      const {reason} = result;
      const attempt = attemptOf(begun, {outcome: 'not-sent', status: null, answer: reason});
      return tryLater(facts, {reason, attempt});
    }
    case 'in-doubt': {
      const {reason, status, retryAfterMs} = result;
      const attempt = attemptOf(begun, {outcome: 'in-doubt', status, answer: reason});
      return doubt(facts, {reason, retryAfterMs, attempt});
    }
  }
}

/**
 * A change whose record cannot be read stays in doubt: the record is read later, the change never
 * sent again.
 */
function decideWritten(facts: ChangeFacts, outcome: Outcome, {status}: Written): Decision {
  const {plan, begun, created, after, isTokenSpent} = outcome;
  const {subject, fields: sent, unsent} = plan;
  const attempt = attemptOf(begun, {outcome: 'done', status, answer: null});
  const unread = (reason: string, number: string | null = null) =>
    doubt(facts, {reason, number, attempt});
  if (isTokenSpent)
    return unread('the password is set, and is read back when the account has its new token');
  const done = {since: begun.startedAt, sent, unsent, attempt};
  if (subject.operation === 'delete')
    return finish(facts, {...done, number: subject.number, remote: null});
  if (subject.operation === 'update') {
    if (after === null) return unread('it was written, and could not be read back');
    const row = findRemoteRow(facts, after, subject.number);
    const base = {...facts.change.base, ...plan.narrowed?.base};
    if (
      isBeforeOthers(facts, row, sent) ||
      (row !== null && showsTheOld(facts, {fields: sent, base}, row))
    )
      return unread('it was written, and the record still showed the old value');
    return finish(facts, {...done, number: subject.number, remote: after});
  }
  if (created === null) return unread('the service created it, and did not say under which number');
  if (after === null || findRemoteRow(facts, after, created) === null)
    return unread(`it was created as ${created}, and could not be read back`, created);
  return finish(facts, {...done, number: created, remote: after});
}

function decideRefused(facts: ChangeFacts, {plan, begun}: Outcome, refused: Refused): Decision {
  const {error, words, status, isGone} = refused;
  const attempt = attemptOf(begun, {outcome: 'refused', status, answer: words});
  if (error instanceof AccessError)
    return {
      what: 'postpone',
      reason: error.message,
      delayMs: 0,
      isFailure: false,
      attempt,
      refusal: error,
    };
  if (error instanceof RetryableError)
    return tryLater(facts, {reason: error.message, retryAfterMs: error.retryAfterMs, attempt});
  if (!isGone) return {what: 'reject', words: `${status}: ${words}`, remote: plan.before, attempt};
  const {subject} = plan;
  switch (subject.operation) {
    case 'create':
      return {what: 'reject', words, remote: null, attempt};
    case 'update':
      return leaveGone(words, attempt);
    case 'delete':
      // The record is gone already, as the delete wanted.
      return finish(facts, {
        number: subject.number,
        remote: null,
        since: begun.startedAt,
        sent: {},
        attempt,
      });
  }
}

function attemptOf({attemptId}: Begun, end: AttemptEnd): EndedAttempt {
  return {attemptId, end};
}
