// Shapes that several sections share. A message says what is expected; the reader of the file adds
// where, and what it got.

import {z} from 'zod';

export const accountName = z
  .string()
  .regex(
    /^[A-Za-z0-9]\S{0,99}$/,
    'expected a name of up to 100 characters without blanks that begins with a letter or digit',
  );

export const recordNumber = z.string().regex(/^[1-9]\d{0,17}$/, 'expected a number from 1 on');

export const label = z.string('expected a text').min(1, 'expected a text that is not empty');

const hours = 'expected hours of a day, 0 to 24';
const week = 'expected the hours of Monday to Sunday, such as [8, 8, 8, 8, 8, 0, 0]';
export const workingHours = z
  .array(z.number(hours).min(0, hours).max(24, hours), week)
  .length(7, week)
  .describe('Hours on Monday to Sunday.');
