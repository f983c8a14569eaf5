// What schedules cost in requests, by what the account's own sweeps took.

import {formatDuration, formatElapsed, formatNumber} from '../core/format.ts';
import {wholeList} from '../streams/windows.ts';
import type {UsualCost} from './past-sweeps.ts';
import type {Schedule} from './schedules.ts';
import {estimatePass} from './whole-list-cost.ts';

const dayMs = 86_400_000;
const daySeconds = 86_400;

type Scheduled = Pick<Schedule, 'stream' | 'mode' | 'windowName' | 'everyMs'>;

/** Requests of one sweep of a schedule; null where none like it has come to an end yet. */
export function requestsEach(
  {stream, mode, windowName}: Scheduled,
  costs: readonly UsualCost[],
): number | null {
  if (windowName === wholeList) return estimatePass(costs, stream)?.requests ?? null;
  const usual = costs.find(
    (cost) => cost.stream === stream && cost.mode === mode && cost.windowName === windowName,
  );
  return usual?.requests ?? null;
}

/** Requests that a schedule costs in a day; null where that is not known. */
export function requestsADay(schedule: Scheduled, costs: readonly UsualCost[]): number | null {
  const each = requestsEach(schedule, costs);
  return each === null ? null : Math.round((each * dayMs) / schedule.everyMs);
}

/** Requests of all schedules together in a day, those left out whose cost is not known. */
export function requestsOfAll(
  schedules: readonly Scheduled[],
  costs: readonly UsualCost[],
): number {
  return schedules.reduce((total, schedule) => total + (requestsADay(schedule, costs) ?? 0), 0);
}

/**
 * Requests that the account answers in a second while it is swept in full; null where it never was.
 */
function paceOf(costs: readonly UsualCost[]): number | null {
  const full = costs.filter(({mode}) => mode === 'full');
  const seconds = full.reduce((total, cost) => total + cost.seconds, 0);
  return seconds > 0 ? full.reduce((total, cost) => total + cost.requests, 0) / seconds : null;
}

/** What a freshness costs. */
export interface FreshnessCost {
  /** Null where the stream was never swept. */
  readonly requestsEach: number | null;
  readonly requestsADay: number | null;
  /**
   * Of all schedules of the account, without those whose cost is not known: as they are, and with
   * this one.
   */
  readonly allADay: {readonly now: number; readonly withThis: number};
  /** The part of a day that the account would be busy with it at the pace of its full sweeps. */
  readonly share: number | null;
}

/**
 * Finds what it costs to read the whole list of a stream so often.
 * @param schedules - of the account, as they are
 */
export function findFreshnessCost(
  {stream, everyMs}: Pick<Scheduled, 'stream' | 'everyMs'>,
  schedules: readonly Scheduled[],
  costs: readonly UsualCost[],
): FreshnessCost {
  const wanted = {stream, everyMs, mode: 'window' as const, windowName: wholeList};
  const perDay = requestsADay(wanted, costs);
  const others = schedules.filter(
    (held) => held.stream !== stream || held.windowName !== wholeList,
  );
  const pace = paceOf(costs);
  return {
    requestsEach: requestsEach(wanted, costs),
    requestsADay: perDay,
    allADay: {
      now: requestsOfAll(schedules, costs),
      withThis: requestsOfAll(others, costs) + (perDay ?? 0),
    },
    share: perDay === null || pace === null || pace === 0 ? null : perDay / (pace * daySeconds),
  };
}

/** The cost in sentences. */
export function tellFreshnessCost(
  {stream, everyMs}: Pick<Scheduled, 'stream' | 'everyMs'>,
  {requestsEach: each, requestsADay: perDay, allADay, share}: FreshnessCost,
): string {
  const every = formatDuration(everyMs);
  if (each === null || perDay === null)
    return `the whole list of ${stream} every ${every}: a request a page each time; the stream was never swept, so how many pages it has is not known`;
  const busy =
    share === null
      ? ''
      : `, ${formatElapsed(share * everyMs)} of each ${every} at the pace of its full sweeps`;
  return `the whole list of ${stream} every ${every}: ${formatNumber(each)} requests each time, ${formatNumber(perDay)} a day${busy}${tellShare(share)}; all schedules together ${formatNumber(allADay.withThis)} a day, now ${formatNumber(allADay.now)}`;
}

function tellShare(share: number | null): string {
  if (share === null) return '';
  const percent = share * 100;
  return ` (${percent < 0.1 ? 'less than 0.1' : formatNumber(percent)} %)`;
}
