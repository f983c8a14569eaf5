// The result of a step: a request to send, or a decision on the change. Both are values; nothing
// has happened yet.

import type {Subject} from '../changes/compose-request.ts';
import type {KeptConflict} from '../changes/conflicts.ts';
import type {AttemptEnd, Narrowed} from '../changes/move-changes.ts';
import type {AccessError} from '../core/errors.ts';
import type {ChangeResult, ChangeValues} from '../rows/change-values.ts';
import type {Remote} from './remote.ts';

/** A request that ended, to be noted with its outcome. */
export interface EndedAttempt {
  readonly attemptId: string;
  readonly end: AttemptEnd;
}

/** A request to send, and the reading it rests on. */
export interface SendPlan {
  readonly what: 'send';
  readonly subject: Subject;
  readonly fields: ChangeValues;
  /** The change's fields from now on, where a rule has decided conflicts. */
  readonly narrowed: Narrowed | null;
  readonly conflicts: readonly KeptConflict[];
  /** Wanted fields that the service holds already. */
  readonly unsent: readonly string[];
  /**
   * The record before the request, to put back into the row if refused; null where nothing was
   * read.
   */
  readonly before: Remote | null;
}

/** The change is done. */
export interface Done {
  readonly what: 'done';
  readonly number: string;
  /** Null where there is no record any more. */
  readonly remote: Remote | null;
  /** The service's present values of the row itself. */
  readonly values: ChangeValues;
  /** The record itself is gone, though its parent may be there. */
  readonly isGone: boolean;
  /** By the database's clock, before the record of the service was asked for. */
  readonly since: string;
  readonly result: ChangeResult | null;
  readonly conflicts: readonly KeptConflict[];
  readonly attempt: EndedAttempt | null;
}

/** The service refused the change. */
export interface Rejected {
  readonly what: 'reject';
  readonly words: string;
  /** The record that the row shows again; null where nothing was read. */
  readonly remote: Remote | null;
  readonly attempt: EndedAttempt | null;
}

/** A person decides the change. */
export interface LeftToPerson {
  readonly what: 'conflict';
  readonly reason: string;
  readonly conflicts: readonly KeptConflict[];
  readonly result: ChangeResult | null;
  readonly attempt: EndedAttempt | null;
}

/** The fate of the request is unknown: it is looked for after a while. */
export interface InDoubt {
  readonly what: 'doubt';
  readonly reason: string;
  readonly delayMs: number;
  /** The record's number, where the answer told it. */
  readonly number: string | null;
  /** The change was looked for, and nothing was found. */
  readonly isLook: boolean;
  readonly attempt: EndedAttempt | null;
}

/** Nothing was written; the change is sent after a while. */
export interface Postponed {
  readonly what: 'postpone';
  readonly reason: string;
  readonly delayMs: number;
  readonly isFailure: boolean;
  readonly attempt: EndedAttempt | null;
  /** The account's token is refused: thrown once the decision is written. */
  readonly refusal: AccessError | null;
}

/**
 * The change bears a kind of value that the service altered: it waits until a person has looked at
 * that.
 */
export interface Held {
  readonly what: 'hold';
  readonly kind: string;
  readonly reason: string;
}

/** The request never arrived: it is sent once more. */
export interface Resent {
  readonly what: 'resend';
  readonly reason: string;
}

/** The decision on a change. */
export type Decision = Done | Rejected | LeftToPerson | InDoubt | Postponed | Held | Resent;

export type Plan = SendPlan | Decision;

/** Sends a change that needs no reading: a create, or a delete. */
export function sendUnread(subject: Subject, fields: ChangeValues): SendPlan {
  return {what: 'send', subject, fields, narrowed: null, conflicts: [], unsent: [], before: null};
}

/** Leaves the change to a person. */
export function conflict(
  reason: string,
  more: Partial<Omit<LeftToPerson, 'what' | 'reason'>> = {},
): LeftToPerson {
  return {what: 'conflict', reason, conflicts: [], result: null, attempt: null, ...more};
}

/** A record that is gone is not made anew by an edit: a person decides. */
export function leaveGone(words: string, attempt: EndedAttempt | null = null): LeftToPerson {
  return conflict(`the record is gone at the service (${words})`, {attempt});
}

/** Sends the change after a while; it has not failed. */
export function postpone(reason: string, delayMs: number): Postponed {
  return {what: 'postpone', reason, delayMs, isFailure: false, attempt: null, refusal: null};
}
