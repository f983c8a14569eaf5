// Finds the problems of an account that need a person: its sweeps, its changes, its drift.

import {listRecoveryCommands} from '../accounts/accounts.ts';
import type {LateChange, LateChanges} from '../changes/states.ts';
import {formatDuration, formatMinute, formatNumber} from '../core/format.ts';
import {quoteWord} from '../core/text.ts';
import type {AccountFacts, StreamFacts} from '../health/account-status.ts';
import {brokenSince, describeFreshness} from '../sweeps/freshness.ts';
import type {Problem} from './alerts.ts';

/**
 * A problem without account and stream. Unless it names its subject, there is only one of its kind.
 */
type ProblemDetails = Omit<Problem, 'account' | 'stream' | 'subject'> &
  Partial<Pick<Problem, 'subject'>>;

const dayMs = 86_400_000;
/** A nightly sweep that failed once is no alarm yet. */
const staleAfterMs = 2 * dayMs;
const mostNamedSchedules = 3;

/**
 * Finds the problems that need a person:
 * - an account that is stopped;
 * - a stream whose last full sweep failed;
 * - a sweep that waits for approval;
 * - records in quarantine;
 * - a sweep that waits until the warehouse has room;
 * - a stream with a schedule of full sweeps that was not proven complete for two days, or for two
 *   intervals of the schedule if that is longer; if it never was, the time counts from the day its
 *   account was added;
 * - changes made here that do not finish automatically, as defined by `listLateChanges`;
 * - schedules that have not run for two of their intervals;
 * - a promised freshness that is not kept, although its sweeps run.
 * A paused account was paused by a person, so nothing of it is late.
 * @param now - ISO 8601, by the database's clock
 * @param facts.hasWorker - whether a worker is alive, as far as is known
 */
export function findAccountProblems(
  accounts: readonly AccountFacts[],
  now: string,
  {hasWorker = false}: {readonly hasWorker?: boolean} = {},
): Problem[] {
  const overdue = describeOverdue(accounts, {now, hasWorker});
  return [
    ...accounts.flatMap((status) => [
      ...findAccountStop(status),
      ...findChangeProblems(status, now),
      ...status.streams.flatMap((stream) => findStreamProblems(status, stream, now)),
      ...findFreshnessProblems(status, now),
    ]),
    ...(overdue === null ? [] : [overdue]),
  ];
}

function findAccountStop({account}: AccountFacts): Problem[] {
  if (account.state !== 'stopped') return [];
  const text = `stopped since ${formatMinute(account.stateSince)}: ${account.stateReason}`;
  const next = listRecoveryCommands(account)
    .map(([command, does]) => `fieldmirror ${command} ${does}`)
    .join('; ');
  const scope = {account: account.name, stream: null, subject: ''};
  return [{...scope, kind: 'stopped-account', since: account.stateSince, text, next}];
}

/** One problem for each reason, each batch or each change. */
function findChangeProblems({account, late}: AccountFacts, now: string): Problem[] {
  return late.map((changes) => ({
    account: account.name,
    stream: null,
    kind: `change-${changes.lateness}`,
    subject: nameSubject(changes),
    since: changes.since,
    text: describeLate(
      changes,
      formatDuration(Math.max(0, Date.parse(now) - Date.parse(changes.since))),
    ),
    next: describeNextOfLate(changes),
  }));
}

function nameSubject(changes: LateChanges | LateChange): string {
  if ('subject' in changes) return changes.subject;
  return changes.batch === null ? '' : `batch ${changes.batch}`;
}

function findStreamProblems(status: AccountFacts, stream: StreamFacts, now: string): Problem[] {
  const problems = [
    describeFailure(stream),
    describeApproval(status, stream),
    describeQuarantine(stream),
    describeNoRoom(stream),
    describeUnproven(status, stream, now),
  ];
  const scope = {account: status.account.name, stream: stream.stream, subject: ''};
  return problems.flatMap((problem) => (problem === null ? [] : [{...scope, ...problem}]));
}

