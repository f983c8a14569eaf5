import {daysInMonth} from '../api/iso-instant.ts';

// A hundred instants come with every job and its children, and each is looked at twice: as a value
// to take and as a meaning to hash. Date.parse costs 0.3 µs and takes 30 February; this costs a
// tenth and does not.

/**
 * Seconds since 1970 of an instant in the very shape of the wire, `2031-01-04T09:00:00-05:00`; NaN
 * for any other text, and for a day or a time of day that does not exist.
 * @see docs/service.md "Times"
 */
export function epochSeconds(text: string): number {
  if (text.length !== 25 || !hasSeparators(text)) return Number.NaN;
  const year = readPair(text, 0) * 100 + readPair(text, 2);
  const month = readPair(text, 5);
  const day = readPair(text, 8);
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)))
    return Number.NaN;
  const seconds = readClock(text, 11, 23) + readPair(text, 17);
  const offset = readClock(text, 20, 14);
  if (!(readPair(text, 17) <= 59)) return Number.NaN;
  return (
    daysSinceEpoch(year, month, day) * 86_400 +
    seconds -
    (text.charCodeAt(19) === 43 ? offset : -offset)
  );
}

function hasSeparators(text: string): boolean {
  const sign = text.charCodeAt(19);
  return (
    text.charCodeAt(10) === 84 &&
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58 &&
    text.charCodeAt(22) === 58 &&
    (sign === 43 || sign === 45)
  );
}

function readPair(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** Seconds of an `hh:mm`. */
function readClock(text: string, at: number, maxHours: number): number {
  const hours = readPair(text, at);
  const minutes = readPair(text, at + 3);
  return hours <= maxHours && minutes <= 59 ? hours * 3600 + minutes * 60 : Number.NaN;
}

/** Days from 1 January 1970, in years that begin with March, so that the leap day comes last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const marchMonth = month > 2 ? month - 3 : month + 9;
  const leapDays =
    Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((marchMonth * 153 + 2) / 5) + day - 719_469;
}
