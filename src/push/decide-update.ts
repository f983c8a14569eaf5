// The next step of an update, decided by the service's record just before it is sent. Pure.

import {readDate} from '../api/retry.ts';
import {type Gone, isGone} from '../api/verdict.ts';
import type {KnownSubject} from '../changes/compose-request.ts';
import type {Narrowed} from '../changes/move-changes.ts';
import type {ChangeValues} from '../rows/change-values.ts';
import {conflict, leaveGone, type Plan} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {finish} from './finish.ts';
import {type Merge, mergeFields, type Sides} from './merge.ts';
import {isBeforeOthers, waitForNewer} from './older.ts';
import {findRemoteRow, type Remote, type RemoteRow} from './remote.ts';

/** A reading of an update's record. */
export interface ReadRow {
  readonly remote: Remote;
  readonly row: RemoteRow;
}

/** The row of a record that was just read; where it is absent, the words that say so. */
export function findRow(
  facts: ChangeFacts,
  {number}: KnownSubject,
  reading: Remote | Gone,
): ReadRow | string {
  if (isGone(reading)) return reading.words;
  const row = findRemoteRow(facts, reading, number);
  return row === null ? 'it is not in the list' : {remote: reading, row};
}

/**
 * Merges the change's fields with the reading, and sends the difference; a gone record is left to a
 * person. A reading that may be older than an earlier change of the record is taken again.
 */
export function decideUpdate(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | Gone,
): Plan {
  const found = findRow(facts, subject, reading);
  if (isBeforeOthers(facts, typeof found === 'string' ? null : found.row))
    return waitForNewer(facts.change.recentWrites.at(-1)?.agoMs ?? 0);
  return typeof found === 'string' ? leaveGone(found) : sendUpdate(facts, subject, found);
}

/** Merges the change's fields with the reading, and sends those that differ. */
export function sendUpdate(
  facts: ChangeFacts,
  subject: KnownSubject,
  {remote, row}: ReadRow,
): Plan {
  const merge = mergeFields(sidesOf(facts, remote, row));
  const {send: fields, unsent, conflicts} = merge;
  const undecided = conflicts.filter(({winner}) => winner === null);
  if (undecided.length > 0) {
    const names = undecided.map(({field}) => field).join(', ');
    return conflict(`changed on both sides: ${names}`, {conflicts});
  }
  if (Object.keys(fields).length === 0) {
    const since = facts.change.claimedAt;
    return finish(facts, {number: subject.number, remote, since, sent: {}, unsent, conflicts});
  }
  const narrowed = narrow(facts, merge, row);
  return {what: 'send', subject, fields, narrowed, conflicts, unsent, before: remote};
}

function sidesOf(
  {change, rules, writes, claimedMs}: ChangeFacts,
  remote: Remote,
  {values}: RemoteRow,
): Sides {
  return {
    fields: change.fields,
    base: change.base,
    remote: values,
    isServiceNewer: isServiceNewer({change, claimedMs}, remote, values),
    rules: change.undoes === null ? rules : overwriteNothing(rules),
    together: writes.together ?? [],
  };
}

/**
 * The rules for a change that takes others back: whatever somebody wrote at the service since is
 * theirs, and a person decides where the rule would have overwritten it.
 */
function overwriteNothing(rules: ChangeFacts['rules']): ChangeFacts['rules'] {
  return new Map(
    [...rules].map(([field, each]) => [
      field,
      {...each, rule: each.rule === 'service' ? 'service' : 'ask'},
    ]),
  );
}

/**
 * Whether the service's record was changed after the change was requested: its `updated_at` against
 * the `Date` of the document that shows it, less the time since the request. Null where the
 * document does not tell both.
 */
function isServiceNewer(
  {change, claimedMs}: Pick<ChangeFacts, 'change' | 'claimedMs'>,
  {askedAt, dateHeader}: Remote,
  {updated_at: at}: ChangeValues,
): boolean | null {
  const shownMs = readDate(dateHeader);
  if (typeof at !== 'string' || shownMs === null) return null;
  const wishedAgoMs =
    Date.parse(change.claimedAt) - Date.parse(change.requestedAt) + askedAt - claimedMs;
  return Date.parse(at) > shownMs - wishedAgoMs;
}

/** The change's fields after conflict rules: lost fields removed, members of a group added. */
function narrow(
  {change}: ChangeFacts,
  {send: sent, lost, conflicts}: Merge,
  {values}: RemoteRow,
): Narrowed | null {
  if (conflicts.length === 0) return null;
  const kept = Object.entries(change.fields).filter(([name]) => !lost.includes(name));
  const base = Object.fromEntries(
    conflicts.map(({field}) => [field, values[field] ?? null] as const),
  );
  return {fields: {...Object.fromEntries(kept), ...sent}, base};
}
