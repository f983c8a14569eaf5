// Finds the problems of the installation that need a person: workers and their parts, receivers of
// alerts and of the feed, the star, sizes, locks. A full disk stops every sweep, so growth past a
// bound is reported before that. Bounds are settings, because only a person knows the usual size.

import type {Worker} from '../accounts/workers.ts';
import {formatAgo, formatDuration, formatNumber} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import type {FeedHook} from '../feed/hooks.ts';
import type {AccountFacts} from '../health/account-status.ts';
import type {Size} from '../health/figures.ts';
import {boundsOf, type PartHealth, type PartName, parts} from '../health/installation.ts';
import {
  adviseOnHolders,
  type BlockingSession,
  formatHolderName,
  type LockHolder,
} from '../postgres/lock-waits.ts';
import {describeAddressStep, type Problem} from './alerts.ts';
import type {RuleHealth} from './deliveries.ts';

/** The workers, and the keys of the checking command. */
export interface Workforce {
  readonly workers: readonly Worker[];
  /** The keys that the command itself was given; they count if no worker is alive. */
  readonly keyIds: readonly string[];
}

/**
 * A worker checks for due schedules every two seconds; if a schedule waits for longer, it has no
 * worker.
 */
const dueLateMs = 60_000;
const shownWorkers = 5;
const unservedProblem = {stream: null, kind: 'unserved', subject: '', since: null} as const;

/**
 * Finds the problems that need a person:
 * - no worker is alive, and one was killed within the last day, or schedules are due;
 * - an active account that no worker serves, because none of them has its token or the key that
 *   opens it.
 * @param now - ISO 8601, by the database's clock
 */
export function findWorkerProblems(
  accounts: readonly AccountFacts[],
  {workers, keyIds}: Workforce,
  now: string,
): Problem[] {
  const alive = workers.filter(({isAlive}) => isAlive);
  const active = accounts.filter(({account}) => account.state === 'active');
  const absence = alive.length > 0 ? null : describeAbsence(active, workers[0], now);
  return [
    ...(absence === null ? [] : [absence]),
    ...active.flatMap(({account}) => {
      const problem = describeUnserved(account, alive, keyIds);
      return problem === null ? [] : [{...unservedProblem, account: account.name, ...problem}];
    }),
  ];
}

/** One line for each worker that is alive, the latest seen first. */
export function formatWorkers(workers: readonly Worker[], now: string): string {
  const alive = workers.filter(({isAlive}) => isAlive);
  const lines = alive.slice(0, shownWorkers).map(({host, pid, version, startedAt, accountIds}) => {
    const count =
      accountIds.length === 1 ? '1 account' : `${formatNumber(accountIds.length)} accounts`;
    const since = formatDuration(Math.max(0, Date.parse(now) - Date.parse(startedAt)));
    return `worker    ${host}, pid ${pid}, version ${version}, for ${since}: ${count}`;
  });
  if (alive.length > lines.length) lines.push(`          and ${alive.length - lines.length} more`);
  return lines.length === 0
    ? 'worker    none is alive; fieldmirror start is one'
    : lines.join('\n');
}

/**
 * Why no worker opens a seal of this key: `sealed with key 4f1c, and the workers have none`; null
 * if a live worker has the key. If no worker is alive, the keys of the checking command count.
 */
function describeMissingKey(keyId: string, {workers, keyIds}: Workforce): string | null {
  const alive = workers.filter(({isAlive}) => isAlive);
  const knownKeys = alive.length === 0 ? keyIds : alive.flatMap((worker) => worker.keyIds);
  // Without a worker and without our own key, nothing is known.
  if (knownKeys.includes(keyId) || (alive.length === 0 && knownKeys.length === 0)) return null;
  const holders = alive.length === 0 ? 'the key given here is' : 'the workers have';
  return `sealed with key ${keyId}, and ${holders} ${[...new Set(knownKeys)].join(', ') || 'none'}`;
}

function describeAbsence(
  active: readonly AccountFacts[],
  lostWorker: Worker | undefined,
  now: string,
): Problem | null {
  const dueAts = active
    .flatMap(({schedules}) => schedules.map(({nextDueAt}) => nextDueAt))
    .toSorted();
  const lateDueAts = dueAts.filter((dueAt) => Date.parse(now) - Date.parse(dueAt) > dueLateMs);
  const isReported = active.some(({overdue}) => overdue.length > 0);
  if (lostWorker === undefined && (lateDueAts.length === 0 || isReported)) return null;
  const dueText =
    lateDueAts[0] === undefined
      ? ''
      : `; ${describeDue(lateDueAts.length)}, the first for ${formatSince(lateDueAts[0], now)}`;
  const text =
    lostWorker === undefined
      ? `no worker is alive${dueText}`
      : `no worker is alive: ${lostWorker.host}, pid ${lostWorker.pid}, was last seen ` +
        `${formatAgo(lostWorker.seenAt, now)}, and did not stop as it should${dueText}`;
  const scope = {account: null, stream: null, subject: ''};
  const absentSince = lostWorker?.seenAt ?? lateDueAts[0] ?? null;
  return {...scope, kind: 'no-worker', since: absentSince, text, next: 'fieldmirror start'};
}

