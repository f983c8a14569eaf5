// An account's zone, as a person types it: in the environment, and on the command line.

import {closest, distance} from 'fastest-levenshtein';

// Words that people write for a zone, each with the zone of most of its people.
const common: ReadonlyMap<string, string> = new Map([
  ['est', 'America/New_York'],
  ['edt', 'America/New_York'],
  ['et', 'America/New_York'],
  ['eastern', 'America/New_York'],
  ['cst', 'America/Chicago'],
  ['cdt', 'America/Chicago'],
  ['ct', 'America/Chicago'],
  ['central', 'America/Chicago'],
  ['mst', 'America/Denver'],
  ['mdt', 'America/Denver'],
  ['mt', 'America/Denver'],
  ['mountain', 'America/Denver'],
  ['pst', 'America/Los_Angeles'],
  ['pdt', 'America/Los_Angeles'],
  ['pt', 'America/Los_Angeles'],
  ['pacific', 'America/Los_Angeles'],
  ['akst', 'America/Anchorage'],
  ['hst', 'Pacific/Honolulu'],
  ['bst', 'Europe/London'],
  ['gmt', 'Europe/London'],
  ['cet', 'Europe/Berlin'],
  ['cest', 'Europe/Berlin'],
  ['ist', 'Asia/Kolkata'],
  ['jst', 'Asia/Tokyo'],
  ['aest', 'Australia/Sydney'],
  ['z', 'UTC'],
  ['utc', 'UTC'],
]);

/**
 * True for a zone that an account can have: `America/New_York`, an older name such as `US/Eastern`,
 * `UTC`. False for `EST` and offsets, which have no daylight rule, and for unknown names.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z_]+\/\S+$/.test(name) && name !== 'UTC') return false;
  try {
    new Intl.DateTimeFormat('en', {timeZone: name});
    return true;
  } catch {
    return false;
  }
}

/**
 * The zone that was probably meant: by its abbreviation (`EST5` → `America/New_York`), its city
 * (`new york`), or the nearest spelling.
 * @returns null when nothing is near
 */
export function suggestTimeZone(name: string): string | null {
  const word = name.trim().toLowerCase();
  const abbreviation = word
    .replace(/[-+ ]?\d.*$/, '')
    .replace(/ (?:standard |daylight )?time$/, '');
  const zones = Intl.supportedValuesOf('timeZone');
  return common.get(abbreviation) ?? findByCity(word, zones) ?? findNearest(word, zones);
}

/**
 * The words of an error for a zone that is none: what was expected, and which zone was probably
 * meant.
 */
export function expectTimeZone(name: string): string {
  const meant = suggestTimeZone(name);
  return `expected an IANA zone${meant === null ? ' such as America/New_York' : ` (did you mean ${meant}?)`}`;
}

function findByCity(word: string, zones: readonly string[]): string | null {
  const city = word.replaceAll(/[ -]+/g, '_').replace(/^.*\//, '');
  return zones.find((zone) => zone.toLowerCase().endsWith(`/${city}`)) ?? null;
}

function findNearest(word: string, zones: readonly string[]): string | null {
  const spelled = new Map(zones.map((zone) => [zone.toLowerCase(), zone]));
  const near = closest(word, [...spelled.keys()]);
  const isNear = distance(word, near) <= Math.max(2, Math.floor(word.length / 4));
  return isNear ? (spelled.get(near) ?? null) : null;
}
