// The freshness promised for a stream: whether the promise is kept, and how many requests schedules
// cost, based on the account's past sweeps. A promise is a schedule that reads the whole list. Its
// interval is the maximum age of the data, give or take the time that a pass needs.

import {formatAgo, formatDuration, formatElapsed, formatNumber} from '../core/format.ts';
import {wholeList} from '../streams/stream.ts';
import type {PromisedFreshness, Schedule} from './schedules.ts';
import type {UsualCost} from './story.ts';

const dayMs = 86_400_000;
const daySeconds = 86_400;

type Scheduled = Pick<Schedule, 'stream' | 'mode' | 'windowName' | 'everyMs'>;

/** Requests of one sweep of a schedule; null if no similar sweep has ended yet. */
function estimateRequests(
  {stream, mode, windowName}: Scheduled,
  costs: readonly UsualCost[],
): number | null {
  if (windowName === wholeList) return estimatePass(costs, stream)?.requests ?? null;
  const usual = costs.find(
    (cost) => cost.stream === stream && cost.mode === mode && cost.windowName === windowName,
  );
  return usual?.requests ?? null;
}

/** Requests that a schedule costs per day; null if that is not known. */
export function requestsADay(schedule: Scheduled, costs: readonly UsualCost[]): number | null {
  const perSweep = estimateRequests(schedule, costs);
  return perSweep === null ? null : Math.round((perSweep * dayMs) / schedule.everyMs);
}

/** Requests of all schedules together per day, without those whose cost is not known. */
function sumRequests(schedules: readonly Scheduled[], costs: readonly UsualCost[]): number {
  return schedules.reduce((total, schedule) => total + (requestsADay(schedule, costs) ?? 0), 0);
}

/** Requests per second that the account answers during full sweeps; null if it never had one. */
function paceOf(costs: readonly UsualCost[]): number | null {
  const full = costs.filter(({mode}) => mode === 'full');
  const seconds = full.reduce((total, cost) => total + cost.seconds, 0);
  return seconds > 0 ? full.reduce((total, cost) => total + cost.requests, 0) / seconds : null;
}

/** The cost of a freshness promise. */
interface FreshnessCost {
  /** Null if the stream was never swept. */
  readonly requestsEach: number | null;
  readonly requestsADay: number | null;
  /**
   * Requests per day of all schedules of the account, without those whose cost is not known: at
   * present, and with this promise.
   */
  readonly allADay: {readonly now: number; readonly withThis: number};
  /**
   * The fraction of a day that the promise would keep the account busy, at the pace of its full
   * sweeps.
   */
  readonly share: number | null;
}

/**
 * Finds the cost of reading the whole list of a stream at an interval.
 * @param schedules - the present schedules of the account
 */
export function findFreshnessCost(
  {stream, everyMs}: Pick<Scheduled, 'stream' | 'everyMs'>,
  schedules: readonly Scheduled[],
  costs: readonly UsualCost[],
): FreshnessCost {
  const promise = {stream, everyMs, mode: 'window' as const, windowName: wholeList};
  const perDay = requestsADay(promise, costs);
  const otherSchedules = schedules.filter(
    (schedule) => schedule.stream !== stream || schedule.windowName !== wholeList,
  );
  const pace = paceOf(costs);
  return {
    requestsEach: estimateRequests(promise, costs),
    requestsADay: perDay,
    allADay: {
      now: sumRequests(schedules, costs),
      withThis: sumRequests(otherSchedules, costs) + (perDay ?? 0),
    },
    share: perDay === null || pace === null || pace === 0 ? null : perDay / (pace * daySeconds),
  };
}

