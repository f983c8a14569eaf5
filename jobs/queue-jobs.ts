// The queue's jobs: how they get into the queue, and what they do. One kind runs a sweep and brings
// the star in line with it; the other carries the changes of an account. The outcome is recorded in
// the rows, and the queue learns only that the job was taken. So this file writes the outcomes as
// log lines for an operator. At `info` there is one line for each sweep and each change that ended.

import type pg from 'pg';
import type {DueAccount} from '../src/changes/claim-changes.ts';
import {AccessError, causeNumbers, OlderReadingError} from '../src/core/errors.ts';
import {formatDuration, formatNumber} from '../src/core/format.ts';
import {causePage, type Logger} from '../src/core/log.ts';
import {type Pulse, Rounds} from '../src/core/pauses.ts';
import {describeChangeEnd, describeSweepEnd, nameSweep} from '../src/health/account-status.ts';
import {boundsOf} from '../src/health/installation.ts';
import {pushAccount} from '../src/push/push.ts';
import type {CarriedChange, PushCounts, PushDeps} from '../src/push/run.ts';
import {isStarStale, refreshStar} from '../src/star/mart.ts';
import {findWrites} from '../src/streams/all.ts';
import {runSweep, type SweepResult} from '../src/sweeps/run-sweep.ts';
import {findSweepDocs} from '../src/sweeps/story.ts';
import type {SweepDeps} from '../src/sweeps/sweep-run.ts';
import {type ClaimedSweep, type DueSweep, isLoadedBeside} from '../src/sweeps/sweeps.ts';
import {queueNames, type WakeQueue} from './queue.ts';

/**
 * Retries are counted in the rows, so the queue makes none. A job that has ended stays for a day,
 * so that bull-board and BullMQ's own metrics show the runs; BullMQ removes older jobs when a later
 * one ends.
 */
export const wakeOptions = {
  attempts: 1,
  removeOnComplete: {age: 86_400, count: 1_000},
  removeOnFail: {age: 86_400, count: 1_000},
} as const;

const wakeSweepAgainMs = 10_000;

/**
 * Wakes a worker for each sweep that is due. Another wake-up counts only after a while: the queue
 * job of a worker that died holding it stays locked for a minute, and must not keep the next one
 * out. A superfluous wake-up finds nothing due. Windows and single records come before full sweeps,
 * however many of those wait.
 */
export async function wakeSweeps(queue: WakeQueue, due: readonly DueSweep[]): Promise<void> {
  if (due.length === 0) return;
  const period = Math.floor(Date.now() / wakeSweepAgainMs);
  await queue.addBulk(
    due.map((sweep) => ({
      name: queueNames.sweeps,
      data: makeJobData(sweep),
      opts: {
        ...wakeOptions,
        deduplication: {id: `sweep-${sweep.sweepId}-${sweep.fence}-${period}`},
        ...(sweep.mode === 'full' ? {priority: 1} : {}),
      },
    })),
  );
}

/** A worker reads the two ids; the rest is for people who view the queue. */
function makeJobData({
  sweepId,
  accountId,
  accountName,
  stream,
  mode,
  windowName,
  recordNumber,
  failures,
}: DueSweep) {
  return {
    sweepId,
    accountId,
    account: accountName,
    stream,
    mode,
    attempt: failures + 1,
    ...(windowName === null ? {} : {window: windowName}),
    ...(recordNumber === null ? {} : {record: recordNumber}),
  };
}

/**
 * Wake-ups within this time count as one. A dead worker's queue job stays a minute; later ones
 * still count.
 */
const wakePushAgainMs = 250;

/**
 * Wakes a worker for each account that has changes to carry. If a job for the account is running,
 * one more job follows it. So a change that is committed after that job's last check does not wait
 * for the poller. A superfluous wake-up finds nothing due.
 */
export async function wakePushes(queue: WakeQueue, accounts: readonly DueAccount[]): Promise<void> {
  if (accounts.length === 0) return;
  const period = Math.floor(Date.now() / wakePushAgainMs);
  await queue.addBulk(
    accounts.map(({accountId, name}) => ({
      name: queueNames.pushes,
      data: {accountId, account: name},
      opts: {
        ...wakeOptions,
        deduplication: {id: `push-${accountId}-${period}`, keepLastIfActive: true},
      },
    })),
  );
}

