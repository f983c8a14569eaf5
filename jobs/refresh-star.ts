import type {SweepResult} from '../src/sync/sweep/run-sweep.ts';
import type {SweepDeps} from '../src/sync/sweep/sweep-deps.ts';
import {refreshStar} from '../src/warehouse/star/refresh-star.ts';

/**
 * Brings the star in line after a sweep that wrote. A refresh that fails fails no sweep: what it was to write still waits,
 * and mart.freshness says since when.
 */
export async function refreshAfter(deps: SweepDeps, result: SweepResult): Promise<void> {
  if (result.outcome !== 'ended') return;
  const {inserted, updated, revived, tombstoned, vanished} = result.counts;
  if (inserted + updated + revived + tombstoned + vanished === 0) return;
  try {
    await refreshStar(deps.pool);
  } catch (error) {
    deps.log.warn({reason: String(error)}, 'the star was not refreshed, and will be with the next sweep');
  }
}
