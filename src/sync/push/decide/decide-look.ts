// The next step of a change in doubt, decided by the records that a look found. Nothing is sent again
// blindly. Pure.

import {type Gone, isGone} from '../../../api/resources/verdict.ts';
import type {KnownSubject} from '../send/request.ts';
import {findRow, sendUpdate} from './decide-update.ts';
import {conflict, type Decision, type LeftToPerson, leaveGone, type Plan, sendUnread} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {finish} from './finish.ts';
import type {Candidates} from './recognize.ts';
import {findRemoteRow, type Remote, type RemoteRow} from './remote.ts';
import {isEchoOf, isSameValue} from './same-value.ts';

/** A create is sent twice at most: a constraint on its row says so. Updates and deletes may go more often. */
const maxSends = {create: 2, update: 20, delete: 20} as const;
/** Looks that must have found nothing before a request counts as never arrived. */
const fewestLooks = 3;

/** Leaves to a person a change whose fate no reading can tell; null where one can. */
export function decideUnseen({change}: ChangeFacts): LeftToPerson | null {
  if (change.operation !== 'update' || !('password' in change.fields) || change.isWritten) return null;
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
    return conflict(`several records could be it: ${ours.join(', ')}`, {result: {candidates: ours}});
  const number = found ?? facts.change.number;
  if (number === null) return lookAgainOrGiveUp(facts, {lookalikes: older});
  if (reading === null || isGone(reading) || findRemoteRow(facts, reading, number) === null)
    return lookAgainOrGiveUp(facts, {created: number});
  const {claimedAt: since, fields: sent} = facts.change;
  return finish(facts, {number, remote: reading, since, sent});
}

/** An update without effect so far is sent again at once. */
export function decideUpdated(facts: ChangeFacts, subject: KnownSubject, reading: Remote | Gone): Plan {
  const {change} = facts;
  const found = findRow(facts, subject, reading);
  if (typeof found === 'string') return leaveGone(found);
  const names = Object.keys(change.fields);
  const {claimedAt: since, fields: sent} = change;
  if (change.isWritten || names.every((name) => hasArrived(facts, found.row, name)))
    return finish(facts, {number: subject.number, remote: found.remote, since, sent});
  const isUndone = names.every(
    (name) => hasArrived(facts, found.row, name) || isAsBefore(facts, found.row, name),
  );
  return isUndone && mayGoAgain(facts) ? sendUpdate(facts, subject, found) : lookAgainOrGiveUp(facts);
}

/** A delete without effect so far is sent again at once. */
export function decideDeleted(facts: ChangeFacts, subject: KnownSubject, reading: Remote | Gone): Plan {
  const {number} = subject;
  const {claimedAt: since} = facts.change;
  if (isGone(reading) || findRemoteRow(facts, reading, number) === null)
    return finish(facts, {number, remote: null, since, sent: {}});
  return mayGoAgain(facts) ? sendUnread(subject, {}) : lookAgainOrGiveUp(facts);
}

function hasArrived({change, rules}: ChangeFacts, {values}: RemoteRow, name: string): boolean {
  return isEchoOf(rules.get(name)?.kind ?? 'text', change.fields[name] ?? null, values[name] ?? null);
}

/** A third value is another writer's: while the request may still arrive, its effect cannot be told. */
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
  return (change.requestEndedAgoMs ?? 0) >= settle.arrivalLimitMs && change.looks + 1 >= fewestLooks;
}

function lookAgainOrGiveUp(facts: ChangeFacts, traces: Traces = {}): Decision {
  const {change, settle} = facts;
  const {lookDelaysMs} = settle;
  if (isLastLook(facts)) return giveUp(facts, traces);
  const delayMs = lookDelaysMs[Math.min(change.looks + 1, lookDelaysMs.length - 1)] ?? 0;
  const reason = change.reason ?? 'in doubt';
  return {what: 'doubt', reason, delayMs, number: traces.created ?? null, isLook: true, attempt: null};
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
