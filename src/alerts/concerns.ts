import {listWaysOn} from '../accounts/accounts.ts';
import type {Cause} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import type {AccountFacts, StreamFacts} from '../health/account-status.ts';
import {brokenSince, tellFreshness} from '../sweeps/freshness.ts';
import {describeLateChanges} from './change-concerns.ts';

/** Something that does not mend itself: a person must look, decide or act. */
export interface Concern {
  /** Name of the account; null where it is about the worker. */
  readonly account: string | null;
  readonly stream: string | null;
  readonly kind: Cause;
  /**
   * Tells it from others of its kind, account and stream: number of a sweep or change, a table, a
   * field. Empty where there is but one, or where several are told together.
   */
  readonly subject: string;
  /** Since when it is so: ISO 8601; null where that is not known. */
  readonly since: string | null;
  /** The concern in words. */
  readonly text: string;
  /** The next step: a command, or where to look. Null where the text says it. */
  readonly next: string | null;
}

/** A concern without its place; there is but one of the kind, unless it names its subject. */
type Matter = Pick<Concern, 'kind' | 'text' | 'next' | 'since'> & Partial<Pick<Concern, 'subject'>>;

const dayMs = 86_400_000;
/** A nightly sweep that failed once is no alarm yet. */
const staleAfterMs = 2 * dayMs;
const namedSchedules = 3;

/**
 * Finds the concerns that need a person:
 * - an account that is stopped;
 * - a stream whose last full sweep failed;
 * - a sweep that waits for approval;
 * - records in quarantine;
 * - a sweep that waits until the warehouse has room;
 * - a stream that is swept in full by schedule, and was not proven complete for two days, or for
 *   two intervals of its
 *   schedule where that is longer; one that never was counts from the day its account was added;
 * - changes made here that do not come to their end by themselves: `listLateChanges` says which;
 * - schedules that have not run for two of their intervals;
 * - a freshness that was promised and is not kept, though its sweeps come round.
 * A paused account was paused by a person: nothing of it is late.
 * @param now - ISO 8601, by the database's clock
 */
export function findConcerns(accounts: readonly AccountFacts[], now: string): Concern[] {
  const overdue = describeOverdue(accounts, now);
  return [
    ...accounts.flatMap((status) => [
      ...concernsOfAccount(status),
      ...concernsOfChanges(status, now),
      ...status.streams.flatMap((stream) => concernsOfStream(status, stream, now)),
      ...concernsOfPromises(status, now),
    ]),
    ...(overdue === null ? [] : [overdue]),
  ];
}

function concernsOfAccount({account}: AccountFacts): Concern[] {
  if (account.state !== 'stopped') return [];
  const text = `stopped since ${formatMinute(account.stateSince)}: ${account.stateReason}`;
  const next = listWaysOn(account)
    .map(([command, does]) => `fieldmirror ${command} ${does}`)
    .join('; ');
  const place = {account: account.name, stream: null, subject: ''};
  return [{...place, kind: 'stopped-account', since: account.stateSince, text, next}];
}

function concernsOfChanges({account, late}: AccountFacts, now: string): Concern[] {
  return describeLateChanges(late, now).map((matter) => ({
    account: account.name,
    stream: null,
    ...matter,
  }));
}

function concernsOfStream(status: AccountFacts, stream: StreamFacts, now: string): Concern[] {
  const matters = [
    describeFailure(stream),
    describeApproval(status, stream),
    describeQuarantine(stream),
    describeNoRoom(stream),
    describeUnproven(status, stream, now),
  ];
  const place = {account: status.account.name, stream: stream.stream, subject: ''};
  return matters.flatMap((matter) => (matter === null ? [] : [{...place, ...matter}]));
}

function describeFailure({lastEnded}: StreamFacts): Matter | null {
  if (lastEnded?.state !== 'failed') return null;
  const text = `the last full sweep failed: ${lastEnded.error}`;
  return {kind: 'failed', since: lastEnded.endedAt, text, next: null};
}

