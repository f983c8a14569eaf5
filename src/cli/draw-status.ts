// How `status` looks: a few accounts have a table of streams each; many accounts have one line
// each, and a table only for those that need a person.

import type {Worker} from '../accounts/workers.ts';
import type {Concern} from '../alerts/concerns.ts';
import {drawWorkers} from '../alerts/worker-concerns.ts';
import {nameState} from '../changes/change-words.ts';
import {seeDocs} from '../core/errors.ts';
import type {UnderWay} from '../core/format.ts';
import {formatNumber, formatRoughly} from '../core/format.ts';
import type {AccountFacts, AccountStatus, StreamFacts} from '../health/account-status.ts';
import type {FieldEvent} from '../health/health.ts';
import type {RetentionStory} from '../retention/retention.ts';
import {tellRetention} from '../retention/retention-story.ts';
import {tellFreshness} from '../sweeps/freshness.ts';
import {drawTable} from './report.ts';
import type {Unread} from './unread.ts';
import {wrap} from './wrap-text.ts';

/** How many accounts are shown with their streams, whether they need a person or not. */
const fewAccounts = 3;
const shownEvents = 20;

/** An account as `status` shows it: rows and changes are left out where they could not be read. */
export interface ShownAccount extends AccountFacts {
  readonly changes: AccountStatus['changes'] | null;
}

/** @param now - ISO 8601, by the database's clock: ages are counted from it */
export function drawStatus(
  accounts: readonly ShownAccount[],
  facts: {
    readonly place: string;
    readonly now: string;
    /** Null, like the retention, where it could not be read. */
    readonly workers: readonly Worker[] | null;
    readonly underWay?: readonly UnderWay[];
    readonly retention?: RetentionStory | null;
    readonly concerns: readonly Concern[];
    readonly unread?: readonly Unread[];
  },
): string {
  const {place, now, workers, underWay = [], retention = null, concerns, unread = []} = facts;
  if (accounts.length === 0 && unread.length === 0)
    return `${place}: no account yet; fieldmirror start begins with one`;
  const needy = new Set(concerns.map(({account}) => account));
  const isFew = accounts.length <= fewAccounts;
  const detailed = isFew ? accounts : accounts.filter(({account}) => needy.has(account.name));
  return [
    `warehouse ${place}${workers === null ? '' : `\n${drawWorkers(workers, now)}`}`,
    ...(isFew ? [] : [drawOverview(accounts, now)]),
    ...detailed.map((account) => drawAccount(account, now)),
    ...drawUnderWay(underWay),
    ...drawEvents(accounts),
    ...(retention === null ? [] : [wrap(tellRetention(retention, now))]),
    ...drawUnread(unread),
    ...(concerns.length === 0 && unread.length > 0 ? [] : [drawConcerns(concerns)]),
  ].join('\n\n');
}

function drawOverview(accounts: readonly ShownAccount[], now: string): string {
  const head = ['account', 'state', 'rows', 'proven', 'as of', 'quarantine', 'changes', 'next due'];
  const rows = accounts.map(({account, streams, schedules, changes}) => {
    const proven = streams.filter(({provenAt}) => provenAt !== null);
    const oldest = proven.flatMap(({provenAt}) => provenAt ?? []).toSorted()[0];
    return [
      account.name.length > 28 ? `${account.name.slice(0, 27)}…` : account.name,
      account.state,
      streams.some(({rows}) => rows === undefined) ? '?' : sum(streams.map(({rows}) => rows ?? 0)),
      `${proven.length} of ${streams.length}`,
      ago(oldest, now),
      sum(streams.map((stream) => stream.quarantined)),
      changes === null ? '?' : sum(changes.map(({count}) => count)),
      account.state === 'active' ? ahead(schedules[0]?.nextDueAt, now) : '',
    ];
  });
  return drawTable(head, rows);
}

function drawAccount(status: ShownAccount, now: string): string {
  const {account, streams, schedules} = status;
  const head = [
    'stream',
    'rows',
    'last full sweep',
    'proven as of',
    'last window',
    'quarantine',
    'next due',
  ];
  const rows = streams.map((stream) => [
    stream.stream,
    stream.rows ?? '?',
    describeLastFull(stream, now),
    stream.provenAt === null ? 'never' : ago(stream.provenAt, now),
    ago(lastWindow(stream), now),
    stream.quarantined,
    account.state === 'active'
      ? ahead(schedules.find((schedule) => schedule.stream === stream.stream)?.nextDueAt, now)
      : '',
  ]);
  const reasons = streams.flatMap(({stream, lastEnded}) =>
    (lastEnded?.reasons ?? []).map((reason) =>
      wrap(`${stream}: ${lastEnded?.state}, because ${reason}`),
    ),
  );
  const promises = status.promises.map((promise) => wrap(tellFreshness(promise, now)));
  return [
    describeState({account}),
    drawTable(head, rows),
    ...promises,
    ...drawChanges(status, now),
    ...reasons,
  ].join('\n');
}

