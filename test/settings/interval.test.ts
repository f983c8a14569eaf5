import fc from 'fast-check';
import {expect, test} from 'vitest';
import {formatInterval} from '../../src/core/format.ts';
import {interval, intervalMs} from '../../src/settings/section.ts';

test.each([
  ['60s', '1m'],
  ['60m', '1h'],
  ['24h', '1d'],
  ['90m', '90m'],
  ['1500ms', '1500ms'],
])('%s is normalized to %s', (written, spelled) => {
  expect(interval.parse(written)).toBe(spelled);
});

test.each(['5 min', '0m', '-1h', '1.5h', '1w', '999999999999d', ''])('%j is invalid', (text) => {
  expect(interval.safeParse(text).success).toBe(false);
});

test('an interval is unchanged after it is formatted and parsed', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.integer({min: 1, max: 400 * 86_400_000}),
        fc.maxSafeInteger().map((each) => Math.max(1, Math.abs(each))),
      ),
      (ms) => {
        const text = formatInterval(ms);
        expect(intervalMs(text)).toBe(ms);
        expect(interval.parse(text)).toBe(text);
      },
    ),
  );
});
