// Reads the health of the whole warehouse in one place: every problem, which `status` shows and
// alerts report, and the figures for machines. Problems of deliveries and reports are found here.
// Silence is a problem: a night without a delivery, or a missing report, counts whether a try
// failed or none began.

import {join} from 'node:path';
import type pg from 'pg';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {
  type ChangeCount,
  countChanges,
  type LateChanges,
  listLateChanges,
} from '../changes/states.ts';
import type {Config} from '../core/config.ts';
import type {Cause} from '../core/errors.ts';
import {formatAge, formatNumber} from '../core/format.ts';
import {
  listReportLists,
  listTargets,
  type ReportListHealth,
  type TargetHealth,
} from '../delivery/targets.ts';
import {type FeedHook, listHooks} from '../feed/hooks.ts';
import {type AccountFacts, readAccountFacts} from '../health/account-status.ts';
import {
  countFieldEvents,
  countOpenQuarantine,
  countUnfinishedSweeps,
  type FieldEventCount,
  listNextDue,
  listSizes,
  listStreamFigures,
  listTableSizes,
  type NextDue,
  type OpenQuarantine,
  readDatabaseBytes,
  readFreeBytes,
  type Size,
  type StreamFigures,
  type TableSize,
  type UnfinishedSweeps,
} from '../health/figures.ts';
import {
  describeCopy,
  fixForCopy,
  listOwnWaits,
  listParts,
  namePlace,
  readInstallationRow,
  type WarehouseAddress,
} from '../health/installation.ts';
import {readNow, readServer} from '../postgres/checks.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type BlockingSession, isLockTimeout, listBlockingSessions} from '../postgres/lock-waits.ts';
import {type RetentionStory, readRetention} from '../retention/retention.ts';
import {readWaitingSince} from '../star/mart.ts';
import {allStreams} from '../streams/all.ts';
import {wholeList} from '../streams/stream.ts';
import {
  listOverdueSchedules,
  listPromisedFreshness,
  type OverdueSchedule,
  type PromisedFreshness,
} from '../sweeps/schedules.ts';
import {findAccountProblems, findDrift} from './account-problems.ts';
import type {FoundProblems, Problem} from './alerts.ts';
import {listRuleHealth, type RuleHealth} from './deliveries.ts';
import {
  type Bound,
  findFailingHooks,
  findFailingRules,
  findGrowth,
  findLateParts,
  findLockProblems,
  findStarProblems,
  findWorkerProblems,
  listLateParts,
  type PartFacts,
  readBounds,
  type Workforce,
} from './installation-problems.ts';

/** The state of the installation, apart from its accounts. */
interface Installation extends Workforce, PartFacts {
  /** Why Postgres takes no writes; null if it takes them. */
  readonly refusal: string | null;
  /** Why the warehouse may be a copy; null if nothing suggests it. */
  readonly copy: string | null;
  /** The sessions of others that hold Fieldmirror up. */
  readonly heldUp: readonly BlockingSession[];
  /** See `readWaitingSince`. */
  readonly starWaitsSince: string | null;
  readonly rules: readonly RuleHealth[];
  readonly hooks: readonly FeedHook[];
  readonly targets: readonly TargetHealth[];
  readonly reportLists: readonly ReportListHealth[];
  readonly bounds: readonly Bound[];
  readonly sizes: readonly Size[];
}

/** The input that the checking process provides. */
export interface HealthInput extends Pick<Workforce, 'keyIds'> {
  readonly bounds: readonly Bound[];
  /**
   * Folder of the embedded Postgres; null for another Postgres, whose disk this process cannot see.
   */
  readonly home: string | null;
  /** The address by which the process reaches the warehouse. */
  readonly address: WarehouseAddress;
}

/** The values of this process that a check for problems needs. */
export function toHealthInput({
  keys,
  bounds,
  databaseUrl,
  directUrl,
  home,
}: Pick<Config, 'keys' | 'bounds' | 'databaseUrl' | 'directUrl' | 'home'>): HealthInput {
  return {
    keyIds: keys.map(({id}) => id),
    bounds: readBounds(bounds),
    address: {databaseUrl, directUrl, home},
    home: databaseUrl === null ? join(home, 'postgres') : null,
  };
}

