// The verb `status`. A few accounts each have a table of streams. Many accounts have one line each,
// and only those that need a person have a table. If another session has locked a part, the holder
// is named, and the other parts are shown.

import {listAccounts} from '../accounts/accounts.ts';
import type {Worker} from '../accounts/workers.ts';
import {findAccountProblems} from '../alerts/account-problems.ts';
import type {Problem} from '../alerts/alerts.ts';
import {findLockProblems, formatWorkers} from '../alerts/installation-problems.ts';
import {
  findProblems,
  formatReportLists,
  formatTargets,
  readInstallation,
  toHealthInput,
} from '../alerts/problems.ts';
import {nameState} from '../changes/states.ts';
import type {Config} from '../core/config.ts';
import {causeNumbers, FatalError, seeDocs} from '../core/errors.ts';
import {formatNumber, formatRoughly, type WorkInProgress} from '../core/format.ts';
import {inTone} from '../core/text.ts';
import type {ReportListHealth, TargetHealth} from '../delivery/targets.ts';
import {
  type AccountStatus,
  type FieldNews,
  readAccounts,
  readWorkInProgress,
  type StreamFacts,
} from '../health/account-status.ts';
import {readNow} from '../postgres/checks.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {isLockTimeout, listBlockingSessions} from '../postgres/lock-waits.ts';
import {describeRetention, type RetentionStory, readRetention} from '../retention/retention.ts';
import {checkMigrations} from '../schema/checks.ts';
import {describeFreshness} from '../sweeps/freshness.ts';
import {chooseAccount, describeNothingToDo} from './accounts.ts';
import {fitTable, print, wrap} from './terminal.ts';
import {briefLockTimeoutMs, type Warehouse, withWarehouse} from './warehouse.ts';

