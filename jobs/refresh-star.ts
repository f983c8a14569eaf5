import type pg from 'pg';
import type {Pulse} from '../src/core/rounds.ts';
import {Rounds} from '../src/core/rounds.ts';
import {boundsOf} from '../src/health/heartbeats.ts';
import {isStarStale, refreshStar} from '../src/star/refresh-star.ts';
import type {SweepResult} from '../src/sweeps/run-sweep.ts';
import type {SweepDeps} from '../src/sweeps/sweep-run.ts';

type RefreshDeps = Pick<SweepDeps, 'pool' | 'log'>;

/** Brings the star in line after a sweep that wrote. */
export async function refreshAfter(deps: RefreshDeps, result: SweepResult): Promise<void> {
  if (result.outcome !== 'ended') return;
  const {inserted, updated, revived, tombstoned, vanished} = result.counts;
  if (inserted + updated + revived + tombstoned + vanished > 0) await refreshNow(deps);
}

/**
 * When refreshes after sweeps began in this process: they may take minutes, and another one would
 * wait for their lock.
 */
const underWay = new Map<symbol, {readonly pool: pg.Pool; readonly begunAt: number}>();
const longestMs = boundsOf('star').longestMs ?? 0;

/** The part of a worker that brings the star in line with edits that no sweep under way will. */
export function makeStarRounds({pool, log}: RefreshDeps, pulse: Pulse): Rounds {
  return new Rounds({
    ...{everyMs: 0, pulse},
    work: async () => {
      if (!isUnderWay(pool) && (await isStarStale(pool))) await refreshStar(pool);
    },
    onFailure: (error) => report(log, error),
  });
}

/**
 * Brings the star in line. A refresh that fails fails nothing else: what it was to write still
 * waits, and mart.freshness says since when.
 */
export async function refreshNow({pool, log}: RefreshDeps): Promise<void> {
  const key = Symbol('refresh');
  underWay.set(key, {pool, begunAt: performance.now()});
  try {
    await refreshStar(pool);
  } catch (error) {
    report(log, error);
  } finally {
    underWay.delete(key);
  }
}

function isUnderWay(pool: pg.Pool): boolean {
  const now = performance.now();
  return [...underWay.values()].some(
    (each) => each.pool === pool && now - each.begunAt < longestMs,
  );
}

function report(log: RefreshDeps['log'], error: unknown): void {
  log.warn(
    {event: 'star.not_refreshed', reason: String(error)},
    'the star was not refreshed; it is tried again within seconds',
  );
}