/** Reads the state of the installation apart from its accounts. It counts the rows of no table. */
export async function readInstallation(
  db: Queryable,
  {keyIds, bounds, home, address}: HealthInput,
): Promise<Installation> {
  const names = bounds.map(({name}) => name).filter((name) => name !== 'disk');
  const disk = home === null ? [] : [{name: 'disk', bytes: await readFreeBytes(home)}];
  return {
    keyIds,
    bounds,
    refusal: (await readServer(db)).problem,
    heldUp: await listBlockingSessions(db),
    copy: describeCopy(await readInstallationRow(db), await namePlace(address)),
    workers: await listWorkers(db),
    starWaitsSince: await readWaitingSince(db),
    rules: await listRuleHealth(db),
    hooks: await listHooks(db),
    targets: await listTargets(db),
    reportLists: await listReportLists(db),
    ...(await readPartFacts(db)),
    sizes: [...disk, ...(names.length === 0 ? [] : await listSizes(db, names))],
  };
}

/**
 * Reads the health of the parts of live workers. If one is late, it also reads which sessions
 * Fieldmirror waits for.
 */
export async function readPartFacts(db: Queryable): Promise<PartFacts> {
  const parts = await listParts(db);
  const isLate = listLateParts(parts, await readNow(db)).length > 0;
  return {parts, waitsFor: isLate ? await listOwnWaits(db) : []};
}

/** Finds everything that needs a person. @param now - ISO 8601, by the database's clock */
export function findProblems(
  accounts: readonly AccountFacts[],
  installation: Installation,
  now: string,
): Problem[] {
  const {copy, heldUp, starWaitsSince, rules, hooks, targets, reportLists} = installation;
  const {bounds, sizes, refusal} = installation;
  const hasWorker = installation.workers.some(({isAlive}) => isAlive);
  const problems = [
    ...(copy === null ? [] : [buildCopyProblem(copy)]),
    ...findLockProblems(heldUp, now),
    ...findAccountProblems(accounts, now, {hasWorker}),
    ...findWorkerProblems(accounts, installation, now),
    ...findLateParts(installation, now),
    ...findStarProblems(starWaitsSince, now),
    ...findGrowth(bounds, sizes),
    ...findFailingRules(rules, installation, now),
    ...findFailingHooks(hooks, installation, now),
    ...findDeliveryProblems(targets, now),
    ...findReportProblems(reportLists, installation, now),
  ];
  if (refusal === null) return problems;
  const others = problems.filter(({kind}) => !followsFromRefusal.has(kind));
  return [buildRefusalProblem(refusal), ...others];
}

/** A worker that cannot write leaves no sign of itself, so it seems to be absent or late. */
const followsFromRefusal = new Set<Cause>(['no-worker', 'overdue', 'part-late', 'star-behind']);

function buildRefusalProblem(refusal: string): Problem {
  const text = `workers cannot write: Postgres is ${refusal}`;
  const scope = {account: null, stream: null, subject: '', since: null};
  return {...scope, kind: 'no-worker', text, next: null};
}

function buildCopyProblem(text: string): Problem {
  return {
    account: null,
    stream: null,
    kind: 'copy',
    subject: '',
    since: null,
    text,
    next: fixForCopy,
  };
}

/**
 * Finds everything that alerts report, for all accounts: each problem of `status` separately, and
 * drift. If another session has locked the tables that this reads, only the sessions that hold
 * Fieldmirror up are returned. Every other alert then stays as it is.
 */