function drawChanges({changes}: ShownAccount, now: string): string[] {
  if (changes === null || changes.length === 0) return [];
  const parts = changes.map(({state, count, oldestAt}) => {
    const age = formatRoughly(Date.parse(now) - Date.parse(oldestAt));
    return `${formatNumber(count)} ${nameState(state)} (${count === 1 ? '' : 'oldest '}${age})`;
  });
  return [wrap(`changes under way: ${parts.join(', ')}`)];
}

function describeState({account}: Pick<ShownAccount, 'account'>): string {
  const {name, state, stateReason} = account;
  if (state === 'active') return `account ${name}`;
  return wrap(`account ${name}, ${state}${stateReason === null ? '' : `: ${stateReason}`}`);
}

function describeLastFull({sweeps, lastEnded}: StreamFacts, now: string): string {
  const latest = sweeps.find((sweep) => sweep.mode === 'full');
  const isUnderWay = latest !== undefined && latest.endedAt === null;
  if (lastEnded === null) return isUnderWay ? latest.state : 'never';
  const ended = `${lastEnded.state} ${ago(lastEnded.endedAt, now)}`;
  return isUnderWay ? `${ended}, ${latest.state}` : ended;
}

function lastWindow({sweeps}: StreamFacts): string | undefined {
  const ends = sweeps
    .filter((sweep) => sweep.mode === 'window')
    .flatMap((sweep) => sweep.endedAt ?? []);
  return ends.toSorted().at(-1);
}

function drawUnderWay(underWay: readonly UnderWay[]): string[] {
  if (underWay.length === 0) return [];
  const shown = underWay.slice(0, shownEvents).map(({text}) => wrap(`  ${text}`));
  const left = underWay.length - shown.length;
  return [['Under way:', ...shown, ...(left > 0 ? [`  and ${left} more`] : [])].join('\n')];
}

function drawEvents(accounts: readonly ShownAccount[]): string[] {
  const events = accounts.flatMap(({account, events: own}) =>
    own.map((event) => ({account, event})),
  );
  if (events.length === 0) return [];
  const newest = events
    .toSorted((one, other) => (one.event.at < other.event.at ? 1 : -1))
    .slice(0, shownEvents);
  const lines = newest.map(({account, event}) =>
    describeEvent(event, accounts.length > 1 ? `${account.name}: ` : ''),
  );
  const left = events.length - newest.length;
  return [
    [
      'Changes in what the service sends, last seven days:',
      ...lines,
      ...(left > 0 ? [`  and ${left} more, in sync.field_events`] : []),
    ].join('\n'),
  ];
}

function describeEvent({at, table, field, kind, detail}: FieldEvent, account: string): string {
  return wrap(`  ${at.slice(0, 10)} ${account}${table}.${field} ${kind}: ${detail}`);
}

function drawUnread(unread: readonly Unread[]): string[] {
  if (unread.length === 0) return [];
  const reasons = Map.groupBy(unread, ({reason}) => reason);
  const lines = [...reasons].map(([reason, missing]) =>
    wrap(`  ${missing.map(({what}) => what).join(', ')}: ${reason}`),
  );
  return [['Could not be read, because it is locked:', ...lines].join('\n')];
}

function drawConcerns(concerns: readonly Concern[]): string {
  if (concerns.length === 0) return 'Nothing needs a person.';
  const lines = concerns.flatMap(({kind, account, stream, text, next}) => {
    const place = [account, stream].filter((name) => name !== null).join(', ');
    return [
      wrap(`  ${place === '' ? '' : `${place}: `}${text} (${seeDocs(kind)})`),
      ...(next === null ? [] : [wrap(`    ${next}`)]),
    ];
  });
  return ['Needs a person:', ...lines].join('\n');
}

function ago(instant: string | null | undefined, now: string): string {
  return instant ? `${formatRoughly(Date.parse(now) - Date.parse(instant))} ago` : '';
}

function ahead(instant: string | undefined, now: string): string {
  if (instant === undefined) return '';
  const ms = Date.parse(instant) - Date.parse(now);
  return ms <= 0 ? 'now' : `in ${formatRoughly(ms)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