function describeDue(count: number): string {
  return count === 1 ? '1 schedule is due' : `${formatNumber(count)} schedules are due`;
}

function formatSince(instant: string, now: string): string {
  return formatDuration(Date.parse(now) - Date.parse(instant));
}

function describeUnserved(
  {accountId, name, keyId}: AccountFacts['account'],
  alive: readonly Worker[],
  keyIds: readonly string[],
): Pick<Problem, 'text' | 'next'> | null {
  if (alive.some(({accountIds}) => accountIds.includes(accountId))) return null;
  if (name === demoName)
    return alive.length === 0
      ? null
      : {
          text: 'no worker serves it: made-up data of an earlier start',
          next: `fieldmirror accounts pause ${name}`,
        };
  if (keyId === null)
    return alive.length === 0
      ? null
      : {
          text: 'no worker knows its token',
          next:
            'start one with its FIELDMIRROR_API_URL and FIELDMIRROR_API_TOKEN, ' +
            `or keep the token here: fieldmirror accounts add ${name}`,
        };
  const keyProblem = describeMissingKey(keyId, {workers: alive, keyIds});
  if (keyProblem === null) return null;
  return {
    text: `its token is ${keyProblem}`,
    next:
      'give start that key in FIELDMIRROR_KEY, or seal the token again: ' +
      `fieldmirror accounts add ${name}`,
  };
}

/** The health of the background parts of live workers. */
export interface PartFacts {
  readonly parts: readonly PartHealth[];
  /** The sessions that Fieldmirror waits for at the moment; read only if a part is late. */
  readonly waitsFor: readonly LockHolder[];
}

/**
 * The parts that have had no successful round for longer than they may, whatever the cause.
 * @param now - ISO 8601, by the database's clock
 */
export function listLateParts(partHealths: readonly PartHealth[], now: string): PartHealth[] {
  return partHealths.filter((health) => {
    const {part, goodAt, begunAt, lastError} = health;
    if (!isPart(part)) return false;
    const {lateMs, longestMs = 0} = boundsOf(part);
    const isWorking =
      lastError === null && begunAt !== null && measureAge(begunAt, now) <= longestMs;
    return measureAge(goodAt, now) > lateMs && !isWorking;
  });
}

/**
 * Finds the parts that need a person: one problem for each part, for the worker on which it has
 * been late for longest.
 */
export function findLateParts({parts: partHealths, waitsFor}: PartFacts, now: string): Problem[] {
  const late = new Map<PartName, PartHealth>();
  for (const health of listLateParts(partHealths, now).toReversed())
    if (isPart(health.part)) late.set(health.part, health);
  return [...late].map(([part, health]) => ({
    account: null,
    stream: null,
    kind: 'part-late',
    subject: part,
    since: health.goodAt,
    text: describePart(part, health, {waitsFor, now}),
    next: describeNextOfPart(waitsFor),
  }));
}

function describePart(
  part: PartName,
  {host, pid, goodAt, begunAt, lastError}: PartHealth,
  {waitsFor, now}: {readonly waitsFor: readonly LockHolder[]; readonly now: string},
): string {
  const hostText = host === null ? '' : ` on ${host}, pid ${pid},`;
  const causes = [
    ...(waitsFor.length === 0
      ? []
      : [`Fieldmirror waits for ${waitsFor.map(formatHolderName).join(' and ')}`]),
    ...(lastError === null ? [] : [`the last try failed: ${lastError}`]),
    ...(lastError === null && begunAt !== null
      ? [`a round began ${formatDuration(measureAge(begunAt, now))} ago and does not end`]
      : []),
  ];
  const reason = causes.length === 0 ? 'no round has begun since' : causes.join('; ');
  const partText = `${boundsOf(part).what} (part ${part} of the worker)${hostText}`;
  return `${partText} has stood still for ${formatDuration(measureAge(goodAt, now))}: ${reason}`;
}

function describeNextOfPart([holder]: readonly LockHolder[]): string {
  return holder === undefined
    ? "the worker's log says more; a new fieldmirror start begins every part again"
    : 'it continues when that transaction ends, or after SELECT ' +
        `pg_terminate_backend(${holder.pid})`;
}

function measureAge(instant: string, now: string): number {
  return Math.max(0, Date.parse(now) - Date.parse(instant));
}