export async function readProblems(pool: pg.Pool, input: HealthInput): Promise<FoundProblems> {
  try {
    return await inTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout TO '2s'`);
      return await readEveryProblem(client, input);
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const problems = findLockProblems(await listBlockingSessions(pool), await readNow(pool));
    return {problems, accounts: [], only: 'held-up'};
  }
}

async function readEveryProblem(db: Queryable, input: HealthInput): Promise<FoundProblems> {
  const allAccounts = await listAccounts(db);
  const {now, accounts} = await readAccountFacts(db, allAccounts);
  const installation = await readInstallation(db, input);
  const problems = [...findProblems(accounts, installation, now), ...findDrift(accounts)];
  return {problems, accounts: allAccounts, only: null};
}

/**
 * The health of the whole warehouse in figures; `readAccounts` returns the same for each account
 * with its rows and reasons.
 */
export interface HealthFigures {
  /** ISO 8601, by the clock of the database. */
  readonly now: string;
  readonly accounts: readonly Account[];
  /** Of every account and stream. */
  readonly streams: readonly StreamFigures[];
  /** The freshness that was promised of streams, and when their whole lists were last read. */
  readonly promises: readonly PromisedFreshness[];
  readonly unfinished: readonly UnfinishedSweeps[];
  readonly nextDue: readonly NextDue[];
  /** Schedules that have not run for two of their intervals. */
  readonly overdue: readonly OverdueSchedule[];
  readonly quarantine: readonly OpenQuarantine[];
  /** How many changes made here are still open, by state. */
  readonly changes: readonly ChangeCount[];
  /** The changes that need a person. */
  readonly late: readonly LateChanges[];
  readonly events: readonly FieldEventCount[];
  readonly tables: readonly TableSize[];
  readonly databaseBytes: number;
  /** How long things are kept, and how many were removed. */
  readonly retention: RetentionStory;
  /** Workers that have checked for work within the last minute. */
  readonly workersAlive: number;
  /** When the oldest change was made that the star does not contain; null if it contains all. */
  readonly starWaitsSince: string | null;
  /** Where the star is delivered. */
  readonly targets: readonly TargetHealth[];
  /** Who gets the weekly report. */
  readonly reportLists: readonly ReportListHealth[];
}

/** Reads the figures in a fixed number of statements, however many accounts there are. */
export async function readHealthFigures(db: Queryable): Promise<HealthFigures> {
  const now = await readNow(db);
  const accounts = await listAccounts(db);
  const ids = accounts.map(({accountId}) => accountId);
  const workers = await listWorkers(db);
  return {
    now,
    accounts,
    streams: await listStreamFigures(
      db,
      allStreams.map(({name}) => name),
    ),
    promises: await listPromisedFreshness(db, {accountId: null}, wholeList),
    unfinished: await countUnfinishedSweeps(db),
    nextDue: await listNextDue(db),
    overdue: await listOverdueSchedules(db, ids),
    quarantine: await countOpenQuarantine(db),
    changes: await countChanges(db, ids),
    late: await listLateChanges(db, ids),
    events: await countFieldEvents(db),
    tables: await listTableSizes(db),
    databaseBytes: await readDatabaseBytes(db),
    retention: await readRetention(db),
    workersAlive: workers.filter(({isAlive}) => isAlive).length,
    starWaitsSince: await readWaitingSince(db),
    targets: await listTargets(db),
    reportLists: await listReportLists(db),
  };
}

/** The first tries may fail because the storage is being restarted. */
const failingAfterTries = 3;
/** Sweeps of a night may take some hours longer than those of the night before. */
const graceMs = 21_600_000;

/**
 * Finds the targets that accept no snapshot, got none for a night, or keep old ones that should be
 * removed.
 * @param now - ISO 8601, by the database's clock
 */
export function findDeliveryProblems(targets: readonly TargetHealth[], now: string): Problem[] {
  return targets.flatMap((target): Problem[] => {
    const problem =
      describeFailing(target, now) ?? describeLate(target, now) ?? describeUnremoved(target);
    const scope = {account: null, stream: null, kind: 'not-delivered' as const};
    return problem === null ? [] : [{...scope, subject: target.name, ...problem}];
  });
}

type ProblemText = Pick<Problem, 'since' | 'text' | 'next'>;

function describeFailing(
  {name, failingSince, attempts, lastError}: TargetHealth,
  now: string,
): ProblemText | null {
  if (failingSince === null || attempts < failingAfterTries) return null;
  return {
    since: failingSince,
    text: `deliveries to ${name} fail, for ${formatAge(failingSince, now)}: ${lastError}`,
    next: `fieldmirror deliver ${name} tries again at once`,
  };
}

function describeLate(
  {name, latest, addedAt, everyMs, isUnderWay, failingSince, ...target}: TargetHealth,
  now: string,
): ProblemText | null {
  const since = latest?.deliveredAt ?? addedAt;
  const ageMs = Date.parse(now) - Date.parse(since);
  if (everyMs === null || isUnderWay || ageMs <= everyMs + graceMs) return null;
  const {lastError, waitsFor} = target;
  const reasonText =
    failingSince !== null
      ? `: ${lastError}`
      : waitsFor.length > 0
        ? `: it waits for a certified sweep of ${waitsFor.join(', ')}`
        : '';
  const snapshotText = latest === null ? 'no snapshot yet' : 'no snapshot';
  return {
    since,
    text: `${name} has got ${snapshotText}, for ${formatAge(since, now)}${reasonText}`,
    next:
      waitsFor.length > 0
        ? `fieldmirror status shows them; fieldmirror deliver ${name} delivers what is there`
        : `a running fieldmirror start delivers; fieldmirror deliver ${name} does it now`,
  };
}

function describeUnremoved({name, failingSince, lastError}: TargetHealth): ProblemText | null {
  if (failingSince !== null || lastError === null) return null;
  return {
    since: null,
    text: `${name} keeps old snapshots that could not be removed: ${lastError}`,
    next: 'let Fieldmirror remove there, or raise keep in the settings',
  };
}

/** One line for each target: the last snapshot, and the step in progress at the moment. */
export function formatTargets(targets: readonly TargetHealth[], now: string): string {
  return targets.map((target) => `delivery  ${describeTarget(target, now)}`).join('\n');
}

function describeTarget(
  {name, latest, held: heldCount, isUnderWay, step, failingSince, dueAt}: TargetHealth,
  now: string,
): string {
  const last =
    latest === null
      ? 'no snapshot yet'
      : `snapshot ${latest.name}, ${formatMegabytes(latest.bytes)}, ` +
        `${formatAge(latest.deliveredAt, now)} ago, ${heldCount} held`;
  const ties = latest?.brokenTies ?? [];
  const tieText = ties.length === 0 ? '' : `; tie-outs that do not hold: ${ties.join(', ')}`;
  const next = failingSince === null ? '' : `; the last try failed, the next is due ${dueAt}`;
  const progress = isUnderWay ? `; in progress: ${step ?? 'it has just begun'}` : '';
  return `${name}: ${last}${tieText}${next}${progress}`;
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/**
 * Finds the lists of the weekly report whose mails do not arrive, that no worker can send to, or
 * whose report was not made.
 * @param now - ISO 8601, by the database's clock
 */
export function findReportProblems(
  lists: readonly ReportListHealth[],
  workforce: Pick<Workforce, 'workers'>,
  now: string,
): Problem[] {
  return lists.flatMap((list): Problem[] => {
    const problem =
      describeNoServer(list, workforce) ?? describeUnsent(list, now) ?? describeUnmade(list, now);
    const scope = {account: list.account, stream: null, kind: 'report-unsent' as const};
    return problem === null ? [] : [{...scope, subject: list.name, ...problem}];
  });
}

/** While no worker is alive, nothing is known; that is reported as a separate problem. */
function describeNoServer(
  {name, failingSince}: ReportListHealth,
  {workers}: Pick<Workforce, 'workers'>,
): ProblemText | null {
  const alive = workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0 || alive.some(({sendsMail}) => sendsMail)) return null;
  return {
    since: failingSince,
    text: `weekly reports to ${name} cannot be sent: no worker has FIELDMIRROR_SMTP_URL`,
    next: 'give start the address of the mail server in FIELDMIRROR_SMTP_URL',
  };
}

function describeUnsent(
  {name, failingSince, lastError, givenUp}: ReportListHealth,
  now: string,
): ProblemText | null {
  if (failingSince === null) return null;
  const givenUpText = givenUp === 0 ? '' : ` (${formatNumber(givenUp)} given up)`;
  const reason = lastError ?? 'no worker has taken them up';
  const age = formatAge(failingSince, now);
  return {
    since: failingSince,
    text: `weekly reports to ${name} do not arrive${givenUpText}, for ${age}: ${reason}`,
    next: 'sync.report_mails has each mail, and the answer of the mail server',
  };
}

function describeUnmade(
  {name, late: [lateReport]}: ReportListHealth,
  now: string,
): ProblemText | null {
  if (lateReport === undefined) return null;
  const {account, freshAsOf} = lateReport;
  const age = formatAge(lateReport.since, now);
  const proven =
    freshAsOf === null
      ? 'its jobs were never proven complete'
      : `its jobs were last proven complete ${formatAge(freshAsOf, now)} ago`;
  return {
    since: lateReport.since,
    text: `the weekly report of ${account} to ${name} is due for ${age}: ${proven}`,
    next: 'fieldmirror status shows why; fieldmirror sync jobs proves them complete now',
  };
}

/** One line for each list: when its last mail was sent, and what waits. */
export function formatReportLists(lists: readonly ReportListHealth[], now: string): string {
  return lists.map((list) => `reports  ${describeList(list, now)}`).join('\n');
}

function describeList(list: ReportListHealth, now: string): string {
  const {name, addresses, lastSentAt, waiting, givenUp, repeated} = list;
  const parts = [
    lastSentAt === null ? 'nothing sent yet' : `last sent ${formatAge(lastSentAt, now)} ago`,
    ...(waiting === 0 ? [] : [`${formatNumber(waiting)} to be sent`]),
    ...(givenUp === 0 ? [] : [`${formatNumber(givenUp)} given up`]),
    ...(repeated === 0 ? [] : [`${formatNumber(repeated)} may have arrived twice`]),
  ];
  const count = addresses.length;
  return `${name}: ${count} ${count === 1 ? 'address' : 'addresses'}, ${parts.join(', ')}`;
}
