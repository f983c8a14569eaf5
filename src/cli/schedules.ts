// Scheduled sweeps: listed, set, removed, and run before their time. Also the freshness of a
// stream, whose cost is shown first. The allowed values are those of a file of settings
// (src/settings/mirror-sections.ts).

import {type Account, listAccounts} from '../accounts/accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {
  formatAgo,
  formatDuration,
  formatInterval,
  formatNumber,
  isWholeDays,
} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {freshness, schedule, scheduleName, schedulesSection} from '../settings/mirror-sections.ts';
import {intervalMs, isSame, type SettingsTree} from '../settings/section.ts';
import {applySettings, planSettings} from '../settings/settings.ts';
import {allStreams, findStream} from '../streams/all.ts';
import {describeFreshnessCost, findFreshnessCost, requestsADay} from '../sweeps/freshness.ts';
import {isFreshnessSchedule, listSchedules, type Schedule} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {chooseAccount, requireActive} from './accounts.ts';
import {settingsEnvironment} from './settings.ts';
import {fitTable, print, wrap} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface Output {
  readonly json: boolean;
  /**
   * The name of the account; if left out, a list shows all accounts, and a change uses the only
   * one.
   */
  readonly account?: string;
}

interface ListedSchedule extends Schedule {
  readonly account: string;
  /** From the usual cost of similar sweeps; null if none of them has ended. */
  readonly requestsADay: number | null;
}

/** The values of a schedule to set; those left out stay. */
interface WantedSchedule {
  readonly stream?: string;
  readonly window?: string;
  readonly everyMs?: number;
  readonly at?: string;
}

/** Lists the schedules, the next due first. */
export async function schedulesList(
  config: Config,
  {json, account: name}: Output,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const accounts =
      name === undefined ? await listAccounts(pool) : [await chooseAccount({pool}, name)];
    const costs = await listUsualCosts(
      pool,
      accounts.map(({accountId}) => accountId),
    );
    const schedules: ListedSchedule[] = [];
    const idle = new Map<string, string>();
    for (const {accountId, name: account, state} of accounts) {
      if (state !== 'active') idle.set(account, state);
      const accountCosts = costs.filter((cost) => cost.accountId === accountId);
      for (const stored of await listSchedules(pool, {accountId}))
        schedules.push({account, ...stored, requestsADay: requestsADay(stored, accountCosts)});
    }
    const now = await readNow(pool);
    const rows = schedules.map((row) => [
      row.account,
      row.name,
      row.windowName === null ? `all ${row.stream}` : `${row.stream}, ${row.windowName}`,
      formatInterval(row.everyMs),
      idle.get(row.account) ?? describeDue(row.nextDueAt, now),
      row.lastRequestedAt === null ? 'never' : formatAgo(row.lastRequestedAt, now),
      row.requestsADay === null ? 'not known' : formatNumber(row.requestsADay),
    ]);
    const head = [
      'account',
      'schedule',
      'sweeps',
      'every',
      'next due',
      'last requested',
      'requests a day',
    ];
    const text =
      rows.length === 0 ? 'no schedule' : `${fitTable(head, rows)}\n${describeTotal(schedules)}`;
    print(json, {json: {schedules}, text});
    return 0;
  });
}

/**
 * Creates a schedule, or changes values of the one with that name.
 * @param wanted - `yes` confirms the cost of a freshness; here it is a mistake, because nothing
 *   needs confirmation
 * @throws {UsageError} an invalid value, or a missing value of a new schedule; nothing is set
 */
export async function set(
  config: Config,
  name: string,
  {account, json, yes, ...wanted}: Output & WantedSchedule & {readonly yes: boolean},
): Promise<number> {
  if (yes) {
    const stream = allStreams.find((candidate) => candidate.name === name)?.name ?? 'STREAM';
    throw new UsageError(
      'schedules set: --yes: expected it beside --fresh, whose cost it confirms, ' +
        `got it without; for a freshness: fieldmirror schedules set ${stream} --fresh 1h --yes, ` +
        'for a schedule leave --yes out; nothing was set',
    );
  }
  const {everyMs, ...otherValues} = wanted;
  const values = {
    ...otherValues,
    ...(everyMs === undefined ? {} : {every: formatInterval(everyMs)}),
  };
  if (Object.keys(values).length === 0)
    throw new UsageError(
      'schedules set: expected something to set: --every, --at, --stream, --window or --fresh',
    );
  return await changeSchedule(config, {name, account, json}, values);
}

