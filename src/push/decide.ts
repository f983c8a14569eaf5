// Decides the next step of a change: by the service's record just before an update is sent, by the
// answer to a request, or by the records that a look found. A certain answer ends the change, or
// lets it be sent later. Otherwise the change is in doubt. It is not sent again before a look, and
// nothing is sent again blindly. All functions are pure.

import type {WriteResult} from '../api/client.ts';
import {isMissingRecord, type MissingRecord} from '../api/verdict.ts';
import type {AttemptEnd, Begun, Narrowed} from '../changes/move-changes.ts';
import type {KnownSubject} from '../changes/request.ts';
import {AccessError, RetryableError} from '../core/errors.ts';
import {readDate} from '../core/pauses.ts';
import {type ChangeValues, isEchoOf, isSameValue} from '../rows/change-values.ts';
import {
  type Candidates,
  isBeforeRecentWrites,
  isPastLag,
  type Merge,
  mergeFields,
  type Sides,
  showsOldValues,
  waitForNewer,
} from './compare.ts';
import {
  type ChangeFacts,
  createConflict,
  type Decision,
  doubt,
  type EndedAttempt,
  findRemoteRow,
  findStoppedKind,
  finish,
  leaveMissing,
  listModifiedColumns,
  type Plan,
  type Remote,
  type RemoteRow,
  type SendPlan,
  sendUnread,
  tryLater,
} from './decision.ts';

/** A reading of an update's record. */
interface ReadRow {
  readonly remote: Remote;
  readonly row: RemoteRow;
}

/**
 * Merges the change's fields with the reading, and sends the difference. If the record no longer
 * exists, the change is left to a person. If the reading may be older than an earlier change of the
 * record, the record is read again later.
 */
export function decideUpdate(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | MissingRecord,
): Plan {
  const rowOrReason = findRow(facts, subject, reading);
  if (isBeforeRecentWrites(facts, typeof rowOrReason === 'string' ? null : rowOrReason.row))
    return waitForNewer(facts.change.recentWrites.at(-1)?.agoMs ?? 0);
  return typeof rowOrReason === 'string'
    ? leaveMissing(rowOrReason)
    : sendUpdate(facts, subject, rowOrReason);
}

/**
 * Sends a delete. If somebody else changed the record unseen by the delete's author, it is left to
 * a person.
 */
export function decideDelete({change}: ChangeFacts, subject: KnownSubject): Plan {
  if (change.seen === null) return sendUnread(subject, {});
  const names = Object.keys(change.seen).sort().join(', ');
  return createConflict(`changed by somebody else since its author had read it: ${names}`);
}

/**
 * Sends a delete whose record shows the values that its author knew. If it shows others, the delete
 * is left to a person. A reading without the record proves nothing: the service decides.
 */
export function decideComparedDelete(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | MissingRecord,
): Plan {
  const rowOrReason = findRow(facts, subject, reading);
  if (typeof rowOrReason === 'string') return sendUnread(subject, {});
  const {change, rules} = facts;
  const {row} = rowOrReason;
  if (isBeforeRecentWrites(facts, row)) return waitForNewer(change.recentWrites.at(-1)?.agoMs ?? 0);
  const names = Object.entries(change.base).flatMap(([name, known]) => {
    const {[name]: shown} = row.values;
    const kind = rules.get(name)?.kind ?? 'text';
    return shown === undefined || isSameValue(kind, known, shown) ? [] : [name];
  });
  if (names.length === 0) return sendUnread(subject, {});
  return createConflict(
    `changed at the service since its author had read it: ${names.sort().join(', ')}`,
  );
}

/**
 * Finds the row of a record that was just read; returns words that report its absence if there is
 * none.
 */
function findRow(
  facts: ChangeFacts,
  {number}: KnownSubject,
  reading: Remote | MissingRecord,
): ReadRow | string {
  if (isMissingRecord(reading)) return reading.message;
  const row = findRemoteRow(facts, reading, number);
  return row === null ? 'it is not in the list' : {remote: reading, row};
}

/** Merges the change's fields with the reading, and sends those that differ. */
function sendUpdate(facts: ChangeFacts, subject: KnownSubject, {remote, row}: ReadRow): Plan {
  const merge = mergeFields(collectSides(facts, remote, row));
  const {send: fields, unsent, conflicts} = merge;
  const undecided = conflicts.filter(({winner}) => winner === null);
  if (undecided.length > 0) {
    const names = undecided.map(({field}) => field).join(', ');
    return createConflict(`changed on both sides: ${names}`, {conflicts});
  }
  if (Object.keys(fields).length === 0) {
    const since = facts.change.claimedAt;
    const {number} = subject;
    const modifiedColumns = listModifiedColumns(facts, number, remote, remote);
    return finish(facts, {
      number,
      remote,
      since,
      sent: {},
      made: modifiedColumns,
      unsent,
      conflicts,
    });
  }
  const narrowed = narrow(facts, merge, row);
  return {what: 'send', subject, fields, narrowed, conflicts, unsent, before: remote};
}

