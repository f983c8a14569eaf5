import {Temporal} from 'temporal-polyfill';

/** The time of a night's sweeps, in the zone of the business. */
export const sweptAt = Temporal.PlainTime.from('02:30');

/**
 * The day of the latest night that has passed: a night to come, dated back, would be noted in the
 * future.
 */
export function latestNight(now: Temporal.ZonedDateTime): Temporal.PlainDate {
  const today = now.toPlainDate();
  return Temporal.PlainTime.compare(now.toPlainTime(), sweptAt) < 0
    ? today.subtract({days: 1})
    : today;
}
