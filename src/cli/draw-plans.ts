import {formatDuration} from '../core/format.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import {drawTable} from './report.ts';

/** The schedules of an account. */
export interface AccountPlan {
  readonly account: string;
  readonly schedules: Schedule[];
}

/** Each schedule of the only account, or one line for each of several. */
export function drawPlans(plans: readonly AccountPlan[]): string {
  const [first] = plans;
  if (first === undefined)
    return 'No account is active: one that is added or resumed is taken up within seconds.';
  if (plans.length > 1) {
    const rows = plans.map(({account, schedules}) => [
      account,
      schedules.length,
      ahead(schedules[0]?.nextDueAt),
    ]);
    return drawTable(['account', 'schedules', 'next due'], rows);
  }
  const rows = first.schedules.map((row) => [
    row.name,
    `every ${formatDuration(row.everyMs)}`,
    ahead(row.nextDueAt),
  ]);
  return drawTable(['schedule', 'comes round', 'next due'], rows);
}

function ahead(instant: string | undefined): string {
  if (instant === undefined) return '';
  const inMs = Date.parse(instant) - Date.now();
  return inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`;
}