function collectSides(
  {change, rules, claimedMs}: ChangeFacts,
  remote: Remote,
  {values}: RemoteRow,
): Sides {
  return {
    fields: change.fields,
    base: {...change.base, ...change.seen},
    held: change.base,
    remote: values,
    isServiceNewer: isServiceNewer({change, claimedMs}, remote, values),
    rules: change.undoes === null ? rules : forbidOverwriting(rules),
  };
}

/**
 * The rules for a change that takes others back. Values that somebody has written at the service
 * since are kept: if the rule would overwrite them, a person decides.
 */
function forbidOverwriting(rules: ChangeFacts['rules']): ChangeFacts['rules'] {
  return new Map(
    [...rules].map(([field, fieldRule]) => [
      field,
      {...fieldRule, rule: fieldRule.rule === 'service' ? 'service' : 'ask'},
    ]),
  );
}

/**
 * Whether the service's record was changed after the change was requested. It compares the record's
 * `updated_at` with the `Date` of the document that shows it, less the time since the request. Null
 * if the document lacks one of the two.
 */
function isServiceNewer(
  {change, claimedMs}: Pick<ChangeFacts, 'change' | 'claimedMs'>,
  {requestedAt, dateHeader}: Remote,
  {updated_at: updatedAt}: ChangeValues,
): boolean | null {
  const shownMs = readDate(dateHeader);
  if (typeof updatedAt !== 'string' || shownMs === null) return null;
  const requestedAgoMs =
    Date.parse(change.claimedAt) - Date.parse(change.requestedAt) + requestedAt - claimedMs;
  return Date.parse(updatedAt) > shownMs - requestedAgoMs;
}

/**
 * The change's fields after conflict rules: lost fields removed, members of a group added. From now
 * on, fields that were compared with what the author had seen have the reading as their base.
 */
function narrow(
  {change}: ChangeFacts,
  {send: sent, lost, conflicts}: Merge,
  {values}: RemoteRow,
): Narrowed | null {
  const seenEntries = Object.entries(change.seen ?? {});
  if (conflicts.length === 0 && seenEntries.length === 0) return null;
  const remainingFields = Object.entries(change.fields).filter(([name]) => !lost.includes(name));
  const base = Object.fromEntries([
    ...seenEntries.map(([field, value]) => [
      field,
      field in values ? (values[field] ?? null) : value,
    ]),
    ...conflicts.map(({field}) => [field, values[field] ?? null]),
  ]);
  return {fields: {...Object.fromEntries(remainingFields), ...sent}, base};
}

type Written = Extract<WriteResult, {outcome: 'done'}>;

type Refused = Extract<WriteResult, {outcome: 'refused'}>;

/** A request that has ended, and the reading of its record afterwards. */
export interface SendOutcome {
  readonly plan: SendPlan;
  readonly begun: Begun;
  readonly result: WriteResult;
  /** The number of the record that a create made, if the answer contained it. */
  readonly created: string | null;
  /** The record after it was written; null for a delete, and if it could not be read. */
  readonly after: Remote | null;
}

/** The decision on a change whose request has ended. */
export function decide(facts: ChangeFacts, outcome: SendOutcome): Decision {
  const {result, begun} = outcome;
  switch (result.outcome) {
    case 'done':
      return decideWritten(facts, outcome, result);
    case 'refused':
      return decideRefused(facts, outcome, result);
    case 'not-sent': {
      const {reason} = result;
      const attempt = toEndedAttempt(begun, {outcome: 'not-sent', status: null, answer: reason});
      return tryLater(facts, {reason, attempt});
    }
    case 'in-doubt': {
      const {reason, status, retryAfterMs} = result;
      const attempt = toEndedAttempt(begun, {outcome: 'in-doubt', status, answer: reason});
      return doubt(facts, {reason, retryAfterMs, attempt});
    }
  }
}

/**
 * If the record of a change cannot be read, the change stays in doubt: the record is read later,
 * and the change is never sent again.
 */