/** The cost in sentences. */
export function describeFreshnessCost(
  {stream, everyMs}: Pick<Scheduled, 'stream' | 'everyMs'>,
  {requestsEach: perSweep, requestsADay: perDay, allADay, share}: FreshnessCost,
): string {
  const interval = formatDuration(everyMs);
  if (perSweep === null || perDay === null)
    return (
      `the whole list of ${stream} every ${interval}: a request a page each time; ` +
      'the stream was never swept, so how many pages it has is not known'
    );
  const busy =
    share === null
      ? ''
      : `, ${formatElapsed(share * everyMs)} of each ${interval} at the pace of its full sweeps`;
  const requests = `${formatNumber(perSweep)} requests each time, ${formatNumber(perDay)} a day`;
  return (
    `the whole list of ${stream} every ${interval}: ${requests}${busy}${describeShare(share)}; ` +
    `all schedules together ${formatNumber(allADay.withThis)} a day, ` +
    `now ${formatNumber(allADay.now)}`
  );
}

function describeShare(share: number | null): string {
  if (share === null) return '';
  const percent = share * 100;
  return ` (${percent < 0.1 ? 'less than 0.1' : formatNumber(percent)} %)`;
}

/** The cost of one pass over the whole list of a stream, based on the account's past sweeps. */
interface PassCost {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Estimates one pass over a whole list from past passes. If there are none, it uses the first pass
 * of full sweeps, in which each page was one request.
 * @param costs - of the account
 * @returns null if the stream was never swept
 */
export function estimatePass(costs: readonly UsualCost[], stream: string): PassCost | null {
  const own = costs.filter((cost) => cost.stream === stream);
  const pass = own.find(({windowName}) => windowName === wholeList);
  if (pass !== undefined) return pass;
  const full = own.find(({mode}) => mode === 'full');
  if (full === undefined) return null;
  const share = full.requests > 0 ? Math.min(1, full.pages / full.requests) : 1;
  return {requests: full.pages, seconds: full.seconds * share};
}

/**
 * A pass may begin late and takes some time: a promise counts as broken only after one and a half
 * intervals. The grace is at least this long.
 */
const leastGraceMs = 300_000;

type PromiseStatus = Pick<PromisedFreshness, 'stream' | 'everyMs' | 'lastReadAt' | 'requestedAt'>;

/**
 * The promise with the shortest interval among several of one stream; undefined if there is none.
 */
export function closestPromise(
  promises: readonly PromisedFreshness[],
): PromisedFreshness | undefined {
  return promises.toSorted((first, second) => first.everyMs - second.everyMs)[0];
}

/**
 * The moment from which the promise counts: the last read of the whole list, or the first request
 * for one if that was later. ISO 8601; null before the first request.
 */
export function countsSince({
  lastReadAt,
  requestedAt,
}: Pick<PromiseStatus, 'lastReadAt' | 'requestedAt'>): string | null {
  if (requestedAt === null) return null;
  const sinceMs = Math.max(
    Date.parse(requestedAt),
    lastReadAt === null ? 0 : Date.parse(lastReadAt),
  );
  return new Date(sinceMs).toISOString();
}

/**
 * The moment since when the promise is broken, in ISO 8601; null if it is kept, or if its first
 * pass was not requested yet.
 * @param now - ISO 8601, by the database's clock
 */
export function brokenSince({everyMs, ...promise}: PromiseStatus, now: string): string | null {
  const since = countsSince(promise);
  if (since === null) return null;
  const sinceMs = Date.parse(since);
  const deadlineMs = sinceMs + everyMs + Math.max(leastGraceMs, everyMs / 2);
  return Date.parse(now) > deadlineMs ? new Date(sinceMs + everyMs).toISOString() : null;
}

/** `customers: read as a whole 12 min ago, 1 h is promised: kept` */
export function describeFreshness(promise: PromiseStatus, now: string): string {
  return `${promise.stream}: ${describePromise(promise, now)}`;
}

/** The same without the name of the stream. */
export function describePromise(promise: PromiseStatus, now: string): string {
  const {everyMs, lastReadAt, requestedAt} = promise;
  const lastRead = lastReadAt === null ? 'never yet' : formatAgo(lastReadAt, now);
  const verdict =
    brokenSince(promise, now) !== null
      ? 'not kept'
      : requestedAt === null
        ? 'the first sweep is due'
        : 'kept';
  return `read as a whole ${lastRead}, ${formatDuration(everyMs)} is promised: ${verdict}`;
}
