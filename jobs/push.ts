// The queue job that carries the changes of one account, and what the log says of it.

import {causeNumbers} from '../src/core/errors.ts';
import {formatNumber} from '../src/core/format.ts';
import type {Logger} from '../src/core/log.ts';
import {tellChangeEnd} from '../src/health/under-way.ts';
import {pushAccount} from '../src/push/push.ts';
import type {Carried, PushCounts, PushDeps} from '../src/push/run.ts';
import {findWrites} from '../src/streams/all.ts';

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
  const onCarried = (carried: Carried) => {
    account = carried.change.accountName;
    reportChange(deps.log, carried);
  };
  const counts = await pushAccount({...deps, onCarried}, accountId, signal);
  reportPush(deps.log, account, counts);
  return counts;
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
