import type {SweepResult} from '../src/sync/sweep/run-sweep.ts';
import type {SweepDeps} from '../src/sync/sweep/sweep-deps.ts';
import {isStarStale, refreshStar} from '../src/warehouse/star/refresh-star.ts';

/**
 * Brings the star in line after a sweep that wrote. A refresh that fails fails no sweep: what it was to write still waits,
 * and mart.freshness says since when.
 */
export async function refreshAfter(deps: SweepDeps, result: SweepResult): Promise<void> {
  if (result.outcome !== 'ended') return;
  const {inserted, updated, revived, tombstoned, vanished} = result.counts;
  if (inserted + updated + revived + tombstoned + vanished > 0) await refresh(deps);
}

/** Brings the star in line with edits that no sweep under way will. */
export async function refreshAfterEdits(deps: Pick<SweepDeps, 'pool' | 'log'>): Promise<void> {
  if (await isStarStale(deps.pool)) await refresh(deps);
}

async function refresh({pool, log}: Pick<SweepDeps, 'pool' | 'log'>): Promise<void> {
  try {
    await refreshStar(pool);
  } catch (error) {
    log.warn(
      {event: 'star.not_refreshed', reason: String(error)},
      'the star was not refreshed; it is tried again within seconds',
    );
  }
}
