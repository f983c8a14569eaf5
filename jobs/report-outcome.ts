// The rows have recorded the outcome; the queue is told only that the job was taken. So this is the
// one place that turns outcomes into log lines for an operator. At `info` there is one line for
// each sweep and each change that ended.

import {AccessError, causeNumbers, OlderReadingError} from '../src/core/errors.ts';
import {formatDuration, formatNumber} from '../src/core/format.ts';
import type {Logger} from '../src/core/log.ts';
import {nameSweep, tellChangeEnd, tellSweepEnd} from '../src/health/log-words.ts';
import type {Carried, PushCounts} from '../src/push/push-deps.ts';
import {findWrites} from '../src/streams/all.ts';
import type {SweepResult} from '../src/sweeps/run-sweep.ts';
import {pageOfSweep} from '../src/sweeps/story.ts';
import type {ClaimedSweep} from '../src/sweeps/sweep.ts';

type Outcome<Name extends SweepResult['outcome']> = Extract<SweepResult, {outcome: Name}>;

/**
 * @param isWatched - a person sees the end of the sweep anyway: its line is at `info`, however it
 * ended
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
    // All sweeps under way of a refused account end so; the account's own line is the error.
    const isTold = isWatched || result.error instanceof AccessError;
    log[isTold ? 'info' : 'error'](...describeFailed(result));
  }
}

function reportPostponed(log: Logger, {sweep, error, delayMs}: Outcome<'postponed'>): void {
  // Without a delay nothing failed: the process was told to stop, and said so. Nor did a record
  // that is read again.
  const level = delayMs === 0 || error instanceof OlderReadingError ? 'info' : 'warn';
  log[level](
    {event: 'sweep.postponed', ...factsOf(sweep), delayMs, reason: error.message},
    `${nameSweep(sweep)} waits${delayMs === 0 ? '' : ` ${formatDuration(delayMs)}`} and goes on: ${error.message}`,
  );
}

type Line = [facts: object, message: string];

function describeEnded({sweep, state, reasons, counts, durationMs}: Outcome<'ended'>): Line {
  const next = state === 'stopped' ? `; fieldmirror sweeps show ${sweep.sweepId}` : '';
  const docs = pageOfSweep(state);
  return [
    {
      event: 'sweep.ended',
      ...factsOf(sweep),
      ...{state, durationMs, ...counts, reasons},
      ...(docs === null ? {} : {docs}),
    },
    `${tellSweepEnd(sweep, {state, counts, durationMs})}${next}`,
  ];
}

function describeFailed({sweep, error, durationMs}: Outcome<'failed'>): Line {
  const {name, message} = error;
  const facts = {state: 'failed', durationMs, kind: name, reason: message};
  return [
    {event: 'sweep.ended', ...factsOf(sweep), ...facts},
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

/**
 * One line at `info` for a change that came to its end or waits for a person; others have theirs at
 * `debug`.
 */
export function reportChange(log: Logger, {change, end, durationMs}: Carried): void {
  const level = end === 'postponed' || end === 'in_doubt' ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const {changeId, operation, table, number, accountName} = change;
  const state = end === 'postponed' ? 'pending' : end;
  const facts = {stream: findWrites(table).stream, change: changeId, operation, table, number};
  log[level](
    {event: eventOf(end), account: accountName, ...facts, state, durationMs},
    tellChangeEnd(change, {state, durationMs}),
  );
}

function eventOf(end: Carried['end']) {
  if (end === 'conflict') return 'change.conflict';
  if (end === 'in_doubt') return 'change.in_doubt';
  return end === 'postponed' ? 'change.postponed' : 'change.ended';
}

/** One warning for all changes of a push that a person must look at, however many they are. */
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