function describeApproval({waiting}: AccountFacts, {stream, rows}: StreamFacts): Matter | null {
  const sweep = waiting.find((each) => each.stream === stream);
  if (sweep === undefined) return null;
  const {sweepId, endedAt} = sweep;
  const all = rows === undefined ? '' : ` of ${formatNumber(rows)}`;
  return {
    kind: 'approval',
    subject: sweepId,
    since: endedAt,
    text: `sweep ${sweepId} waits for approval: ${formatNumber(sweep.rows)}${all} rows would be marked deleted`,
    next: `fieldmirror sweeps show ${sweepId}, and to let them through: fieldmirror sweeps approve ${sweepId}`,
  };
}

function describeQuarantine({quarantined}: StreamFacts): Matter | null {
  if (quarantined === 0) return null;
  const records = quarantined === 1 ? '1 record' : `${formatNumber(quarantined)} records`;
  const next = 'fieldmirror quarantine list tells what is wrong with them';
  return {kind: 'quarantine', since: null, text: `${records} in quarantine`, next};
}

/** Among sweeps that wait with an error, only a want of room is not counted as a failure. */
function describeNoRoom({sweeps}: StreamFacts): Matter | null {
  const waiting = sweeps.find(
    ({state, error, failures}) => state === 'due' && error !== null && failures === 0,
  );
  if (waiting === undefined) return null;
  return {
    kind: 'no-room',
    since: null,
    text: `sweep ${waiting.sweepId} waits: ${waiting.error}`,
    next: null,
  };
}

function describeUnproven(
  {account, schedules}: AccountFacts,
  {stream, provenAt, lastEnded}: StreamFacts,
  now: string,
): Matter | null {
  const schedule = schedules.find((each) => each.stream === stream && each.mode === 'full');
  if (schedule === undefined || account.state !== 'active') return null;
  const ageMs = Date.parse(now) - Date.parse(provenAt ?? account.createdAt);
  if (ageMs <= Math.max(staleAfterMs, 2 * schedule.everyMs)) return null;
  const since = formatDuration(ageMs);
  const text =
    provenAt === null ? `never proven complete, in ${since}` : `not proven complete for ${since}`;
  const [reason] = lastEnded?.state === 'uncertified' ? lastEnded.reasons : [];
  const why = reason === undefined ? null : `the last full sweep is uncertified, because ${reason}`;
  return {kind: 'unproven', since: provenAt ?? account.createdAt, text, next: why};
}

/** A schedule that does not run at all is told as such. */
function concernsOfPromises({account, promises, overdue}: AccountFacts, now: string): Concern[] {
  if (account.state !== 'active') return [];
  const waiting = new Set(overdue.map(({scheduleId}) => scheduleId));
  return promises.flatMap((promise) => {
    const {scheduleId, stream, trouble} = promise;
    const since = brokenSince(promise, now);
    if (since === null || waiting.has(scheduleId)) return [];
    const place = {account: account.name, stream, kind: 'overdue' as const, subject: promise.name};
    const next =
      trouble === null
        ? `fieldmirror sweeps list ${stream} shows the last ones`
        : `the last look: ${trouble}`;
    return [{...place, since, text: tellFreshness(promise, now), next}];
  });
}

/** One worker serves all accounts: its absence is one concern, not one for each schedule. */
function describeOverdue(accounts: readonly AccountFacts[], now: string): Concern | null {
  const overdue = accounts.flatMap((status) => status.overdue);
  const [oldest] = overdue.toSorted((one, other) => (one.waitsSince < other.waitsSince ? -1 : 1));
  if (oldest === undefined) return null;
  const names = overdue
    .slice(0, namedSchedules)
    .map(({accountName, name}) => `${accountName}: ${name}`);
  const more =
    overdue.length > names.length
      ? `, and ${formatNumber(overdue.length - names.length)} more`
      : '';
  const waits = formatDuration(Date.parse(now) - Date.parse(oldest.waitsSince));
  const what =
    overdue.length === 1 ? '1 schedule has' : `${formatNumber(overdue.length)} schedules have`;
  return {
    account: null,
    stream: null,
    kind: 'overdue',
    subject: '',
    since: oldest.waitsSince,
    text: `${what} not run for two intervals, the longest for ${waits} (${names.join('; ')}${more})`,
    next: 'is a worker running? fieldmirror start',
  };
}

/** `2026-11-02 08:15 UTC` */
function formatMinute(instant: string): string {
  return `${instant.slice(0, 16).replace('T', ' ')} UTC`;
}
