import {formatDuration} from '../core/format.ts';
import {endHolders, type HeldUp, nameHolder} from '../postgres/lock-waits.ts';
import type {Concern} from './concerns.ts';

/**
 * Finds the sessions of others that hold Fieldmirror up, each by itself. @param now - ISO 8601, by
 * the database's clock
 */
export function findHeldUp(holders: readonly HeldUp[], now: string): Concern[] {
  return holders.map((holder) => ({
    ...{account: null, stream: null, kind: 'held-up', subject: String(holder.pid)},
    since: holder.waitedSince ?? holder.since,
    text: describe(holder, now),
    next: endHolders([holder]),
  }));
}

function describe(holder: HeldUp, now: string): string {
  const {waitedSince} = holder;
  if (waitedSince === null) return `Fieldmirror will wait for ${nameHolder(holder)}`;
  const waits = formatDuration(Math.max(0, Date.parse(now) - Date.parse(waitedSince)));
  return `Fieldmirror has been waiting for ${waits} for ${nameHolder(holder)}`;
}
