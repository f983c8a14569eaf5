// The judgement of chaos on memory and file descriptors: it tells growth from a wave, and skips a
// short life.

import {expect, test} from 'vitest';
import {describeLife, findGrowth, mostAMinute, tellingMinutes} from './vitals.ts';

const everyMs = 2_000;
/** The memory taken in the first minute is kept, and is no growth. */
const warmMinutes = 1;

/** A life of so many warm minutes, sampled as the torture does. */
function live(
  minutes: number,
  megabytesAt: (minute: number) => number,
  descriptorsAt = (_minute: number) => 40,
) {
  const samples = Array.from(
    {length: ((warmMinutes + minutes) * 60_000) / everyMs + 1},
    (_, at) => {
      const minute = (at * everyMs) / 60_000;
      return {
        atMs: at * everyMs,
        megabytes: megabytesAt(minute),
        descriptors: descriptorsAt(minute),
      };
    },
  );
  return describeLife('worker', samples);
}

test('a heap that rises and falls does not grow', () => {
  expect(findGrowth(live(30, (minute) => 250 + 60 * Math.sin(minute * 3)))).toBeNull();
});

test('a heap that is collected every eight minutes does not grow', () => {
  const sawTooth = (minute: number) => 200 + 12 * (minute % 8);
  expect(findGrowth(live(30, sawTooth))).toBeNull();
});

test('a heap observed for little more than one wave does not grow', () => {
  expect(findGrowth(live(9, (minute) => 200 + 12 * (minute % 8)))).toBeNull();
});

test('memory kept after each wave is reported as growth', () => {
  const kept = (minute: number) => 200 + 12 * (minute % 8) + 3 * minute;
  expect(findGrowth(live(30, kept))).toMatch(/^worker grows by [23]\.\d MB a minute$/);
});

test('memory allocated in the first minute does not count', () => {
  const life = live(30, (minute) => (minute < warmMinutes ? 50 + 200 * minute : 250));
  expect(life.megabytes).toMatchObject({first: 250, last: 250});
  expect(findGrowth(life)).toBeNull();
});

test('growth of memory or descriptors beyond the limit is reported', () => {
  const steep = 2 * mostAMinute.megabytes;
  expect(findGrowth(live(30, (minute) => 250 + steep * minute))).toBe(
    `worker grows by ${steep.toFixed(1)} MB a minute`,
  );
  expect(
    findGrowth(
      live(
        30,
        () => 250,
        (minute) => 40 + Math.floor(minute),
      ),
    ),
  ).toMatch(/^worker grows by 1\.0 descriptors a minute$/);
});

test('no growth is reported for a process that ran too briefly', () => {
  expect(findGrowth(live(tellingMinutes - 1, (minute) => 250 + 100 * minute))).toBeNull();
});
