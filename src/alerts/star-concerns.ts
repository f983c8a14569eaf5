import {formatDuration} from '../core/format.ts';
import type {Concern} from './concerns.ts';

/** A refresh follows a change within seconds; a large one takes minutes. */
const lateMs = 600_000;

/**
 * Finds out whether the star is behind the warehouse for longer than a refresh takes.
 * @param waitingSince - when the oldest change was made that the star does not hold; null where it
 *   holds all
 * @param now - ISO 8601, by the database's clock
 */
export function findStarConcerns(waitingSince: string | null, now: string): Concern[] {
  if (waitingSince === null) return [];
  const ageMs = Date.parse(now) - Date.parse(waitingSince);
  if (ageMs <= lateMs) return [];
  return [
    {
      ...{account: null, stream: null, kind: 'star-behind', subject: '', since: waitingSince},
      text: `the figures of mart lack what changed in the last ${formatDuration(ageMs)}`,
      next: 'a worker writes them: its log says why it does not, and fieldmirror sync does it too',
    },
  ];
}
