// Shapes that several sections share. A message says what is expected; the reader of the file adds
// where, and what it got.

import {z} from 'zod';
import {formatInterval, intervalPattern, parseInterval} from '../core/format.ts';
import {idPattern} from '../core/text.ts';

const expectedInterval =
  'expected an interval of whole days, hours, minutes or seconds, such as 1d, 1h, 5m or 30s';

/** An interval as a text, in its one spelling: 60m becomes 1h. */
export const interval = z
  .string(expectedInterval)
  .regex(intervalPattern, expectedInterval)
  .refine((text) => !intervalPattern.test(text) || parseInterval(text) !== null, expectedInterval)
  .overwrite((text) => {
    const ms = parseInterval(text);
    return ms === null ? text : formatInterval(ms);
  });

/** @param text - that `interval` has let through */
export function intervalMs(text: string): number {
  return parseInterval(text) ?? 0;
}

export const accountName = z
  .string()
  .regex(
    /^[A-Za-z0-9]\S{0,99}$/,
    'expected a name of up to 100 characters without blanks that begins with a letter or digit',
  );

export const recordNumber = z.string().regex(idPattern, 'expected a number from 1 on');

export const label = z.string('expected a text').min(1, 'expected a text that is not empty');

const hours = 'expected hours of a day, 0 to 24';
const week = 'expected the hours of Monday to Sunday, such as [8, 8, 8, 8, 8, 0, 0]';
export const workingHours = z
  .array(z.number(hours).min(0, hours).max(24, hours), week)
  .length(7, week)
  .readonly()
  .describe('Hours on Monday to Sunday.');

const goesAlone = 'expected remove: true alone, in place of all that the entry has';

/** An entry that a file may also remove. */
export function removable<T extends z.ZodType>(entry: T) {
  return z.union([entry, z.strictObject({remove: z.literal(true, goesAlone)}, goesAlone)]);
}
