// The freshness that is promised of a stream: whether it is kept, and what schedules cost in
// requests, by what the account's own sweeps took. A promise is a schedule that reads the whole
// list: its interval is how old what is known may become, give or take the time that a pass needs.

import {formatAgo, formatDuration, formatElapsed, formatNumber} from '../core/format.ts';
import {wholeList} from '../streams/stream.ts';
import type {PromisedFreshness, Schedule} from './schedules.ts';
import type {UsualCost} from './story.ts';

const dayMs = 86_400_000;
const daySeconds = 86_400;

type Scheduled = Pick<Schedule, 'stream' | 'mode' | 'windowName' | 'everyMs'>;

/** Requests of one sweep of a schedule; null where none like it has come to an end yet. */
function requestsEach(
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
function requestsOfAll(schedules: readonly Scheduled[], costs: readonly UsualCost[]): number {
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
interface FreshnessCost {
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
export function describeFreshnessCost(
  {stream, everyMs}: Pick<Scheduled, 'stream' | 'everyMs'>,
  {requestsEach: each, requestsADay: perDay, allADay, share}: FreshnessCost,
): string {
  const every = formatDuration(everyMs);
  if (each === null || perDay === null)
    return (
      `the whole list of ${stream} every ${every}: a request a page each time; ` +
      'the stream was never swept, so how many pages it has is not known'
    );
  const busy =
    share === null
      ? ''
      : `, ${formatElapsed(share * everyMs)} of each ${every} at the pace of its full sweeps`;
  const requests = `${formatNumber(each)} requests each time, ${formatNumber(perDay)} a day`;
  return (
    `the whole list of ${stream} every ${every}: ${requests}${busy}${describeShare(share)}; ` +
    `all schedules together ${formatNumber(allADay.withThis)} a day, ` +
    `now ${formatNumber(allADay.now)}`
  );
}

function describeShare(share: number | null): string {
  if (share === null) return '';
  const percent = share * 100;
  return ` (${percent < 0.1 ? 'less than 0.1' : formatNumber(percent)} %)`;
}

/** One pass over the whole list of a stream, by what the account's own sweeps took. */
interface PassCost {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Estimates one pass over a whole list: by the passes there were, else by the first pass of full
 * sweeps, each page of which was one request.
 * @param costs - of the account
 * @returns null where the stream was never swept
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
 * A pass may begin late and takes its time: a promise counts as broken once its interval and a half
 * are over.
 */
const leastGraceMs = 300_000;

type PromiseStatus = Pick<PromisedFreshness, 'stream' | 'everyMs' | 'lookedAt' | 'askedAt'>;

/** The closest of several promises of one stream; undefined where there is none. */
export function closestPromise(
  promises: readonly PromisedFreshness[],
): PromisedFreshness | undefined {
  return promises.toSorted((one, other) => one.everyMs - other.everyMs)[0];
}

/**
 * From when on the promise counts: the last look at the whole list, or the moment at which one was
 * first asked for. ISO 8601; null before.
 */
export function countsSince({
  lookedAt,
  askedAt,
}: Pick<PromiseStatus, 'lookedAt' | 'askedAt'>): string | null {
  if (askedAt === null) return null;
  const from = Math.max(Date.parse(askedAt), lookedAt === null ? 0 : Date.parse(lookedAt));
  return new Date(from).toISOString();
}

/**
 * Since when the promise is not kept: ISO 8601; null where it is, or where its first pass is still
 * to come.
 * @param now - ISO 8601, by the database's clock
 */
export function brokenSince({everyMs, ...kept}: PromiseStatus, now: string): string | null {
  const since = countsSince(kept);
  if (since === null) return null;
  const from = Date.parse(since);
  const until = from + everyMs + Math.max(leastGraceMs, everyMs / 2);
  return Date.parse(now) > until ? new Date(from + everyMs).toISOString() : null;
}

/** `customers: looked at as a whole 12 min ago, 1 h is promised: kept` */
export function describeFreshness(promise: PromiseStatus, now: string): string {
  return `${promise.stream}: ${describePromise(promise, now)}`;
}

/** The same without the name of the stream. */
export function describePromise(promise: PromiseStatus, now: string): string {
  const {everyMs, lookedAt, askedAt} = promise;
  const looked = lookedAt === null ? 'never yet' : formatAgo(lookedAt, now);
  const verdict =
    brokenSince(promise, now) !== null
      ? 'not kept'
      : askedAt === null
        ? 'the first look is due'
        : 'kept';
  return `looked at as a whole ${looked}, ${formatDuration(everyMs)} is promised: ${verdict}`;
}
