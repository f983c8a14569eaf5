import {Temporal} from 'temporal-polyfill';
import {expect, test} from 'vitest';
import {latestNight} from '../../src/cli/demo-past.ts';

test.each([
  ['2026-11-24T02:02:00[America/New_York]', '2026-11-23'],
  ['2026-11-24T02:30:00[America/New_York]', '2026-11-24'],
  ['2026-11-24T23:59:59[America/New_York]', '2026-11-24'],
  ['2026-01-01T00:00:00[America/New_York]', '2025-12-31'],
])('at %s the latest nightly run of a demo is that of %s', (now, day) => {
  expect(latestNight(Temporal.ZonedDateTime.from(now)).toString()).toBe(day);
});
