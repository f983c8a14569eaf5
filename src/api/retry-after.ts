import {readDate} from './http-date.ts';

/**
 * No wait asked by a server is believed beyond this: a week would be an outage of our own making.
 */
export const MAX_RETRY_AFTER_MS = 300_000;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds, at most `MAX_RETRY_AFTER_MS`.
 * @param header - seconds or an HTTP date
 * @param nowMs - the clock to measure a date by: that of the service, where its answer tells it
 * @returns null when there is none, or none that can be read
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  const at = readDate(text);
  if (at === null) return null;
  return Math.min(Math.max(at - nowMs, 0), MAX_RETRY_AFTER_MS);
}