/** Another version may record parts that this version does not know. */
function isPart(part: string): part is PartName {
  return Object.hasOwn(parts, part);
}

/**
 * Finds the rules whose messages do not arrive, or would not: their receivers do not learn of any
 * other problem.
 * @param now - ISO 8601, by the database's clock
 */
export function findFailingRules(
  rules: readonly RuleHealth[],
  workforce: Workforce,
  now: string,
): Problem[] {
  return rules.flatMap((health) => {
    const {rule, receiver, failingSince, lastError, givenUp, hasAddress} = health;
    const scope = {account: null, stream: null, kind: 'alerts-failing' as const, subject: rule};
    const accessProblem = hasAddress ? describeMissingAccess(health, workforce) : null;
    if (accessProblem !== null)
      return [
        {
          ...scope,
          since: failingSince,
          text: `alert rule ${rule} sends nothing: ${accessProblem.text}`,
          next: accessProblem.next,
        },
      ];
    if (failingSince === null) return [];
    if (!hasAddress)
      return [
        {
          ...scope,
          since: failingSince,
          text:
            `alert rule ${rule} sends nothing: it waits for its address, ` +
            'which no file of settings has',
          next: describeAddressStep(rule, receiver),
        },
      ];
    const age = formatDuration(Math.max(0, Date.parse(now) - Date.parse(failingSince)));
    const reason = lastError ?? 'no worker has sent them';
    const lostText = givenUp === 0 ? '' : ` (${formatNumber(givenUp)} given up)`;
    return [
      {
        ...scope,
        since: failingSince,
        text: `messages of the alert rule ${rule} do not arrive${lostText}, for ${age}: ${reason}`,
        next: `fieldmirror alerts test ${rule}`,
      },
    ];
  });
}

/**
 * Why no worker can send to the receiver of a rule; null if one can, or if none is alive and
 * nothing is known.
 */
function describeMissingAccess(
  {keyId, rule}: RuleHealth,
  workforce: Workforce,
): {readonly text: string; readonly next: string} | null {
  if (keyId !== null) {
    const keyProblem = describeMissingKey(keyId, workforce);
    const next =
      'give start that key in FIELDMIRROR_KEY, or seal the address again: ' +
      `fieldmirror alerts remove ${rule}, then fieldmirror alerts add ${rule}`;
    return keyProblem === null ? null : {text: `its address is ${keyProblem}`, next};
  }
  const alive = workforce.workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0 || alive.some(({sendsMail}) => sendsMail)) return null;
  return {
    text: 'it sends e-mail, and no worker has FIELDMIRROR_SMTP_URL',
    next: 'give start the address of the mail server in FIELDMIRROR_SMTP_URL',
  };
}

/** The first tries may fail because the subscriber is being restarted. */
const failingAfterTries = 3;

/**
 * Finds the subscribers of the feed that are stopped, accept nothing, or have no worker that can
 * send to them.
 * @param now - ISO 8601, by the database's clock
 */
export function findFailingHooks(
  hooks: readonly FeedHook[],
  workforce: Workforce,
  now: string,
): Problem[] {
  return hooks.flatMap((hook): Problem[] => {
    const {name, account, attempts, failingSince, lastError, stoppedAt, hasAddress, isUntaken} =
      hook;
    const scope = {account, stream: null, kind: 'hook-failing' as const, subject: name};
    if (!hasAddress && isUntaken)
      return [
        {
          ...scope,
          since: null,
          text:
            `subscriber ${name} of the feed waits for its address, ` +
            'which no file of settings has',
          next: `fieldmirror hooks add ${name} --url URL`,
        },
      ];
    const keyProblem =
      hasAddress && stoppedAt === null ? describeMissingKey(hook.keyId, workforce) : null;
    if (keyProblem !== null)
      return [
        {
          ...scope,
          since: null,
          text: `subscriber ${name} of the feed is sent nothing: its address is ${keyProblem}`,
          next:
            'give start that key in FIELDMIRROR_KEY, or make the subscriber again: ' +
            'fieldmirror hooks list names its cursor',
        },
      ];
    if (stoppedAt === null && isUntaken)
      return [
        {
          ...scope,
          since: null,
          text: `subscriber ${name} of the feed waits, and no worker sends to it`,
          next:
            'fieldmirror start, with the key in FIELDMIRROR_KEY ' +
            'that fieldmirror hooks list names',
        },
      ];
    if (failingSince === null || (stoppedAt === null && attempts < failingAfterTries)) return [];
    const age = formatDuration(Math.max(0, Date.parse(now) - Date.parse(failingSince)));
    const stateText = stoppedAt === null ? 'takes nothing' : 'is stopped, and took nothing';
    const skipText =
      stoppedAt === null ? '' : `, or fieldmirror hooks skip ${name} passes its batch over`;
    return [
      {
        ...scope,
        since: failingSince,
        text: `subscriber ${name} of the feed ${stateText}, for ${age}: ${lastError}`,
        next: `fieldmirror hooks retry ${name} sends again at once${skipText}`,
      },
    ];
  });
}

