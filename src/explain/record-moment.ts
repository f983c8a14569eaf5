// A record at a moment: the versions that there were by then, the newest of which held.

import type {Version} from './record-versions.ts';

type Versions = readonly [Version, ...Version[]];

/** Which moment a record is shown at. */
export interface Moment {
  /** ISO 8601, UTC; null: now. */
  readonly at: string | null;
  /** The version that held then, counted from the oldest, from 1; 0 where there was no row. */
  readonly version: number;
  /** That version and the older ones, the newest first; null where there was no row. */
  readonly versions: Versions | null;
}

/**
 * The state of a record at a moment.
 * @param versions - the newest first
 * @param at - ISO 8601 in UTC; null: now, where a row that was removed is shown as it was last
 */
export function findMoment(versions: Versions, at: string | null): Moment {
  if (at === null) return {at, version: versions.length, versions};
  const place = versions.findIndex(({validFrom}) => !isAfter(validFrom, at));
  const [newest, ...older] = place === -1 ? [] : versions.slice(place);
  if (newest === undefined || (newest.validTo !== null && !isAfter(newest.validTo, at)))
    return {at, version: 0, versions: null};
  return {at, version: versions.length - place, versions: [newest, ...older]};
}

/**
 * The moment when a version began. @param version - counted from the oldest, from 1; beyond the
 * last: null, which is now
 */
export function momentOf(versions: Versions, version: number): string | null {
  if (version >= versions.length) return null;
  return versions.at(-Math.max(1, version))?.validFrom ?? null;
}

/** Instants of Postgres have up to six digits behind the second, and none where they are zero. */
function isAfter(one: string, other: string): boolean {
  return sortable(one) > sortable(other);
}

function sortable(instant: string): string {
  const [whole = '', fraction = ''] = instant.replace(/Z$/, '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}