interface StatusOptions {
  /** The name of the only account to show. */
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Prints the health at a glance, from the rows alone: nothing is requested from the service or the
 * queue.
 * @returns the exit code: 1 if anything needs a person, as the text reports
 * @throws {UsageError} no account has that name
 */
export async function status(config: Config, options: StatusOptions): Promise<number> {
  const opening = {migrates: false, lockTimeoutMs: briefLockTimeoutMs};
  return await withWarehouse(config, opening, async (warehouse) => {
    const {place} = warehouse;
    const story = await readStatusStory(warehouse, config, options.account);
    const numbered = story.problems.map((problem) => ({
      ...problem,
      docs: causeNumbers[problem.kind],
    }));
    print(options.json, {
      json: {warehouse: place, ...story, problems: numbered},
      text: formatStatus(story.accounts, {place, ...story}),
    });
    return story.problems.length + story.unread.length > 0 ? 1 : 0;
  });
}

/**
 * Reads all that `status` shows. Parts that another session has locked are left out.
 * @param name - of the only account
 */
export async function readStatusStory(warehouse: Warehouse, config: Config, name?: string) {
  const {pool, place, databaseUrl} = warehouse;
  const reader = new UnlockedReader(databaseUrl);
  const migrations = await reader.read('the migrations', () => checkMigrations(pool));
  const problem = migrations?.problem ?? null;
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
  const chosenAccounts = await reader.read('the accounts', async () =>
    name === undefined ? await listAccounts(pool) : [await chooseAccount(warehouse, name)],
  );
  const health =
    chosenAccounts === null
      ? null
      : await reader.read('the states of the accounts', () => readAccounts(pool, chosenAccounts));
  const underWay = await reader.read('the work in progress', () =>
    readWorkInProgress(pool, chosenAccounts ?? []),
  );
  const installation = await reader.read(
    'the workers, the star, alerts, subscribers and targets',
    () => readInstallation(pool, toHealthInput(config)),
  );
  const retention = await reader.read('what is kept', () => readRetention(pool));
  const now = await readNow(pool);
  const statuses = health?.accounts ?? [];
  return {
    now,
    accounts: statuses,
    workers: installation?.workers ?? null,
    targets: installation?.targets ?? [],
    reportLists: installation?.reportLists ?? [],
    underWay: underWay ?? [],
    retention,
    problems:
      installation === null
        ? [
            ...findLockProblems(await listBlockingSessions(pool), now),
            ...findAccountProblems(statuses, now),
          ]
        : findProblems(statuses, installation, now),
    unread: reader.unread,
  };
}

/** Up to this many accounts are shown with their streams, whether they need a person or not. */
const fewAccounts = 3;
const mostShownEvents = 20;

/** @param now - ISO 8601, by the database's clock: ages are counted from it */
export function formatStatus(
  accounts: readonly AccountStatus[],
  facts: {
    readonly place: string;
    readonly now: string;
    /** Null, like the retention, if it could not be read. */
    readonly workers: readonly Worker[] | null;
    /** The targets that the star is delivered to. */
    readonly targets?: readonly TargetHealth[];
    /** The lists that receive the weekly report. */
    readonly reportLists?: readonly ReportListHealth[];
    readonly underWay?: readonly WorkInProgress[];
    readonly retention?: RetentionStory | null;
    readonly problems: readonly Problem[];
    readonly unread?: readonly Unread[];
  },
): string {
  const {place, now, workers, targets = [], underWay = [], retention = null} = facts;
  const {reportLists = [], problems, unread = []} = facts;
  const needy = new Set(problems.map(({account}) => account));
  const isFew = accounts.length <= fewAccounts;
  const detailed = isFew ? accounts : accounts.filter(({account}) => needy.has(account.name));
  return [
    `warehouse ${place}${workers === null ? '' : `\n${formatWorkers(workers, now)}`}`,
    ...(accounts.length === 0 && unread.length === 0 ? [describeNothingToDo([])] : []),
    ...(isFew ? [] : [formatOverview(accounts, now)]),
    ...detailed.map((account) => formatAccount(account, now)),
    ...(targets.length === 0 ? [] : [formatTargets(targets, now)]),
    ...(reportLists.length === 0 ? [] : [formatReportLists(reportLists, now)]),
    ...formatUnderWay(underWay),
    ...formatEvents(accounts),
    ...(retention === null ? [] : [wrap(describeRetention(retention, now))]),
    ...formatUnread(unread),
    ...(problems.length === 0 && unread.length > 0 ? [] : [formatProblems(problems)]),
  ].join('\n\n');
}

function formatOverview(accounts: readonly AccountStatus[], now: string): string {
  const head = ['account', 'state', 'rows', 'proven', 'as of', 'quarantine', 'changes', 'next due'];
  const rows = accounts.map(({account, streams, schedules, changes}) => {
    const proven = streams.filter(({provenAt}) => provenAt !== null);
    const oldest = proven.flatMap(({provenAt}) => provenAt ?? []).toSorted()[0];
    return [
      account.name.length > 28 ? `${account.name.slice(0, 27)}…` : account.name,
      inTone(account.state),
      sum(streams.map(({rows}) => rows ?? 0)),
      `${proven.length} of ${streams.length}`,
      formatInstantAgo(oldest, now),
      sum(streams.map((stream) => stream.quarantined)),
      sum(changes.map(({count}) => count)),
      account.state === 'active' ? formatDue(schedules[0]?.nextDueAt, now) : '',
    ];
  });
  return fitTable(head, rows);
}

function formatAccount(status: AccountStatus, now: string): string {
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
    stream.rows ?? '–',
    describeLastFull(stream, now),
    stream.provenAt === null ? 'never' : formatInstantAgo(stream.provenAt, now),
    formatInstantAgo(lastWindow(stream), now),
    stream.quarantined,
    account.state === 'active'
      ? formatDue(schedules.find((schedule) => schedule.stream === stream.stream)?.nextDueAt, now)
      : '',
  ]);
  const reasons = streams.flatMap(({stream, lastEnded}) =>
    (lastEnded?.reasons ?? []).map((reason) =>
      wrap(`${stream}: ${inTone(lastEnded?.state ?? '')}, because ${reason}`),
    ),
  );
  const promises = status.promises.map((promise) => wrap(describeFreshness(promise, now)));
  return [
    describeState({account}),
    fitTable(head, rows),
    ...promises,
    ...formatChanges(status, now),
    ...reasons,
  ].join('\n');
}

function formatChanges({changes}: AccountStatus, now: string): string[] {
  if (changes.length === 0) return [];
  const parts = changes.map(({state, count, oldestAt}) => {
    const age = formatRoughly(Date.parse(now) - Date.parse(oldestAt));
    return `${formatNumber(count)} ${nameState(state)} (${count === 1 ? '' : 'oldest '}${age})`;
  });
  return [wrap(`changes in progress: ${parts.join(', ')}`)];
}

