import {closest, distance} from 'fastest-levenshtein';

/**
 * ` (did you mean jobs?)` where one of the known words is close to what was typed, else nothing.
 */
export function nearest(typed: string, known: readonly string[]): string {
  const near = nearestOf(typed, known);
  return near === null ? '' : ` (did you mean ${near}?)`;
}

/** The known word that is close to what was typed; null where none is. */
export function nearestOf(typed: string, known: readonly string[]): string | null {
  if (known.length === 0) return null;
  const spelled = new Map(known.map((word) => [word.toLowerCase(), word]));
  const near = closest(typed.toLowerCase(), [...spelled.keys()]);
  const isNear = distance(typed.toLowerCase(), near) <= Math.max(2, near.length / 2);
  return isNear ? (spelled.get(near) ?? null) : null;
}