/** Removes a schedule. @throws {UsageError} no schedule has that name */
export async function schedulesRemove(
  config: Config,
  name: string,
  {account, json}: Output,
): Promise<number> {
  return await changeSchedule(config, {name, account, json}, null);
}

/**
 * Makes the sweep of a schedule due now; the schedule continues as before.
 * @throws {UsageError} no schedule has that name
 * @throws {FatalError} its account is not active
 */
export async function run(
  config: Config,
  name: string,
  {account: accountName, json}: Output,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = requireActive(await chooseAccount({pool}, accountName));
    const {stream, mode, windowName} = await findSchedule(pool, account, name);
    const {accountId} = account;
    const sweep = await requestSweep(pool, {
      accountId,
      stream,
      mode,
      windowName,
      requestedBy: 'command',
    });
    const isServed = (await listWorkers(pool)).some(
      ({isAlive, accountIds}) => isAlive && accountIds.includes(accountId),
    );
    const nextStep = isServed
      ? `a worker takes it up within seconds: fieldmirror sweeps show ${sweep.sweepId}`
      : 'no worker serves the account now: fieldmirror start takes it up';
    print(json, {
      json: {sweep, isServed},
      text: `sweep ${sweep.sweepId} of ${stream} is due; ${nextStep}`,
    });
    return 0;
  });
}

function describeTotal(schedules: readonly ListedSchedule[]): string {
  const knownCosts = schedules.flatMap(({requestsADay}) => requestsADay ?? []);
  const totalText = formatNumber(knownCosts.reduce((total, requests) => total + requests, 0));
  const uncountedCount = schedules.length - knownCosts.length;
  const uncountedText =
    uncountedCount === 0 ? '' : `; ${uncountedCount} not counted, for none like them has ended yet`;
  return `${totalText} requests a day in all, by what the last sweeps took${uncountedText}`;
}

async function changeSchedule(
  config: Config,
  {
    name,
    account: accountName,
    json,
  }: Pick<Output, 'json'> & {readonly name: string; readonly account: string | undefined},
  values: Readonly<Record<string, string>> | null,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, accountName);
    const file =
      values === null
        ? planRemoval(account, await findSchedule(pool, account, name))
        : await planChange(pool, {account: account.name, name}, values);
    const {problems} = await applySettings(
      pool,
      {file, isFile: false},
      settingsEnvironment(config),
    );
    if (problems.length > 0)
      throw toUsageError(problems.map(({path, text}) => [path.slice(3), text]));
    const [savedSchedule = null] = (await listSchedules(pool, account)).filter(
      (candidate) => candidate.name === name,
    );
    const text =
      savedSchedule === null
        ? `schedule ${name} of ${account.name} is taken away; a sweep that it made continues`
        : `schedule ${name} of ${account.name}: every ${formatInterval(savedSchedule.everyMs)}, ` +
          describeNext(savedSchedule, await readNow(pool));
    print(json, {json: {account: account.name, schedule: savedSchedule}, text});
    return 0;
  });
}

function planRemoval({name: account}: Account, currentSchedule: Schedule): SettingsTree {
  const remove = {remove: true};
  if (isFreshnessSchedule(currentSchedule))
    return {freshness: {[account]: {[currentSchedule.stream]: remove}}};
  return {schedules: {[account]: {[currentSchedule.name]: remove}}};
}

