// Whether the zone given for an account is its own: the service writes moments with the offset of
// the account's clock, and takes text without an offset. In a wrong zone every time that is written
// back would be hours off.

import {Temporal} from 'temporal-polyfill';
import {isIsoInstant} from '../api/iso-instant.ts';
import {UsageError} from '../core/errors.ts';

const createdAt = /<created[-_]at\b[^>]*>\s*(\d{4}-\d\d-\d\dT[^<\s]{6,30})\s*</g;
/** The zones of most people who might give a wrong one; the first that fits is offered. */
const offered = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'Pacific/Honolulu',
  'America/Halifax',
  'Europe/London',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Australia/Sydney',
];

/**
 * Compares the offsets of moments on a page with those of a zone. A few that differ prove nothing:
 * rules of zones change, and not every system knows them at once. Moments that are all in UTC prove
 * nothing either.
 * @param page - XML of a list whose records have a `created_at`
 * @returns the zone expected and the zone given, where most moments differ; else null
 */
export function findZoneMismatch(page: string, timeZone: string): string | null {
  const instants = listInstants(page);
  if (instants.length === 0) return null;
  const [odd] = differing(instants, timeZone);
  if (odd === undefined || fits(instants, timeZone)) return null;
  const meant = offered.find((zone) => fits(instants, zone));
  const zone = `${timeZone}, whose clock has ${offsetIn(odd, timeZone)} then`;
  return `expected the account's own zone${meant === undefined ? '' : ` (did you mean ${meant}?)`}, got ${zone}; the service writes ${odd}`;
}

/**
 * @param setting - where the zone was given
 * @throws {UsageError} the zone is not the account's
 */
export function refuseWrongZone(
  {body}: {readonly body: Buffer},
  {timeZone, setting}: {readonly timeZone: string; readonly setting: string},
): void {
  const mismatch = findZoneMismatch(body.toString(), timeZone);
  if (mismatch !== null) throw new UsageError(`${setting}: ${mismatch}`);
}

/**
 * The zones by whose clock all moments of a page may be written: the one of this machine, else
 * those of most people. None where the moments are all in UTC.
 */
export function guessZones(
  page: string,
  own = Intl.DateTimeFormat().resolvedOptions().timeZone,
): readonly string[] {
  const instants = listInstants(page);
  if (instants.length === 0) return [];
  const fitting = [own, ...offered].filter((zone) => differing(instants, zone).length === 0);
  return fitting.includes(own) ? [own] : fitting;
}

/** The moments on a page; none where all are in UTC, which proves nothing. */
function listInstants(page: string): string[] {
  const instants = [...page.matchAll(createdAt)].flatMap(([, text = '']) =>
    isIsoInstant(text) ? [text] : [],
  );
  return instants.every((instant) => offsetOf(instant) === '+00:00') ? [] : instants;
}

function fits(instants: readonly string[], timeZone: string): boolean {
  return differing(instants, timeZone).length * 2 <= instants.length;
}

function differing(instants: readonly string[], timeZone: string): string[] {
  return instants.filter((instant) => offsetOf(instant) !== offsetIn(instant, timeZone));
}

function offsetOf(instant: string): string {
  return instant.endsWith('Z') ? '+00:00' : instant.slice(-6);
}

function offsetIn(instant: string, timeZone: string): string {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone).offset;
}