/**
 * Carries one sweep as far as it goes, and brings the star in line with it. Running it twice, or in
 * two places, leaves the same rows.
 * @param options.isWatched - a person sees the end of the sweep anyway
 */
export async function runSweepJob(
  deps: SweepDeps,
  sweepId: string,
  {signal, isWatched = false}: {readonly signal: AbortSignal; readonly isWatched?: boolean},
): Promise<SweepResult> {
  let starRefresh: Promise<void> | undefined;
  const onSweepStep: SweepDeps['onSweepStep'] = async (step, sweep) => {
    await deps.onSweepStep?.(step, sweep);
    // All rows of a first load are there, and Postgres has little to do while the list is read
    // again.
    if (step === 'list-read' && sweep.isFirstLoad && !(await isLoadedBeside(deps.pool, sweep)))
      starRefresh = refreshNow(deps);
  };
  const result = await runSweep({...deps, onSweepStep}, sweepId, signal);
  reportOutcome(deps.log, {sweepId, isWatched}, result);
  await starRefresh;
  await refreshAfter(deps, result);
  return result;
}

type Outcome<Name extends SweepResult['outcome']> = Extract<SweepResult, {outcome: Name}>;

/**
 * @param isWatched - a person sees the end of the sweep anyway; its line is at `info`, however it
 *   ended
 */
export function reportOutcome(
  log: Logger,
  {sweepId, isWatched = false}: {readonly sweepId: string; readonly isWatched?: boolean},
  result: SweepResult,
): void {
  if (result.outcome === 'not-due')
    log.debug(
      {event: 'sweep.not_due', sweep: sweepId},
      `sweep ${sweepId} is not due, or another worker has it`,
    );
  else if (result.outcome === 'postponed') reportPostponed(log, result);
  else if (result.outcome === 'ended')
    log[result.state === 'stopped' && !isWatched ? 'warn' : 'info'](...describeEnded(result));
  else {
    // When an account is refused, all of its sweeps under way end like this; the account's own line
    // is the error.
    const isReportedElsewhere = isWatched || result.error instanceof AccessError;
    log[isReportedElsewhere ? 'info' : 'error'](...describeFailed(result));
  }
}

function reportPostponed(log: Logger, {sweep, error, delayMs}: Outcome<'postponed'>): void {
  // A sweep without a delay did not fail: the process was stopped, and logged that. A record that
  // is read again is no failure either.
  const level = delayMs === 0 || error instanceof OlderReadingError ? 'info' : 'warn';
  log[level](
    {
      event: 'sweep.postponed',
      ...factsOf(sweep),
      ...causePage(error),
      delayMs,
      reason: error.message,
    },
    `${nameSweep(sweep)} waits${delayMs === 0 ? '' : ` ${formatDuration(delayMs)}`} ` +
      `and continues: ${error.message}`,
  );
}

type LogLine = [facts: object, message: string];

function describeEnded({sweep, state, reasons, counts, durationMs}: Outcome<'ended'>): LogLine {
  const next = state === 'stopped' ? `; fieldmirror sweeps show ${sweep.sweepId}` : '';
  const docs = findSweepDocs(state);
  return [
    {
      event: 'sweep.ended',
      ...factsOf(sweep),
      state,
      durationMs,
      ...counts,
      reasons,
      ...(docs === null ? {} : {docs}),
    },
    `${describeSweepEnd(sweep, {state, counts, durationMs})}${next}`,
  ];
}

function describeFailed({sweep, error, durationMs}: Outcome<'failed'>): LogLine {
  const {name, message} = error;
  const facts = {state: 'failed', durationMs, kind: name, reason: message};
  return [
    {event: 'sweep.ended', ...factsOf(sweep), ...facts, ...causePage(error)},
    `${nameSweep(sweep)} failed: ${message}`,
  ];
}

function factsOf({accountName, stream, sweepId, mode, windowName, recordNumber}: ClaimedSweep) {
  return {
    account: accountName,
    stream,
    sweep: sweepId,
    mode,
    ...(windowName === null ? {} : {window: windowName}),
    ...(recordNumber === null ? {} : {record: recordNumber}),
  };
}

type RefreshDeps = Pick<SweepDeps, 'pool' | 'log'>;

/**
 * Brings the star in line after a sweep that wrote. If several first loads of an account are under
 * way at once, only the last one does this, however it ended: each earlier refresh would fill the
 * whole star for nothing.
 */