/** The complete schedule: its own values, replaced by the given ones. */
async function planChange(
  db: Queryable,
  {account, name}: {readonly account: string; readonly name: string},
  values: Readonly<Record<string, string>>,
): Promise<SettingsTree> {
  const parsedName = scheduleName.safeParse(name);
  if (!parsedName.success)
    throw toUsageError(parsedName.error.issues.map(({message}) => [[], message]));
  const entries = await schedulesSection.read(db);
  const currentEntry = entries.find(({path}) => isSame(path, [account, name]))?.entry;
  const parsed = schedule.safeParse({...currentEntry, ...values});
  if (!parsed.success) {
    const requiredKeys = currentEntry === undefined ? ['stream', 'every'] : [];
    const missing = requiredKeys.filter((key) => values[key] === undefined);
    throw toUsageError([
      ...missing.map((key) => [[], `expected ${key}, for the schedule is new`] as const),
      ...parsed.error.issues.map(({path, message}) => [path.map(String), message] as const),
    ]);
  }
  const {at, ...rest} = parsed.data;
  // Its previous time of day has no meaning if the interval is in hours or minutes.
  const isMoot = values.at === undefined && !isWholeDays(intervalMs(rest.every));
  return {schedules: {[account]: {[name]: isMoot ? rest : parsed.data}}};
}

/** Each value is named by the option that gives it. */
function toUsageError(
  problems: readonly (readonly [path: readonly string[], text: string])[],
): UsageError {
  const messages = problems.map(([[key], text]) =>
    key === undefined ? text : `--${key}: ${text}`,
  );
  return new UsageError(`schedules: ${messages.join('; ')}; nothing was set`);
}

async function findSchedule(db: Queryable, account: Account, name: string): Promise<Schedule> {
  const schedules = await listSchedules(db, account);
  const names = schedules.map((candidate) => candidate.name);
  const match = schedules.find((candidate) => candidate.name === name);
  if (match !== undefined) return match;
  const namesText = names.length === 0 ? 'it has none' : `there are ${names.join(', ')}`;
  throw new UsageError(
    `account ${account.name} has no schedule "${name}"${nearest(name, names)}; ${namesText}`,
  );
}

function describeDue(dueAt: string, now: string): string {
  const inMs = Date.parse(dueAt) - Date.parse(now);
  return inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`;
}

function describeNext({nextDueAt}: Schedule, now: string): string {
  return `next due ${describeDue(nextDueAt, now)}`;
}

/** A freshness that is to be set. */
interface WantedFreshness {
  readonly everyMs: number;
  /** Whether its cost was seen and confirmed. */
  readonly yes: boolean;
  readonly account?: string | undefined;
  readonly json: boolean;
}

/**
 * Shows the cost of a stream's freshness in requests, and sets the freshness if it was confirmed.
 * @param name - of the stream
 * @returns the exit code: 1 if it was not confirmed
 * @throws {UsageError} no such stream, or an interval so short that no pass ends in time; nothing
 *   is set
 */
export async function setFreshness(
  config: Config,
  name: string,
  {everyMs, yes, account: accountName, json}: WantedFreshness,
): Promise<number> {
  const stream = findStream(name).name;
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, accountName);
    const wanted = {stream, everyMs};
    const costs = await listUsualCosts(pool, [account.accountId]);
    const cost = findFreshnessCost(wanted, await listSchedules(pool, account), costs);
    const every = formatInterval(everyMs);
    const parsed = freshness.safeParse(every);
    if (!parsed.success) throw toFreshnessError(parsed.error.issues.map(({message}) => message));
    const file = {freshness: {[account.name]: {[stream]: parsed.data}}};
    const {problems} = yes
      ? await applySettings(pool, {file, isFile: false}, settingsEnvironment(config))
      : await planSettings(pool, file, settingsEnvironment(config));
    if (problems.length > 0) throw toFreshnessError(problems.map(({text}) => text));
    const resultText = yes
      ? `set for ${account.name}: the first sweep is due now`
      : 'nothing was set yet. To set it: ' +
        `fieldmirror schedules set ${stream} --fresh ${every} --yes`;
    const text = [wrap(describeFreshnessCost(wanted, cost)), resultText].join('\n');
    print(json, {json: {account: account.name, stream, every, cost, isSet: yes}, text});
    return yes ? 0 : 1;
  });
}

function toFreshnessError(problems: readonly string[]): UsageError {
  return new UsageError(`schedules: --fresh: ${problems.join('; ')}; nothing was set`);
}
