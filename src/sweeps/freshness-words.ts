// The freshness that was promised of a stream, and whether it is kept. A promise is a schedule that
// reads the whole list: its interval is how old what is known may become, give or take the time
// that a pass needs.

import {formatAgo, formatDuration} from '../core/format.ts';
import type {PromisedFreshness} from './schedules.ts';

/**
 * A pass may begin late and takes its time: a promise counts as broken once its interval and a half
 * are over.
 */
const leastGraceMs = 300_000;

type Kept = Pick<PromisedFreshness, 'stream' | 'everyMs' | 'lookedAt' | 'askedAt'>;

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
}: Pick<Kept, 'lookedAt' | 'askedAt'>): string | null {
  if (askedAt === null) return null;
  const from = Math.max(Date.parse(askedAt), lookedAt === null ? 0 : Date.parse(lookedAt));
  return new Date(from).toISOString();
}

/**
 * Since when the promise is not kept: ISO 8601; null where it is, or where its first pass is still
 * to come.
 * @param now - ISO 8601, by the database's clock
 */
export function brokenSince({everyMs, ...kept}: Kept, now: string): string | null {
  const since = countsSince(kept);
  if (since === null) return null;
  const from = Date.parse(since);
  const until = from + everyMs + Math.max(leastGraceMs, everyMs / 2);
  return Date.parse(now) > until ? new Date(from + everyMs).toISOString() : null;
}

/** `customers: looked at as a whole 12 min ago, 1 h is promised: kept` */
export function tellFreshness(promise: Kept, now: string): string {
  return `${promise.stream}: ${tellPromise(promise, now)}`;
}

/** The same without the name of the stream. */
export function tellPromise(promise: Kept, now: string): string {
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