async function refreshAfter(deps: RefreshDeps, result: SweepResult): Promise<void> {
  if (result.outcome !== 'ended' && result.outcome !== 'failed') return;
  if (result.sweep.isFirstLoad) {
    if (!(await isLoadedBeside(deps.pool, result.sweep))) await refreshNow(deps);
    return;
  }
  if (result.outcome === 'failed') return;
  const {inserted, updated, revived, tombstoned, vanished} = result.counts;
  if (inserted + updated + revived + tombstoned + vanished > 0) await refreshNow(deps);
}

/**
 * The times at which refreshes after sweeps began in this process. They may take minutes, and
 * another refresh would wait for their lock.
 */
const runningRefreshes = new Map<symbol, {readonly pool: pg.Pool; readonly begunAt: number}>();
const longestRefreshMs = boundsOf('star').longestMs ?? 0;

/** The part of a worker that brings the star in line with edits that no running sweep covers. */
export function makeStarRounds({pool, log}: RefreshDeps, pulse: Pulse): Rounds {
  return new Rounds({
    everyMs: 0,
    pulse,
    work: async () => {
      if (!isRefreshing(pool) && (await isStarStale(pool))) await refreshStar(pool);
    },
    onFailure: (error) => logRefreshFailure(log, error),
  });
}

/**
 * Brings the star in line. A refresh that fails makes nothing else fail. Its notes stay in place
 * for the next refresh, and mart.freshness shows since when they wait.
 */
async function refreshNow({pool, log}: RefreshDeps): Promise<void> {
  const key = Symbol('refresh');
  runningRefreshes.set(key, {pool, begunAt: performance.now()});
  try {
    await refreshStar(pool);
  } catch (error) {
    logRefreshFailure(log, error);
  } finally {
    runningRefreshes.delete(key);
  }
}

function isRefreshing(pool: pg.Pool): boolean {
  const now = performance.now();
  return [...runningRefreshes.values()].some(
    (refresh) => refresh.pool === pool && now - refresh.begunAt < longestRefreshMs,
  );
}

function logRefreshFailure(log: RefreshDeps['log'], error: unknown): void {
  log.warn(
    {event: 'star.not_refreshed', reason: String(error)},
    'the star was not refreshed; it is tried again within seconds',
  );
}

/**
 * Carries the due changes of one account. Running it twice, or in two places, sends nothing twice.
 * @returns the counts, which are the result of the queue's job, too
 */
export async function runPushJob(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  let account = accountId;
  const onCarried = (carried: CarriedChange) => {
    account = carried.change.accountName;
    reportChange(deps.log, carried);
  };
  const counts = await pushAccount({...deps, onCarried}, accountId, signal);
  reportPush(deps.log, account, counts);
  return counts;
}

/**
 * One line at `info` for a change that ended or waits for a person; all others get a line at
 * `debug`.
 */
export function reportChange(log: Logger, {change, end, durationMs}: CarriedChange): void {
  const level = end === 'postponed' || end === 'in_doubt' ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const {changeId, operation, table, number, accountName} = change;
  const state = end === 'postponed' ? 'pending' : end;
  const facts = {stream: findWrites(table).stream, change: changeId, operation, table, number};
  log[level](
    {event: eventOf(end), account: accountName, ...facts, state, durationMs},
    describeChangeEnd(change, {state, durationMs}),
  );
}

function eventOf(end: CarriedChange['end']) {
  if (end === 'conflict') return 'change.conflict';
  if (end === 'in_doubt') return 'change.in_doubt';
  return end === 'postponed' ? 'change.postponed' : 'change.ended';
}

/** One warning for all changes of a push that need a person, however many they are. */
export function reportPush(log: Logger, account: string, {rejected, conflict}: PushCounts): void {
  if (rejected + conflict === 0) return;
  const parts = [
    ...(rejected === 0 ? [] : [`${formatNumber(rejected)} refused`]),
    ...(conflict === 0 ? [] : [`${formatNumber(conflict)} in conflict`]),
  ];
  log.warn(
    {
      event: 'push.needs_person',
      account,
      rejected,
      conflict,
      ...(conflict === 0 ? {docs: causeNumbers['change-rejected']} : {}),
    },
    `changes of ${account} need a person: ${parts.join(', ')}; fieldmirror changes list`,
  );
}
