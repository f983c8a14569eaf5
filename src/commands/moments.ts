// Moments for a person, against the clock of the database that wrote them.

import {formatDuration} from './report.ts';

/** `2026-11-02 08:15:30 UTC` */
export function showSecond(instant: string): string {
  return `${instant.slice(0, 19).replace('T', ' ')} UTC`;
}

/** `in 3 min 20 s` */
export function ahead(instant: string, now: string): string {
  return `in ${formatDuration(Math.max(0, Date.parse(instant) - Date.parse(now)))}`;
}

/** `3 min 20 s ago` */
export function ago(instant: string, now: string): string {
  return `${formatDuration(Math.max(0, Date.parse(now) - Date.parse(instant)))} ago`;
}
