import type {SweepResult} from '../src/sync/sweep/run-sweep.ts';
import type {SweepDeps} from '../src/sync/sweep/sweep-deps.ts';
import {isStarStale, refreshStar} from '../src/warehouse/star/refresh-star.ts';

type RefreshDeps = Pick<SweepDeps, 'pool' | 'log'>;

/** Brings the star in line after a sweep that wrote. */
export async function refreshAfter(deps: RefreshDeps, result: SweepResult): Promise<void> {
  if (result.outcome !== 'ended') return;
  const {inserted, updated, revived, tombstoned, vanished} = result.counts;
  if (inserted + updated + revived + tombstoned + vanished > 0) await refreshNow(deps);
}

/** Brings the star in line with edits that no sweep under way will. */
export async function refreshAfterEdits(deps: RefreshDeps): Promise<void> {
  if (await isStarStale(deps.pool)) await refreshNow(deps);
}

/**
 * Brings the star in line. A refresh that fails fails nothing else: what it was to write still waits, and mart.freshness says
 * since when.
 */
export async function refreshNow({pool, log}: RefreshDeps): Promise<void> {
  try {
    await refreshStar(pool);
  } catch (error) {
    log.warn(
      {event: 'star.not_refreshed', reason: String(error)},
      'the star was not refreshed; it is tried again within seconds',
    );
  }
}