function describeState({account}: Pick<AccountStatus, 'account'>): string {
  const {name, state, stateReason} = account;
  if (state === 'active') return `account ${name}`;
  return wrap(`account ${name}, ${inTone(state)}${stateReason === null ? '' : `: ${stateReason}`}`);
}

function describeLastFull({sweeps, lastEnded}: StreamFacts, now: string): string {
  const latest = sweeps.find((sweep) => sweep.mode === 'full');
  const isUnderWay = latest !== undefined && latest.endedAt === null;
  if (lastEnded === null) return isUnderWay ? latest.state : 'never';
  const ended = `${inTone(lastEnded.state)} ${formatInstantAgo(lastEnded.endedAt, now)}`;
  return isUnderWay ? `${ended}, ${latest.state}` : ended;
}

function lastWindow({sweeps}: StreamFacts): string | undefined {
  const ends = sweeps
    .filter((sweep) => sweep.mode === 'window')
    .flatMap((sweep) => sweep.endedAt ?? []);
  return ends.toSorted().at(-1);
}

function formatUnderWay(underWay: readonly WorkInProgress[]): string[] {
  if (underWay.length === 0) return [];
  const lines = underWay.slice(0, mostShownEvents).map(({text}) => wrap(`  ${text}`));
  const hiddenCount = underWay.length - lines.length;
  return [
    ['In progress:', ...lines, ...(hiddenCount > 0 ? [`  and ${hiddenCount} more`] : [])].join(
      '\n',
    ),
  ];
}

function formatEvents(accounts: readonly AccountStatus[]): string[] {
  const events = accounts.flatMap(({account, events: accountEvents}) =>
    accountEvents.map((event) => ({account, event})),
  );
  if (events.length === 0) return [];
  const newest = events
    .toSorted((first, second) => (first.event.at < second.event.at ? 1 : -1))
    .slice(0, mostShownEvents);
  const lines = newest.map(({account, event}) =>
    describeEvent(event, accounts.length > 1 ? `${account.name}: ` : ''),
  );
  const hiddenCount = events.length - newest.length;
  return [
    [
      'Changes in what the service sends, last seven days:',
      ...lines,
      ...(hiddenCount > 0 ? [`  and ${hiddenCount} more, in sync.field_events`] : []),
    ].join('\n'),
  ];
}

function describeEvent({at, table, field, kind, detail}: FieldNews, account: string): string {
  return wrap(`  ${at.slice(0, 10)} ${account}${table}.${field} ${kind}: ${detail}`);
}

function formatUnread(unread: readonly Unread[]): string[] {
  if (unread.length === 0) return [];
  const reasons = Map.groupBy(unread, ({reason}) => reason);
  const lines = [...reasons].map(([reason, missing]) =>
    wrap(`  ${missing.map(({what}) => what).join(', ')}: ${reason}`),
  );
  return [['Could not be read, because it is locked:', ...lines].join('\n')];
}

function formatProblems(problems: readonly Problem[]): string {
  if (problems.length === 0) return inTone('Nothing needs a person.', 'good');
  const lines = problems.flatMap(({kind, account, stream, text, next}) => {
    const place = [account, stream].filter((name) => name !== null).join(', ');
    return [
      wrap(`  ${place === '' ? '' : `${place}: `}${text} (${seeDocs(kind)})`),
      ...(next === null ? [] : [wrap(`    ${next}`)]),
    ];
  });
  return [inTone('Needs a person:', 'bad'), ...lines].join('\n');
}

function formatInstantAgo(instant: string | null | undefined, now: string): string {
  return instant ? `${formatRoughly(Date.parse(now) - Date.parse(instant))} ago` : '';
}

function formatDue(instant: string | undefined, now: string): string {
  if (instant === undefined) return '';
  const ms = Date.parse(instant) - Date.parse(now);
  return ms <= 0 ? 'now' : `in ${formatRoughly(ms)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A part of the answer that is missing. */
interface Unread {
  readonly what: string;
  /** The holder of the lock, and the next step. */
  readonly reason: string;
}

/** Reads one part after the other; a locked part is left out, and noted. */
export class UnlockedReader {
  readonly #url: string;
  readonly #unread: Unread[] = [];

  /** @param url - of the warehouse */
  constructor(url: string) {
    this.#url = url;
  }

  get unread(): readonly Unread[] {
    return this.#unread;
  }

  /** @returns null if it is locked. @throws every other error of `read` */
  async read<T>(what: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#unread.push({what, reason: explainDatabaseError(error, this.#url).message});
      return null;
    }
  }
}