function decideWritten(facts: ChangeFacts, outcome: SendOutcome, {status}: Written): Decision {
  const {plan, begun, created, after} = outcome;
  const {subject, fields: sent, unsent} = plan;
  const attempt = toEndedAttempt(begun, {outcome: 'done', status, answer: null});
  const doubtUnread = (reason: string, number: string | null = null) =>
    doubt(facts, {reason, number, attempt});
  const doneFacts = {since: begun.startedAt, sent, unsent, attempt};
  if (subject.operation === 'delete')
    return finish(facts, {...doneFacts, number: subject.number, remote: null});
  if (subject.operation === 'update') {
    if (after === null) return doubtUnread('it was written, and could not be read back');
    const row = findRemoteRow(facts, after, subject.number);
    const base = {...facts.change.base, ...plan.narrowed?.base};
    if (
      isBeforeRecentWrites(facts, row, sent) ||
      (row !== null && showsOldValues(facts, {fields: sent, base}, row))
    )
      return doubtUnread('it was written, and the record still showed the old value');
    const {number} = subject;
    const modifiedColumns = plan.before && listModifiedColumns(facts, number, plan.before, after);
    return finish(facts, {...doneFacts, number, remote: after, made: modifiedColumns});
  }
  if (created === null)
    return doubtUnread('the service created it, and did not say under which number');
  if (after === null || findRemoteRow(facts, after, created) === null)
    return doubtUnread(`it was created as ${created}, and could not be read back`, created);
  return finish(facts, {...doneFacts, number: created, remote: after, made: 'all'});
}

function decideRefused(facts: ChangeFacts, {plan, begun}: SendOutcome, refused: Refused): Decision {
  const {error, message, status, isGone} = refused;
  const attempt = toEndedAttempt(begun, {outcome: 'refused', status, answer: message});
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
  if (!isGone)
    return {what: 'reject', message: `${status}: ${message}`, remote: plan.before, attempt};
  const {subject} = plan;
  switch (subject.operation) {
    case 'create':
      return {what: 'reject', message, remote: null, attempt};
    case 'update':
      return leaveMissing(message, attempt);
    case 'delete':
      // The record no longer exists, as the delete wanted.
      return finish(facts, {
        number: subject.number,
        remote: null,
        since: begun.startedAt,
        sent: {},
        attempt,
      });
  }
}

function toEndedAttempt({attemptId}: Begun, end: AttemptEnd): EndedAttempt {
  return {attemptId, end};
}

/**
 * A create is sent twice at most, which a constraint on its row enforces. Updates and deletes may
 * be sent more often.
 */
const maxSends = {create: 2, update: 20, delete: 20} as const;
/** How many checks must have found nothing before a request counts as never arrived. */
const fewestChecks = 3;

/** @param reading - of the only record that the create can have made; null if there is none */
export function decideCreated(
  facts: ChangeFacts,
  {ours, older}: Candidates,
  reading: Remote | MissingRecord | null,
): Decision {
  const [candidate, ...otherCandidates] = ours;
  if (otherCandidates.length > 0)
    return createConflict(`several records could be it: ${ours.join(', ')}`, {
      result: {candidates: ours},
    });
  const number = candidate ?? facts.change.number;
  if (number === null) return checkAgainOrGiveUp(facts, {lookalikes: older});
  if (
    reading === null ||
    isMissingRecord(reading) ||
    findRemoteRow(facts, reading, number) === null
  )
    return checkAgainOrGiveUp(facts, {created: number});
  const {claimedAt: since, fields: sent} = facts.change;
  return finish(facts, {number, remote: reading, since, sent});
}

/** Decides on an update in doubt; if it has had no effect so far, it is sent again at once. */
export function decideUpdated(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | MissingRecord,
): Plan {
  const {change} = facts;
  const rowOrReason = findRow(facts, subject, reading);
  const confirmed = change.isWritten ? change.fields : {};
  if (
    isBeforeRecentWrites(facts, typeof rowOrReason === 'string' ? null : rowOrReason.row, confirmed)
  )
    return checkAgain(facts);
  if (typeof rowOrReason === 'string') return leaveMissing(rowOrReason);
  if (change.isWritten && !isPastLag(facts) && showsOldValues(facts, change, rowOrReason.row))
    return checkAgain(facts);
  const names = Object.keys(change.fields);
  const {claimedAt: since, fields: sent} = change;
  if (change.isWritten || names.every((name) => hasArrived(facts, rowOrReason.row, name)))
    return finish(facts, {number: subject.number, remote: rowOrReason.remote, since, sent});
  const isUndone = names.every(
    (name) => hasArrived(facts, rowOrReason.row, name) || isAsBefore(facts, rowOrReason.row, name),
  );
  if (!isUndone || !maySendAgain(facts)) return checkAgainOrGiveUp(facts);
  const nextPlan = sendUpdate(facts, subject, rowOrReason);
  // A stopped update is not sent again here. Once its request can no longer arrive, it counts as
  // never sent, and is held until a person has checked.
  const isStopped =
    nextPlan.what === 'send' && findStoppedKind(facts, nextPlan.fields) !== undefined;
  return isStopped ? checkAgainOrGiveUp(facts) : nextPlan;
}

