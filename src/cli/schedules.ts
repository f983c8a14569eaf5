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
import type {Queryable} from '../postgres/database.ts';
import {freshness, schedule, scheduleName, schedulesSection} from '../settings/mirror-sections.ts';
import {intervalMs, isSame, type SettingsTree} from '../settings/section.ts';
import {applySettings, planSettings} from '../settings/settings.ts';
import {allStreams, findStream} from '../streams/all.ts';
import {describeFreshnessCost, findFreshnessCost, requestsADay} from '../sweeps/freshness.ts';
import {isOfFreshness, listSchedules, type Schedule} from '../sweeps/schedules.ts';
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

interface Listed extends Schedule {
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
    const schedules: Listed[] = [];
    for (const {accountId, name: account} of accounts) {
      const own = costs.filter((cost) => cost.accountId === accountId);
      for (const held of await listSchedules(pool, {accountId}))
        schedules.push({account, ...held, requestsADay: requestsADay(held, own)});
    }
    const now = await readNow(pool);
    const rows = schedules.map((each) => [
      each.account,
      each.name,
      each.windowName === null ? `all ${each.stream}` : `${each.stream}, ${each.windowName}`,
      formatInterval(each.everyMs),
      describeDue(each.nextDueAt, now),
      each.lastRequestedAt === null ? 'never' : formatAgo(each.lastRequestedAt, now),
      each.requestsADay === null ? 'not known' : formatNumber(each.requestsADay),
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
      rows.length === 0 ? 'no schedule' : `${fitTable(head, rows)}\n${describeAll(schedules)}`;
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
    const stream = allStreams.find((each) => each.name === name)?.name ?? 'STREAM';
    throw new UsageError(
      'schedules set: --yes: expected it beside --fresh, whose cost it confirms, ' +
        `got it without; for a freshness: fieldmirror schedules set ${stream} --fresh 1h --yes, ` +
        'for a schedule leave --yes out; nothing was set',
    );
  }
  const {everyMs, ...others} = wanted;
  const values = {...others, ...(everyMs === undefined ? {} : {every: formatInterval(everyMs)})};
  if (Object.keys(values).length === 0)
    throw new UsageError(
      'schedules set: expected something to set: --every, --at, --stream, --window or --fresh',
    );
  return await change(config, {name, account, json}, values);
}

/** Removes a schedule. @throws {UsageError} no schedule has that name */
export async function schedulesRemove(
  config: Config,
  name: string,
  {account, json}: Output,
): Promise<number> {
  return await change(config, {name, account, json}, null);
}

/**
 * Makes the sweep of a schedule due now; the schedule continues as before.
 * @throws {UsageError} no schedule has that name
 * @throws {FatalError} its account is not active
 */
export async function run(
  config: Config,
  name: string,
  {account: given, json}: Output,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = requireActive(await chooseAccount({pool}, given));
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
    const next = isServed
      ? `a worker takes it up within seconds: fieldmirror sweeps show ${sweep.sweepId}`
      : 'no worker serves the account now: fieldmirror start takes it up';
    print(json, {
      json: {sweep, isServed},
      text: `sweep ${sweep.sweepId} of ${stream} is due; ${next}`,
    });
    return 0;
  });
}

function describeAll(schedules: readonly Listed[]): string {
  const known = schedules.flatMap(({requestsADay}) => requestsADay ?? []);
  const all = formatNumber(known.reduce((total, requests) => total + requests, 0));
  const left = schedules.length - known.length;
  const uncounted = left === 0 ? '' : `; ${left} not counted, for none like them has ended yet`;
  return `${all} requests a day in all, by what the last sweeps took${uncounted}`;
}

async function change(
  config: Config,
  {
    name,
    account: given,
    json,
  }: Pick<Output, 'json'> & {readonly name: string; readonly account: string | undefined},
  values: Readonly<Record<string, string>> | null,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, given);
    const file =
      values === null
        ? removing(account, await findSchedule(pool, account, name))
        : await changing(pool, {account: account.name, name}, values);
    const {problems} = await applySettings(
      pool,
      {file, isFile: false},
      settingsEnvironment(config),
    );
    if (problems.length > 0) throw refuse(problems.map(({path, text}) => [path.slice(3), text]));
    const [held = null] = (await listSchedules(pool, account)).filter((each) => each.name === name);
    const text =
      held === null
        ? `schedule ${name} of ${account.name} is taken away; a sweep that it made continues`
        : `schedule ${name} of ${account.name}: every ${formatInterval(held.everyMs)}, ` +
          describeNext(held, await readNow(pool));
    print(json, {json: {account: account.name, schedule: held}, text});
    return 0;
  });
}

