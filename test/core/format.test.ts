import fc from 'fast-check';
import {expect, test} from 'vitest';
import {formatNumber} from '../../src/core/format.ts';

test.each([
  [0, '0'],
  [7, '7'],
  [999, '999'],
  [1000, '1,000'],
  [1234567.5, '1,234,567.5'],
  [0.04, '0'],
  [999.96, '1,000'],
  [-1234.5, '-1,234.5'],
])('the number %d is formatted as %s', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test('a number is formatted like toLocaleString formats it for en-US', () => {
  fc.assert(
    fc.property(
      fc.integer({min: 0, max: 10 ** 14}),
      fc.integer({min: 0, max: 9}),
      (whole, tenths) => {
        const value = whole / 10 + tenths / 100;
        const rounded = Math.round(value * 10) / 10;
        expect(formatNumber(rounded)).toBe(
          rounded.toLocaleString('en-US', {maximumFractionDigits: 1}),
        );
      },
    ),
  );
});
