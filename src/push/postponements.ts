// How long a change that is not over waits, and why. Pure.

import {
  conflict,
  type Decision,
  type EndedAttempt,
  type InDoubt,
  type Postponed,
  postpone,
} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {kindsOf} from './kinds.ts';

/** The decision that keeps a change from being sent now; null when nothing does. */
export function decideWait(facts: ChangeFacts): Decision | null {
  const {change, settle} = facts;
  const stopped = kindsOf(facts, change.fields).find((kind) => change.stoppedKinds.includes(kind));
  if (stopped !== undefined) return holdStopped(stopped);
  const calmMs = settle.arrivalLimitMs - (change.sentAgainAgoMs ?? Number.POSITIVE_INFINITY);
  if (calmMs <= 0) return null;
  // A lost request of an earlier change may still arrive, and would undo a request sent before it.
  return postpone(
    'a request of an earlier change of this record was lost, and may still arrive',
    calmMs,
  );
}

/**
 * The service altered such a value, and no person has looked yet: another one might be altered,
 * too.
 */
function holdStopped(kind: string): Decision {
  const reason = `the service altered what was sent (${kind}): somebody looks at that first (fieldmirror changes list --state altered)`;
  return {what: 'hold', kind, reason};
}

/**
 * The path needs an unknown number. The parent of a new record will get one; a lost number stays
 * lost.
 */
export function lackNumber(facts: ChangeFacts): Decision {
  const {change, writes} = facts;
  const parent = `its ${writes.parent?.table ?? 'parent'}`;
  if (change.operation !== 'create')
    return conflict('nobody knows the number of its record any more');
  if (change.state === 'in_doubt') return conflict(`nobody knows the number of ${parent} any more`);
  return tryLater(facts, {reason: `${parent} has no number yet`});
}

/**
 * How long a change waits after a failure: its back-off, and no less than the service asked for.
 */
export function failureDelayMs(backOffMs: number, retryAfterMs: number | null): number {
  return Math.max(backOffMs, retryAfterMs ?? 0);
}

/** Nothing was written, and the same request may succeed later. */
export function tryLater(
  {backOffMs}: Pick<ChangeFacts, 'backOffMs'>,
  failed: {
    readonly reason: string;
    readonly retryAfterMs?: number | null;
    readonly attempt?: EndedAttempt | null;
  },
): Postponed {
  const {reason, retryAfterMs = null, attempt = null} = failed;
  const delayMs = failureDelayMs(backOffMs, retryAfterMs);
  return {what: 'postpone', reason, delayMs, isFailure: true, attempt, refusal: null};
}

/**
 * The fate of a request is unknown: it is looked for when the service says, and later the more
 * often it was sent.
 */
export function doubt(
  {change, settle}: Pick<ChangeFacts, 'change' | 'settle'>,
  unknown: {
    readonly reason: string;
    readonly attempt: EndedAttempt;
    readonly number?: string | null;
    readonly retryAfterMs?: number | null;
  },
): InDoubt {
  const {reason, attempt, number = null, retryAfterMs = null} = unknown;
  const before = change.operation === 'create' ? 0 : change.sends;
  const {lookDelaysMs} = settle;
  const usualMs = lookDelaysMs[Math.min(before, lookDelaysMs.length - 1)] ?? 0;
  const delayMs = before === 0 ? (retryAfterMs ?? usualMs) : failureDelayMs(usualMs, retryAfterMs);
  return {what: 'doubt', reason, delayMs, number, isLook: false, attempt};
}
