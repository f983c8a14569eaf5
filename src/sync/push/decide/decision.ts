// What a step leads to: a request to send, or what is to be written of the change. Both are values; nothing has happened yet.

import type {AccessError} from '../../../base/errors.ts';
import type {ChangeResult, ChangeValues} from '../../../warehouse/changes/change.ts';
import type {KeptConflict} from '../../../warehouse/changes/conflicts.ts';
import type {AttemptEnd, Narrowed} from '../../../warehouse/changes/move-changes.ts';
import type {Subject} from '../send/request.ts';
import type {Remote} from './remote.ts';

/** A request that ended, to be noted with what came of it. */
export interface EndedAttempt {
  readonly attemptId: string;
  readonly end: AttemptEnd;
}

/** A request to send, and what it rests on. */
export interface SendPlan {
  readonly what: 'send';
  readonly subject: Subject;
  readonly fields: ChangeValues;
  /** What is wanted from now on, where a rule has decided conflicts. */
  readonly narrowed: Narrowed | null;
  readonly conflicts: readonly KeptConflict[];
  /** Wanted fields that the service holds already. */
  readonly unsent: readonly string[];
  /** What the service held before, to put back into the row when it refuses; null where nothing was read. */
  readonly before: Remote | null;
}

/** The change is done. */
export interface Done {
  readonly what: 'done';
  readonly number: string;
  /** Null where there is no record any more. */
  readonly remote: Remote | null;
  /** What the service holds now of the row itself. */
  readonly values: ChangeValues;
  /** The record itself is gone, though that which it hung on may be there. */
  readonly isGone: boolean;
  /** By the database's clock, before the record of the service was asked for. */
  readonly since: string;
  readonly result: ChangeResult | null;
  readonly conflicts: readonly KeptConflict[];
  readonly attempt: EndedAttempt | null;
}

/** The service refused it. */
export interface Rejected {
  readonly what: 'reject';
  readonly words: string;
  /** What the row shows again; null where nothing was read. */
  readonly remote: Remote | null;
  readonly attempt: EndedAttempt | null;
}

/** A person decides. */
export interface LeftToPerson {
  readonly what: 'conflict';
  readonly reason: string;
  readonly conflicts: readonly KeptConflict[];
  readonly result: ChangeResult | null;
  readonly attempt: EndedAttempt | null;
}

/** Nobody knows whether it was written: it is looked for after a while. */
export interface InDoubt {
  readonly what: 'doubt';
  readonly reason: string;
  readonly delayMs: number;
  /** Of the record, where the answer told it. */
  readonly number: string | null;
  /** The change was looked for, and nothing was found. */
  readonly isLook: boolean;
  readonly attempt: EndedAttempt | null;
}

/** Nothing was written; it is sent after a while. */
export interface Postponed {
  readonly what: 'postpone';
  readonly reason: string;
  readonly delayMs: number;
  readonly isFailure: boolean;
  readonly attempt: EndedAttempt | null;
  /** The account's token is refused: thrown once that is written. */
  readonly refusal: AccessError | null;
}

/** It bears a kind of value that the service altered: it waits for a person to look at that. */
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

/** What is to be written of a change. */
export type Decision = Done | Rejected | LeftToPerson | InDoubt | Postponed | Held | Resent;

export type Plan = SendPlan | Decision;

/** Sends what nothing need be read for: a create, or a delete. */
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