function removing({name: account}: Account, held: Schedule): SettingsTree {
  const remove = {remove: true};
  if (isOfFreshness(held)) return {freshness: {[account]: {[held.stream]: remove}}};
  return {schedules: {[account]: {[held.name]: remove}}};
}

/** The complete schedule: its own values, replaced by the given ones. */
async function changing(
  db: Queryable,
  {account, name}: {readonly account: string; readonly name: string},
  values: Readonly<Record<string, string>>,
): Promise<SettingsTree> {
  const named = scheduleName.safeParse(name);
  if (!named.success) throw refuse(named.error.issues.map(({message}) => [[], message]));
  const entries = await schedulesSection.read(db);
  const held = entries.find(({path}) => isSame(path, [account, name]))?.entry;
  const read = schedule.safeParse({...held, ...values});
  if (!read.success) {
    const needed = held === undefined ? ['stream', 'every'] : [];
    const missing = needed.filter((key) => values[key] === undefined);
    throw refuse([
      ...missing.map((key) => [[], `expected ${key}, for the schedule is new`] as const),
      ...read.error.issues.map(({path, message}) => [path.map(String), message] as const),
    ]);
  }
  const {at, ...rest} = read.data;
  // Its previous time of day has no meaning if the interval is in hours or minutes.
  const isMoot = values.at === undefined && !isWholeDays(intervalMs(rest.every));
  return {schedules: {[account]: {[name]: isMoot ? rest : read.data}}};
}

/** Each value is named by the option that gives it. */
function refuse(
  problems: readonly (readonly [path: readonly string[], text: string])[],
): UsageError {
  const told = problems.map(([[key], text]) => (key === undefined ? text : `--${key}: ${text}`));
  return new UsageError(`schedules: ${told.join('; ')}; nothing was set`);
}

async function findSchedule(db: Queryable, account: Account, name: string): Promise<Schedule> {
  const held = await listSchedules(db, account);
  const names = held.map((each) => each.name);
  const found = held.find((each) => each.name === name);
  if (found !== undefined) return found;
  const there = names.length === 0 ? 'it has none' : `there are ${names.join(', ')}`;
  throw new UsageError(
    `account ${account.name} has no schedule "${name}"${nearest(name, names)}; ${there}`,
  );
}

async function readNow(db: Queryable): Promise<string> {
  const {rows} = await db.query<{now: string}>('SELECT now()');
  return rows[0]?.now ?? '';
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
  {everyMs, yes, account: given, json}: WantedFreshness,
): Promise<number> {
  const stream = findStream(name).name;
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, given);
    const wanted = {stream, everyMs};
    const costs = await listUsualCosts(pool, [account.accountId]);
    const cost = findFreshnessCost(wanted, await listSchedules(pool, account), costs);
    const every = formatInterval(everyMs);
    const read = freshness.safeParse(every);
    if (!read.success) throw refuseFreshness(read.error.issues.map(({message}) => message));
    const file = {freshness: {[account.name]: {[stream]: read.data}}};
    const {problems} = yes
      ? await applySettings(pool, {file, isFile: false}, settingsEnvironment(config))
      : await planSettings(pool, file, settingsEnvironment(config));
    if (problems.length > 0) throw refuseFreshness(problems.map(({text}) => text));
    const done = yes
      ? `set for ${account.name}: the first look is due now`
      : 'nothing was set yet. To set it: ' +
        `fieldmirror schedules set ${stream} --fresh ${every} --yes`;
    const text = [wrap(describeFreshnessCost(wanted, cost)), done].join('\n');
    print(json, {json: {account: account.name, stream, every, cost, isSet: yes}, text});
    return yes ? 0 : 1;
  });
}

function refuseFreshness(problems: readonly string[]): UsageError {
  return new UsageError(`schedules: --fresh: ${problems.join('; ')}; nothing was set`);
}
