// A disk that fills up stops every sweep: what grows past its bound is told before. Bounds are
// settings, for a usual size is known to a person alone.

import type {Size} from '../health/table-sizes.ts';
import type {Concern} from './concerns.ts';

/**
 * The most bytes that the database or a table may take, or the least that are to be free where the
 * embedded Postgres lives.
 */
export interface Bound {
  /** `database`, `disk`, or the name of a table with its schema. */
  readonly name: string;
  readonly bytes: number;
}

const units: Readonly<Record<string, number>> = {MB: 1e6, GB: 1e9, TB: 1e12};
/** Less than this is no room for a full sweep. */
const leastFree: Bound = {name: 'disk', bytes: 1e9};

/**
 * Reads bounds as FIELDMIRROR_BOUNDS has them, checked: `database=50GB,sync.sweeps=2GB,disk=5GB`.
 * @returns with a bound of the disk, unless it is given
 */
export function readBounds(text: string | null): readonly Bound[] {
  const given = [...(text ?? '').matchAll(/([\w.]+)=(\d+)([MGT]B)/g)].map(
    ([, name = '', number = '', unit = '']) => ({name, bytes: Number(number) * (units[unit] ?? 1)}),
  );
  return given.some(({name}) => name === leastFree.name) ? given : [leastFree, ...given];
}

/**
 * Finds what has grown past its bound. A bound of a table that is not there would not count,
 * without a word.
 */
export function findGrowth(bounds: readonly Bound[], sizes: readonly Size[]): Concern[] {
  return bounds.flatMap(({name, bytes}) => {
    const size = sizes.find((each) => each.name === name);
    const text = size === undefined ? null : describe(name, size.bytes, bytes);
    if (text === null) return [];
    const next = 'make room, or give another bound in FIELDMIRROR_BOUNDS';
    return [
      {
        account: null,
        stream: null,
        kind: 'growth' as const,
        subject: name,
        since: null,
        text,
        next,
      },
    ];
  });
}

/** @returns null where it is within its bound, and for a disk that cannot be looked at */
function describe(name: string, size: number | null, bound: number): string | null {
  if (name === leastFree.name)
    return size === null || size >= bound
      ? null
      : `the disk of the embedded Postgres has ${formatBytes(size)} left, less than ${formatBytes(bound)}`;
  if (size === null) return `FIELDMIRROR_BOUNDS names ${name}, and there is no such table`;
  const what = name === 'database' ? 'the database' : `table ${name}`;
  return size <= bound
    ? null
    : `${what} takes ${formatBytes(size)}, more than ${formatBytes(bound)}`;
}

/** `2.4 GB` */
function formatBytes(bytes: number): string {
  const [unit, size] = Object.entries(units).findLast(([, least]) => bytes >= least) ?? ['MB', 1e6];
  return `${Math.round((bytes / size) * 10) / 10} ${unit}`;
}
