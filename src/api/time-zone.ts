import {Temporal} from 'temporal-polyfill';

/** True for an IANA zone name (`America/New_York`, `UTC`); false for bare offsets and for what nobody knows. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId !== '';
  } catch {
    return false;
  }
}

// What people write for a zone, each with the zone of most of its people.
const COMMON: ReadonlyMap<string, string> = new Map([
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
]);

/**
 * The zone that someone probably meant: by its abbreviation (`EST5` → `America/New_York`), its city (`new york`), or
 * the nearest spelling.
 * @returns null when nothing is near
 */
export function suggestTimeZone(name: string): string | null {
  const word = name.trim().toLowerCase();
  const abbreviation = word.replace(/[-+ ]?\d.*$/, '').replace(/ (?:standard |daylight )?time$/, '');
  return COMMON.get(abbreviation) ?? findByCity(word) ?? findNearest(word);
}

function findByCity(word: string): string | null {
  const city = word.replaceAll(/[ -]+/g, '_').replace(/^.*\//, '');
  return Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase().endsWith(`/${city}`)) ?? null;
}

function findNearest(word: string): string | null {
  const ranked = Intl.supportedValuesOf('timeZone').map((zone) => ({
    zone,
    far: distance(word, zone.toLowerCase()),
  }));
  const best = ranked.reduce((near, other) => (other.far < near.far ? other : near));
  return best.far <= Math.max(2, Math.floor(word.length / 4)) ? best.zone : null;
}

/** Levenshtein's distance: how many letters to add, drop or change. */
function distance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
