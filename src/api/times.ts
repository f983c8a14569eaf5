// The service answers with offsets and accepts local text without one (docs/service.md "Times").
// Both directions are written by hand: JS and Postgres disagree about which of two 1:30s is meant
// and about the year of "69" (docs/traps.md "Time").

import {Temporal} from 'temporal-polyfill';
import {RecordError} from '../core/errors.ts';
import {daysInMonth, isIsoInstant, type TimeShape} from './value-types.ts';

interface ParsedTime {
  /** ISO with offset, `2031-07-04T09:00:00-04:00`. */
  readonly instant: string;
  /**
   * The clock of the zone showed this text twice; the first time is meant, the one with the earlier
   * offset.
   */
  readonly isAmbiguous: boolean;
}

interface FormattedTime {
  readonly text: string;
  /** The clock of the zone shows this text twice, and a reader will take it for the first time. */
  readonly isAmbiguous: boolean;
}

const LOCAL = /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4}) (\d{1,2}):(\d{2}) ?(am|pm)$/i;

/**
 * Reads a moment: ISO with an offset, kept as it is, or one of the specification's shapes in the
 * account's zone. A year of two digits is of this century: 2000 to 2099.
 * @param timeZone - an IANA name that `isTimeZone` accepts
 * @throws {RecordError} no such shape, no such day or hour, or a local time that the clock skipped
 */
export function parseTime(text: string, timeZone: string): ParsedTime {
  if (isIsoInstant(text)) return {instant: text, isAmbiguous: false};
  const local = readLocal(text);
  const {earlier, later, isOne} = findMoments(local, timeZone);
  if (isOne || earlier.toPlainDateTime().equals(local))
    return {instant: toIso(earlier), isAmbiguous: !isOne};
  throw new RecordError(
    `time: expected a time that exists in ${timeZone}, got one that the clock skips, from ` +
      `${earlier.offset} to ${later.offset}`,
  );
}

/**
 * Writes a moment in one of the shapes, as the clock of the account's zone shows it.
 * @param instant - ISO with an offset, as `parseTime` returns it
 * @throws {RecordError} no instant; or the shape cannot express it: it has seconds, or a year
 *   outside of 2000 to 2068 for the shape with two digits
 */
export function formatTime(
  instant: string,
  {timeZone, shape}: {readonly timeZone: string; readonly shape: TimeShape},
): FormattedTime {
  if (!isIsoInstant(instant)) throw makeRecordError('an instant like 2031-07-04T09:00:00-04:00');
  const local = Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone);
  if (shape === 'iso') return {text: toIso(local), isAmbiguous: false};
  if (
    local.second !== 0 ||
    local.millisecond !== 0 ||
    local.microsecond !== 0 ||
    local.nanosecond !== 0
  ) {
    throw new RecordError('time: expected whole minutes, got seconds: the service takes none');
  }
  return {
    text: `${formatDate(local, shape)} ${formatClock(local)}`,
    isAmbiguous: isShownTwice(local),
  };
}

function readLocal(text: string): Temporal.PlainDateTime {
  const match = LOCAL.exec(text);
  if (match === null)
    throw makeRecordError('a time like 7/4/2031 09:00am or 2031-07-04T09:00:00-04:00');
  const [, month, day, yearText = '', hour12, minute, meridiem = ''] = match;
  const year = yearText.length === 2 ? 2000 + Number(yearText) : Number(yearText);
  const parts = {
    year,
    month: Number(month),
    day: Number(day),
    hour12: Number(hour12),
    minute: Number(minute),
  };
  if (!isDay(parts)) throw makeRecordError('a day of the calendar');
  if (parts.hour12 < 1 || parts.hour12 > 12 || parts.minute > 59)
    throw makeRecordError('an hour from 1 to 12 and a minute to 59');
  const hour = (parts.hour12 % 12) + (meridiem.toLowerCase() === 'pm' ? 12 : 0);
  return new Temporal.PlainDateTime(parts.year, parts.month, parts.day, hour, parts.minute);
}

function isDay({
  year,
  month,
  day,
}: {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}): boolean {
  return year >= 1900 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
}

function isShownTwice(local: Temporal.ZonedDateTime): boolean {
  return !findMoments(local.toPlainDateTime(), local.timeZoneId).isOne;
}

// If the clock shows a text twice, it has two moments. If the clock skips it, they are the moments
// beside the gap.
function findMoments(local: Temporal.PlainDateTime, timeZone: string) {
  const earlier = local.toZonedDateTime(timeZone, {disambiguation: 'earlier'});
  const later = local.toZonedDateTime(timeZone, {disambiguation: 'later'});
  return {earlier, later, isOne: earlier.epochMilliseconds === later.epochMilliseconds};
}

// Offsets with seconds are from before standard time; the service cannot send or accept them.
function toIso(local: Temporal.ZonedDateTime): string {
  if (!/^[+-]\d\d:\d\d$/.test(local.offset)) throw makeRecordError('a time since standard time');
  return `${local.toPlainDateTime().toString()}${local.offset}`;
}

function formatDate(local: Temporal.ZonedDateTime, shape: Exclude<TimeShape, 'iso'>): string {
  const {year, month, day} = local;
  if (shape === 'MM/DD/YYYY hh:mmam') return `${pad(month, 2)}/${pad(day, 2)}/${pad(year, 4)}`;
  if (shape === 'M/D/YYYY hh:mmam') return `${month}/${day}/${pad(year, 4)}`;
  // The service takes 69 to 99 as years of the last century, as Ruby does.
  if (year < 2000 || year > 2068)
    throw new RecordError(
      `time: expected a year from 2000 to 2068, got ${year}: the shape has two digits`,
    );
  return `${month}/${day}/${pad(year % 100, 2)}`;
}

function formatClock({hour, minute}: {readonly hour: number; readonly minute: number}): string {
  return `${pad(hour % 12 === 0 ? 12 : hour % 12, 2)}:${pad(minute, 2)}${hour < 12 ? 'am' : 'pm'}`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

// The text itself is a payload, and stays out of the message.
function makeRecordError(expected: string): RecordError {
  return new RecordError(`time: expected ${expected}, got something else`);
}