function describeFailure({lastEnded}: StreamFacts): ProblemDetails | null {
  if (lastEnded?.state !== 'failed') return null;
  const text = `the last full sweep failed: ${lastEnded.error}`;
  return {kind: 'failed', since: lastEnded.endedAt, text, next: null};
}

function describeApproval(
  {waiting}: AccountFacts,
  {stream, rows}: StreamFacts,
): ProblemDetails | null {
  const sweep = waiting.find((candidate) => candidate.stream === stream);
  if (sweep === undefined) return null;
  const {sweepId, endedAt} = sweep;
  const totalText = rows === null ? '' : ` of ${formatNumber(rows)}`;
  return {
    kind: 'approval',
    subject: sweepId,
    since: endedAt,
    text:
      `sweep ${sweepId} waits for approval: ` +
      `${formatNumber(sweep.rows)}${totalText} rows would be marked deleted`,
    next:
      `fieldmirror sweeps show ${sweepId}, and to let them through: ` +
      `fieldmirror sweeps approve ${sweepId}`,
  };
}

function describeQuarantine({quarantined}: StreamFacts): ProblemDetails | null {
  if (quarantined === 0) return null;
  const records = quarantined === 1 ? '1 record' : `${formatNumber(quarantined)} records`;
  const next = 'fieldmirror quarantine list shows what is wrong with them';
  return {kind: 'quarantine', since: null, text: `${records} in quarantine`, next};
}

/**
 * If a sweep waits with an error and no counted failure, it waits for room: only a lack of room is
 * not counted as a failure.
 */
function describeNoRoom({sweeps}: StreamFacts): ProblemDetails | null {
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
): ProblemDetails | null {
  const schedule = schedules.find(
    (candidate) => candidate.stream === stream && candidate.mode === 'full',
  );
  if (schedule === undefined || account.state !== 'active') return null;
  const ageMs = Date.parse(now) - Date.parse(provenAt ?? account.createdAt);
  if (ageMs <= Math.max(staleAfterMs, 2 * schedule.everyMs)) return null;
  const since = formatDuration(ageMs);
  const text =
    provenAt === null ? `never proven complete, in ${since}` : `not proven complete for ${since}`;
  const [reason] = lastEnded?.state === 'uncertified' ? lastEnded.reasons : [];
  const reasonText =
    reason === undefined ? null : `the last full sweep is uncertified, because ${reason}`;
  return {kind: 'unproven', since: provenAt ?? account.createdAt, text, next: reasonText};
}

/** A schedule that does not run at all is left out: it is reported separately. */
function findFreshnessProblems({account, promises, overdue}: AccountFacts, now: string): Problem[] {
  if (account.state !== 'active') return [];
  const overdueIds = new Set(overdue.map(({scheduleId}) => scheduleId));
  return promises.flatMap((promise) => {
    const {scheduleId, stream, lastError} = promise;
    const since = brokenSince(promise, now);
    if (since === null || overdueIds.has(scheduleId)) return [];
    const scope = {account: account.name, stream, kind: 'overdue' as const, subject: promise.name};
    const next =
      lastError === null
        ? `fieldmirror sweeps list ${stream} shows the last ones`
        : `the last sweep: ${lastError}`;
    return [{...scope, since, text: describeFreshness(promise, now), next}];
  });
}

