import type pg from 'pg';
import type {Logger} from '../src/core/log.ts';
import {listOverdueSchedules} from '../src/sweeps/schedules.ts';

const lookMs = 30_000;

/**
 * Logs each overdue schedule once, and again when it has run meanwhile and is overdue once more.
 */
export class OverdueSchedules {
  readonly #deps: {readonly pool: pg.Pool; readonly log: Logger};
  #told: ReadonlySet<string> = new Set();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: {readonly pool: pg.Pool; readonly log: Logger}) {
    this.#deps = deps;
  }

  /** Looks, unless the last look is less than half a minute ago. */
  async tell(accountIds: readonly string[]): Promise<void> {
    const {pool, log} = this.#deps;
    if (performance.now() - this.#lookedAt < lookMs) return;
    const overdue = await listOverdueSchedules(pool, accountIds);
    this.#lookedAt = performance.now();
    for (const {scheduleId, name, accountName, waitsSince} of overdue) {
      if (this.#told.has(scheduleId)) continue;
      log.warn(
        {event: 'schedule.overdue', account: accountName, schedule: name, waitsSince},
        'a schedule has not run for two intervals',
      );
    }
    this.#told = new Set(overdue.map(({scheduleId}) => scheduleId));
  }
}
