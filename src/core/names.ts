// Names as a person types them: which are valid, and which known name was probably meant. Also the
// names of roles and of the default outside system.

import {closest, distance} from 'fastest-levenshtein';
import {UsageError} from './errors.ts';

/** The name of the account whose data are made up. */
export const demoName = 'demo';

/** The name of an account. */
export const accountNamePattern = /^[A-Za-z0-9]\S{0,99}$/;

export const accountNameText =
  'expected a name of up to 100 characters without blanks that begins with a letter or digit';

/**
 * The name of a key, a rule or a subscriber. `application_name` holds 63 bytes, and shows the name
 * with a few more letters.
 */
export const shortName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/;

export const shortNameText =
  'expected a name of up to 50 letters, digits, dots, underscores and hyphens';

/**
 * @param place - where the name was given: `keys add`
 * @throws {UsageError} the name is invalid
 */
export function checkShortName(name: string, place: string): void {
  if (!shortName.test(name))
    throw new UsageError(`${place}: ${shortNameText}, got ${JSON.stringify(name)}`);
}

/** Whether a text is only the host of an address, with or without a port. */
export function isHost(text: string): boolean {
  return ['https', 'http'].some((scheme) => {
    const address = `${scheme}://${text}`;
    return URL.canParse(address) && new URL(address).host === text;
  });
}

/**
 * Whether a text is one e-mail address: a comma would separate several, and a line end would begin
 * a header.
 */
export function isMailbox(text: string): boolean {
  return /^[^\s@,;<>"()\p{Cc}]+@[^\s@,;<>"()\p{Cc}]+$/u.test(text);
}

/** ` (did you mean jobs?)` if a known word is close to the typed one, otherwise an empty text. */
export function nearest(typed: string, known: readonly string[]): string {
  const near = nearestOf(typed, known);
  return near === null ? '' : ` (did you mean ${near}?)`;
}

/** The known word that is close to the typed one; null if none is. */
export function nearestOf(typed: string, known: readonly string[]): string | null {
  if (known.length === 0) return null;
  const wordsByLowerCase = new Map(known.map((word) => [word.toLowerCase(), word]));
  const near = closest(typed.toLowerCase(), [...wordsByLowerCase.keys()]);
  const isNear = distance(typed.toLowerCase(), near) <= Math.max(2, near.length / 2);
  return isNear ? (wordsByLowerCase.get(near) ?? null) : null;
}

/** Words that people write for a zone, each with the zone of most of its people. */
const zonesByWord: ReadonlyMap<string, string> = new Map([
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
  if (name === 'UTC') return true;
  if (!/^[A-Za-z_]+\/\S+$/.test(name)) return false;
  // The list has one name of each zone. It is checked first, because a first format costs 15 ms of
  // CPU.
  if (Intl.supportedValuesOf('timeZone').includes(name)) return true;
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
  return zonesByWord.get(abbreviation) ?? findByCity(word, zones) ?? findNearest(word, zones);
}

/**
 * The words of an error for an invalid zone: what was expected, and which zone was probably meant.
 */
export function expectTimeZone(name: string): string {
  const meant = suggestTimeZone(name);
  const hint = meant === null ? ' such as America/New_York' : ` (did you mean ${meant}?)`;
  return `expected an IANA zone${hint}`;
}

function findByCity(word: string, zones: readonly string[]): string | null {
  const city = word.replaceAll(/[ -]+/g, '_').replace(/^.*\//, '');
  return zones.find((zone) => zone.toLowerCase().endsWith(`/${city}`)) ?? null;
}

function findNearest(word: string, zones: readonly string[]): string | null {
  const zonesByLowerCase = new Map(zones.map((zone) => [zone.toLowerCase(), zone]));
  const near = closest(word, [...zonesByLowerCase.keys()]);
  const isNear = distance(word, near) <= Math.max(2, Math.floor(word.length / 4));
  return isNear ? (zonesByLowerCase.get(near) ?? null) : null;
}

/** The roles of a person or a system: each may do everything that the one before it may. */
export const roles = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof roles)[number];

/** The outside system whose keys are the column external_key of each row. */
export const defaultSystem = 'default';
