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

test('a heap that comes and goes does not grow', () => {
  expect(findGrowth(live(30, (minute) => 250 + 60 * Math.sin(minute * 3)))).toBeNull();
});

test('nor does one whose garbage is collected every eight minutes', () => {
  const sawTooth = (minute: number) => 200 + 12 * (minute % 8);
  expect(findGrowth(live(30, sawTooth))).toBeNull();
});

test('nor does one that lived for little more than a wave', () => {
  expect(findGrowth(live(9, (minute) => 200 + 12 * (minute % 8)))).toBeNull();
});

test('what is kept of each wave is growth', () => {
  const kept = (minute: number) => 200 + 12 * (minute % 8) + 3 * minute;
  expect(findGrowth(live(30, kept))).toMatch(/^worker grows by [23]\.\d MB a minute$/);
});

test('what the first minute takes does not count', () => {
  const life = live(30, (minute) => (minute < warmMinutes ? 50 + 200 * minute : 250));
  expect(life.megabytes).toMatchObject({first: 250, last: 250});
  expect(findGrowth(life)).toBeNull();
});

test('memory that grows beyond the bound is told, and so are descriptors', () => {
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

test('of a life too short nothing is told', () => {
  expect(findGrowth(live(tellingMinutes - 1, (minute) => 250 + 100 * minute))).toBeNull();
});