/** Decides on a delete in doubt; if it has had no effect so far, it is sent again at once. */
export function decideDeleted(
  facts: ChangeFacts,
  subject: KnownSubject,
  reading: Remote | MissingRecord,
): Plan {
  const {number} = subject;
  const {claimedAt: since} = facts.change;
  const row = isMissingRecord(reading) ? null : findRemoteRow(facts, reading, number);
  if (row === null && isBeforeRecentWrites(facts, null)) return checkAgain(facts);
  if (row === null) return finish(facts, {number, remote: null, since, sent: {}});
  return maySendAgain(facts) ? sendUnread(subject, {}) : checkAgainOrGiveUp(facts);
}

/**
 * Whether the service holds the value that was sent, or an echo of it. A value that is the same as
 * before the change is no echo, however little the two differ.
 */
function hasArrived(facts: ChangeFacts, row: RemoteRow, name: string): boolean {
  const kind = facts.rules.get(name)?.kind ?? 'text';
  const {fields} = facts.change;
  const [sent, current] = [fields[name] ?? null, row.values[name] ?? null];
  if (isSameValue(kind, sent, current)) return true;
  return isEchoOf(kind, sent, current) && !isAsBefore(facts, row, name);
}

/**
 * Whether the service still holds the value from before the change. A third value is another
 * writer's: while the request may still arrive, its effect is unknown.
 */
function isAsBefore({change, rules}: ChangeFacts, {values}: RemoteRow, name: string): boolean {
  const current = values[name];
  const {[name]: before = null} = change.base;
  return current !== undefined && isSameValue(rules.get(name)?.kind ?? 'text', before, current);
}

function maySendAgain({change}: ChangeFacts): boolean {
  return !change.isWritten && change.sends < maxSends[change.operation];
}

/** The traces of a request whose effect was not found. */
interface Traces {
  /** Records that contain all that was sent, though they seem to have existed before. */
  readonly lookalikes?: readonly string[];
  /** The record that a create has made. It existed once, so the create is never sent again. */
  readonly created?: string;
}

/**
 * Whether no request can still arrive: an effect that this look does not find counts as never made.
 */
export function isLastCheck({change, settle}: Pick<ChangeFacts, 'change' | 'settle'>): boolean {
  return (
    (change.requestEndedAgoMs ?? 0) >= settle.arrivalLimitMs && change.checks + 1 >= fewestChecks
  );
}

function checkAgainOrGiveUp(facts: ChangeFacts, traces: Traces = {}): Decision {
  return isLastCheck(facts) ? giveUp(facts, traces) : checkAgain(facts, traces);
}

/** Lets the record be read again after a while, longer each time. */
export function checkAgain({change, settle}: ChangeFacts, traces: Traces = {}): Decision {
  const {checkDelaysMs} = settle;
  const next = Math.min(change.checks + 1, checkDelaysMs.length - 1);
  const delayMs = checkDelaysMs[next] ?? 0;
  const reason = change.reason ?? 'in doubt';
  return {
    what: 'doubt',
    reason,
    delayMs,
    number: traces.created ?? null,
    isCheck: true,
    attempt: null,
  };
}

/** Decides on a change for which so much time has passed that no request can still arrive. */
function giveUp(facts: ChangeFacts, {lookalikes = [], created}: Traces): Decision {
  const {change, settle} = facts;
  const minutes = Math.round(settle.arrivalLimitMs / 60_000);
  if (created !== undefined)
    return createConflict(
      `it was created as ${change.table} ${created}, ` +
        `and readings no longer show it: ${change.reason ?? ''}`,
    );
  if (lookalikes.length > 0)
    return createConflict(
      `it could be ${change.table} ${lookalikes.join(', ')}, which is all that was sent, ` +
        'but seems to have been there before',
      {result: {candidates: lookalikes}},
    );
  if (maySendAgain(facts))
    return {what: 'resend', reason: `no trace of it for ${minutes} minutes: it is sent again`};
  return createConflict(
    `sent ${change.sends} times, and no trace of it for ${minutes} minutes: ${change.reason ?? ''}`,
  );
}
