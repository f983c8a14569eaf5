// The freshness that was promised of a stream, and whether it is kept. A promise is a schedule that reads the whole list: its
// interval is how old what is known may become, give or take the time that a pass needs.

import type {PromisedFreshness} from '../../warehouse/sweeps/schedules.ts';
import {formatAgo, formatDuration} from '../format.ts';

/** A pass may begin late and takes its time: a promise counts as broken once its interval and a half are over. */
const leastGraceMs = 300_000;

type Kept = Pick<PromisedFreshness, 'stream' | 'everyMs' | 'lookedAt' | 'askedAt'>;

/**
 * Since when the promise is not kept: ISO 8601; null where it is, or where its first pass is still to come.
 * @param now - ISO 8601, by the database's clock
 */
export function brokenSince({everyMs, lookedAt, askedAt}: Kept, now: string): string | null {
  if (askedAt === null) return null;
  const from = Math.max(Date.parse(askedAt), lookedAt === null ? 0 : Date.parse(lookedAt));
  const until = from + everyMs + Math.max(leastGraceMs, everyMs / 2);
  return Date.parse(now) > until ? new Date(from + everyMs).toISOString() : null;
}

/** `customers: looked at as a whole 12 min ago, every 1 h: kept` */
export function tellFreshness(promise: Kept, now: string): string {
  const {stream, everyMs, lookedAt, askedAt} = promise;
  const looked = lookedAt === null ? 'never yet' : formatAgo(lookedAt, now);
  const verdict =
    brokenSince(promise, now) !== null ? 'not kept' : askedAt === null ? 'the first look is due' : 'kept';
  return `${stream}: looked at as a whole ${looked}, ${formatDuration(everyMs)} is promised: ${verdict}`;
}
