import {closest, distance} from 'fastest-levenshtein';

/** ` (did you mean jobs?)` where one of the known words is close to what was typed, else nothing. */
export function nearest(typed: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const word = closest(typed.toLowerCase(), known);
  return distance(typed.toLowerCase(), word) <= Math.max(2, word.length / 2)
    ? ` (did you mean ${word}?)`
    : '';
}
