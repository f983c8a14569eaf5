// The next step of a change in doubt, decided by the records that a look found. Nothing is sent
// again blindly. Pure.

import {type Gone, isGone} from '../api/verdict.ts';
import type {KnownSubject} from '../changes/compose-request.ts';
import {isEchoOf, isSameValue} from '../rows/change-values.ts';
import {findRow, sendUpdate} from './decide-update.ts';
import {
  conflict,
  type Decision,
  type LeftToPerson,
  leaveGone,
  type Plan,
  sendUnread,
} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {finish} from './finish.ts';
import {kindsOf} from './kinds.ts';
import {isBeforeOthers, isPastLag, showsTheOld} from './older.ts';
import type {Candidates} from './recognize.ts';
import {findRemoteRow, type Remote, type RemoteRow} from './remote.ts';

/**
 * A create is sent twice at most: a constraint on its row says so. Updates and deletes may go more
 * often.
 */
const maxSends = {create: 2, update: 20, delete: 20} as const;
/** Looks that must have found nothing before a request counts as never arrived. */
const fewestLooks = 3;

/** Leaves to a person a change whose fate no reading can tell; null where one can. */
export function decideUnseen({change}: ChangeFacts): LeftToPerson | null {
  if (change.operation !== 'update' || !('password' in change.fields) || change.isWritten)
    return null;
  const step = `give it up (fieldmirror changes resolve ${change.changeId} service) and set it again`;
  return conflict(`no reading tells whether the password was set: ${step}; ${change.reason ?? ''}`);
}

/** @param reading - of the only record that the create can have made; null where there is none */
export function decideCreated(
  facts: ChangeFacts,
  {ours, older}: Candidates,
  reading: Remote | Gone | null,
): Decision {
  const [found, ...others] = ours;
  if (others.length > 0)
    return conflict(`several records could be it: ${ours.join(', ')}`, {
      result: {candidates: ours},
    });
  const number = found ?? facts.change.number;
  if (number === null) return lookAgainOrGiveUp(facts, {lookalikes: older});
  if (reading === null || isGone(reading) || findRemoteRow(facts, reading, number) === null)
    return lookAgainOrGiveUp(facts, {created: number});
  const {claimedAt: since, fields: sent} = facts.change;
  return finish(facts, {number, remote: reading, since, sent});
}

/** An update without effect so far is sent again at once. */
export function decideUpdated(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | Gone,
): Plan {
  const {change} = facts;
  const found = findRow(facts, subject, reading);
  const confirmed = change.isWritten ? change.fields : {};
  if (isBeforeOthers(facts, typeof found === 'string' ? null : found.row, confirmed))
    return lookAgain(facts);
  if (typeof found === 'string') return leaveGone(found);
  if (change.isWritten && !isPastLag(facts) && showsTheOld(facts, change, found.row))
    return lookAgain(facts);
  const names = Object.keys(change.fields);
  const {claimedAt: since, fields: sent} = change;
  if (change.isWritten || names.every((name) => hasArrived(facts, found.row, name)))
    return finish(facts, {number: subject.number, remote: found.remote, since, sent});
  const isUndone = names.every(
    (name) => hasArrived(facts, found.row, name) || isAsBefore(facts, found.row, name),
  );
  if (!isUndone || !mayGoAgain(facts)) return lookAgainOrGiveUp(facts);
  const again = sendUpdate(facts, subject, found);
  // Once its request can no longer arrive, it counts as never sent, and is held until a person has
  // looked.
  return isStopped(facts, again) ? lookAgainOrGiveUp(facts) : again;
}

/** Whether a request bears a kind of value that is stopped: it would not be sent. */
function isStopped(facts: ChangeFacts, plan: Plan): boolean {
  return (
    plan.what === 'send' &&
    kindsOf(facts, plan.fields).some((kind) => facts.change.stoppedKinds.includes(kind))
  );
}

/** A delete without effect so far is sent again at once. */
export function decideDeleted(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | Gone,
): Plan {
  const {number} = subject;
  const {claimedAt: since} = facts.change;
  const row = isGone(reading) ? null : findRemoteRow(facts, reading, number);
  if (row === null && isBeforeOthers(facts, null)) return lookAgain(facts);
  if (row === null) return finish(facts, {number, remote: null, since, sent: {}});
  return mayGoAgain(facts) ? sendUnread(subject, {}) : lookAgainOrGiveUp(facts);
}

/**
 * A value that stands as it was before is no echo of what was sent, however little the two differ.
 */
function hasArrived(facts: ChangeFacts, row: RemoteRow, name: string): boolean {
  const kind = facts.rules.get(name)?.kind ?? 'text';
  const {fields} = facts.change;
  const [sent, held] = [fields[name] ?? null, row.values[name] ?? null];
  if (isSameValue(kind, sent, held)) return true;
  return isEchoOf(kind, sent, held) && !isAsBefore(facts, row, name);
}

/**
 * A third value is another writer's: while the request may still arrive, its effect cannot be told.
 */
function isAsBefore({change, rules}: ChangeFacts, {values}: RemoteRow, name: string): boolean {
  const held = values[name];
  const {[name]: before = null} = change.base;
  return held !== undefined && isSameValue(rules.get(name)?.kind ?? 'text', before, held);
}

function mayGoAgain({change}: ChangeFacts): boolean {
  return !change.isWritten && change.sends < maxSends[change.operation];
}

/** The traces of a request whose effect was not found. */
interface Traces {
  /** Records that bear all that was sent, though they seem to have been there before. */
  readonly lookalikes?: readonly string[];
  /** The record that a create has made: it was there once, so the create is never sent again. */
  readonly created?: string;
}

/** Whether no request can still arrive: what this look does not find counts as never made. */
export function isLastLook({change, settle}: Pick<ChangeFacts, 'change' | 'settle'>): boolean {
  return (
    (change.requestEndedAgoMs ?? 0) >= settle.arrivalLimitMs && change.looks + 1 >= fewestLooks
  );
}

function lookAgainOrGiveUp(facts: ChangeFacts, traces: Traces = {}): Decision {
  return isLastLook(facts) ? giveUp(facts, traces) : lookAgain(facts, traces);
}

/** Reads the record again after a while, longer each time. */
export function lookAgain({change, settle}: ChangeFacts, traces: Traces = {}): Decision {
  const {lookDelaysMs} = settle;
  const delayMs = lookDelaysMs[Math.min(change.looks + 1, lookDelaysMs.length - 1)] ?? 0;
  const reason = change.reason ?? 'in doubt';
  return {
    what: 'doubt',
    reason,
    delayMs,
    number: traces.created ?? null,
    isLook: true,
    attempt: null,
  };
}

/** So much time has passed that no request can still arrive. */
function giveUp(facts: ChangeFacts, {lookalikes = [], created}: Traces): Decision {
  const {change, settle} = facts;
  const minutes = Math.round(settle.arrivalLimitMs / 60_000);
  if (created !== undefined)
    return conflict(
      `it was created as ${change.table} ${created}, and no reading shows it any more: ${change.reason ?? ''}`,
    );
  if (lookalikes.length > 0)
    return conflict(
      `it could be ${change.table} ${lookalikes.join(', ')}, which is all that was sent, but seems to have been there before`,
      {result: {candidates: lookalikes}},
    );
  if (mayGoAgain(facts))
    return {what: 'resend', reason: `no trace of it for ${minutes} minutes: it is sent once more`};
  return conflict(
    `sent ${change.sends} times, and no trace of it for ${minutes} minutes: ${change.reason ?? ''}`,
  );
}