/** One worker serves all accounts: its absence is one problem, not one for each schedule. */
function describeOverdue(
  accounts: readonly AccountFacts[],
  {now, hasWorker}: {readonly now: string; readonly hasWorker: boolean},
): Problem | null {
  const overdue = accounts.flatMap((status) => status.overdue);
  const [oldest] = overdue.toSorted((one, other) => (one.waitsSince < other.waitsSince ? -1 : 1));
  if (oldest === undefined) return null;
  const names = overdue
    .slice(0, mostNamedSchedules)
    .map(({accountName, name}) => `${accountName}: ${name}`);
  const more =
    overdue.length > names.length
      ? `, and ${formatNumber(overdue.length - names.length)} more`
      : '';
  const waitTime = formatDuration(Date.parse(now) - Date.parse(oldest.waitsSince));
  const schedulesText =
    overdue.length === 1 ? '1 schedule has' : `${formatNumber(overdue.length)} schedules have`;
  return {
    account: null,
    stream: null,
    kind: 'overdue',
    subject: '',
    since: oldest.waitsSince,
    text:
      `${schedulesText} not run for two intervals, ` +
      `the longest for ${waitTime} (${names.join('; ')}${more})`,
    next: hasWorker
      ? `does the service answer? fieldmirror accounts check ${quoteWord(oldest.accountName)}`
      : 'is a worker running? fieldmirror start',
  };
}

function describeLate(
  {lateness, count, changeId, reason, batch}: LateChanges,
  age: string,
): string {
  const isOne = count === 1;
  const batchText = batch === null ? '' : ` of the batch ${batch}`;
  const what = `${isOne ? `change ${changeId}` : `${formatNumber(count)} changes`}${batchText}`;
  const oldest = isOne ? '' : `, change ${changeId} the first of them`;
  const why = reason === null ? '' : `: ${reason}`;
  switch (lateness) {
    case 'conflict':
      return `${what} ${isOne ? 'needs' : 'need'} a decision${oldest}, for ${age}${why}`;
    case 'altered':
      return `${what} ${isOne ? 'was' : 'were'} altered by the service${oldest}, ${age} ago${why}`;
    case 'rejected':
      return `${what} ${isOne ? 'was' : 'were'} refused by the service${oldest}, ${age} ago${why}`;
    case 'in-doubt':
      return (
        `${what} ${isOne ? 'was' : 'were'} sent, and it is unknown whether ` +
        `${isOne ? 'it' : 'they'} arrived${oldest}, ${age} ago`
      );
    case 'failing':
      return `${what} ${isOne ? 'fails' : 'fail'} again and again${oldest}, for ${age}${why}`;
    case 'untaken':
      return (
        `${what} ${isOne ? 'is' : 'are'} due and no worker takes ` +
        `${isOne ? 'it' : 'them'} up${oldest}, for ${age}`
      );
    case 'held':
      return `${what} ${isOne ? 'is' : 'are'} held${oldest}, for ${age}${why}`;
  }
}

function describeNextOfLate({lateness, count, changeId, batch}: LateChanges): string {
  if (lateness === 'untaken')
    return 'is a worker running? fieldmirror start, or by hand: fieldmirror push';
  if (count === 1 || (lateness === 'failing' && batch === null))
    return `fieldmirror changes show ${changeId}`;
  const state =
    lateness === 'failing' ? 'pending' : lateness === 'in-doubt' ? 'in_doubt' : lateness;
  const batchOption = batch === null ? '' : ` --batch ${quoteWord(batch)}`;
  const list = `fieldmirror changes list --state ${state}${batchOption}`;
  return `${list}, then fieldmirror changes show ${changeId}`;
}

const eventWords = {
  new: 'a new field',
  vanished: 'no longer a field',
  retyped: 'a field with another type',
  returned: 'a field again',
} as const;

/**
 * Finds fields that are new, have vanished or changed their type within the last seven days. Only
 * the latest event of a field counts: a field that came back is no problem. `status` lists the
 * events themselves.
 */
export function findDrift(accounts: readonly AccountFacts[]): Problem[] {
  return accounts.flatMap(({account, events}) => {
    const latest = new Map(
      events.toReversed().map((event) => [`${event.table}.${event.field}`, event]),
    );
    return [...latest]
      .filter(([, {kind}]) => kind !== 'returned')
      .map(([field, {kind, detail, at}]) => ({
        account: account.name,
        stream: null,
        kind: 'drift' as const,
        subject: field,
        since: at,
        text: `the service sends ${eventWords[kind]}, ${field}: ${detail}`,
        next: 'does the business need it? docs/warehouse.md shows how a field becomes a column',
      }));
  });
}