/** A refresh follows a change within seconds; a large one takes minutes. */
const starLateMs = 600_000;

/**
 * Checks whether the star has been behind the warehouse for longer than a refresh takes.
 * @param waitingSince - when the oldest change was made that the star does not contain; null if it
 *   contains all
 * @param now - ISO 8601, by the database's clock
 */
export function findStarProblems(waitingSince: string | null, now: string): Problem[] {
  if (waitingSince === null) return [];
  const ageMs = Date.parse(now) - Date.parse(waitingSince);
  if (ageMs <= starLateMs) return [];
  return [
    {
      account: null,
      stream: null,
      kind: 'star-behind',
      subject: '',
      since: waitingSince,
      text: `the figures of mart lack what changed in the last ${formatDuration(ageMs)}`,
      next: 'a worker writes them: its log says why it does not, and fieldmirror sync does it too',
    },
  ];
}

/**
 * The most bytes that the database or a table may use, or the least that must be free on the disk
 * of the embedded Postgres.
 */
export interface Bound {
  /** `database`, `disk`, or the name of a table with its schema. */
  readonly name: string;
  readonly bytes: number;
}

const units: Readonly<Record<string, number>> = {MB: 1e6, GB: 1e9, TB: 1e12};
/** Less free space than this is too little for a full sweep. */
const leastFree: Bound = {name: 'disk', bytes: 1e9};

/**
 * Reads the bounds of FIELDMIRROR_BOUNDS, which was checked before:
 * `database=50GB,sync.sweeps=2GB,disk=5GB`.
 * @returns the bounds; a default for the disk is added if none is given
 */
export function readBounds(text: string | null): readonly Bound[] {
  const bounds = [...(text ?? '').matchAll(/([\w.]+)=(\d+)([MGT]B)/g)].map(
    ([, name = '', number = '', unit = '']) => ({name, bytes: Number(number) * (units[unit] ?? 1)}),
  );
  return bounds.some(({name}) => name === leastFree.name) ? bounds : [leastFree, ...bounds];
}

/**
 * Finds what has grown past its bound. A bound of a missing table is a problem too, because it
 * would silently have no effect.
 */
export function findGrowth(bounds: readonly Bound[], sizes: readonly Size[]): Problem[] {
  return bounds.flatMap(({name, bytes}) => {
    const size = sizes.find((candidate) => candidate.name === name);
    const text = size === undefined ? null : describeGrowth(name, size.bytes, bytes);
    if (text === null) return [];
    const next = 'make room, or give another bound in FIELDMIRROR_BOUNDS';
    return [
      {
        account: null,
        stream: null,
        kind: 'growth' as const,
        subject: name,
        since: null,
        text,
        next,
      },
    ];
  });
}

/** @returns null if the size is within its bound, or if the disk cannot be checked */
function describeGrowth(name: string, size: number | null, bound: number): string | null {
  if (name === leastFree.name)
    return size === null || size >= bound
      ? null
      : `the disk of the embedded Postgres has ${formatBytes(size)} left, ` +
          `less than ${formatBytes(bound)}`;
  if (size === null) return `FIELDMIRROR_BOUNDS names ${name}, and there is no such table`;
  const subject = name === 'database' ? 'the database' : `table ${name}`;
  return size <= bound
    ? null
    : `${subject} takes ${formatBytes(size)}, more than ${formatBytes(bound)}`;
}

/** `2.4 GB` */
function formatBytes(bytes: number): string {
  const [unit, size] = Object.entries(units).findLast(([, least]) => bytes >= least) ?? ['MB', 1e6];
  return `${Math.round((bytes / size) * 10) / 10} ${unit}`;
}

/**
 * Finds the sessions of others that hold Fieldmirror up: one problem for each.
 * @param now - ISO 8601, by the database's clock
 */
export function findLockProblems(holders: readonly BlockingSession[], now: string): Problem[] {
  return holders.map((holder) => ({
    account: null,
    stream: null,
    kind: 'held-up',
    subject: String(holder.pid),
    since: holder.waitedSince ?? holder.since,
    text: describeHolder(holder, now),
    next: adviseOnHolders([holder]),
  }));
}

function describeHolder(holder: BlockingSession, now: string): string {
  const {waitedSince} = holder;
  if (waitedSince === null) return `Fieldmirror will wait for ${formatHolderName(holder)}`;
  const waitTime = formatDuration(Math.max(0, Date.parse(now) - Date.parse(waitedSince)));
  return `Fieldmirror has been waiting for ${waitTime} for ${formatHolderName(holder)}`;
}
