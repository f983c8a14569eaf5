import {closest, distance} from 'fastest-levenshtein';

/** ` (did you mean jobs?)` where one of the known words is close to what was typed, else nothing. */
export function nearest(typed: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const spelled = new Map(known.map((word) => [word.toLowerCase(), word]));
  const near = closest(typed.toLowerCase(), [...spelled.keys()]);
  const isNear = distance(typed.toLowerCase(), near) <= Math.max(2, near.length / 2);
  return isNear ? ` (did you mean ${spelled.get(near)}?)` : '';
}
