import type {Queryable} from '../postgres/database.ts';
import {readUsual, type UsualSweep} from './past-sweeps.ts';
import type {Sweep} from './sweep.ts';
import {pageOfSweep} from './sweep-page.ts';
import {readSweep} from './sweeps.ts';
import {listTombstones, type Tombstone} from './tombstones.ts';

/** All facts about a sweep. */
export interface SweepStory {
  readonly sweep: Sweep;
  /** Rows that it marked deleted, or would. */
  readonly tombstones: readonly Tombstone[];
  /** What sweeps like it usually take; null where it is the first. */
  readonly usual: UsualSweep | null;
  /** The number of the page with cause and mend; null where nothing has to be mended. */
  readonly docs: string | null;
}

/** @returns null when there is none of that number */
export async function readSweepStory(db: Queryable, sweepId: string): Promise<SweepStory | null> {
  const sweep = /^[1-9]\d{0,17}$/.test(sweepId) ? await readSweep(db, sweepId) : null;
  if (sweep === null) return null;
  return {
    sweep,
    tombstones: await listTombstones(db, sweepId),
    usual: await readUsual(db, sweep),
    docs: pageOfSweep(sweep.state),
  };
}

/** How long a sweep took, or has taken so far, in milliseconds; null before it began. */
export function tookMs({startedAt, endedAt}: Sweep, now: string): number | null {
  return startedAt === null
    ? null
    : Math.max(0, Date.parse(endedAt ?? now) - Date.parse(startedAt));
}
