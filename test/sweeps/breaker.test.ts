import {expect, test} from 'vitest';
import {tombstoneLimit} from '../../src/sweeps/full-sweep.ts';

test.each([
  [10, 3],
  [20, 3],
  [40, 4],
  [120, 12],
  [499, 49],
  [500, 50],
  [2_500, 50],
  [2_600, 52],
  // 2.0 % is allowed, and 2.1 % would be 210 rows.
  [10_000, 200],
])('of %i live rows a sweep may mark %i as deleted', (liveRows, limit) => {
  expect(tombstoneLimit(liveRows, null)).toBe(limit);
});

test.each([
  [{rows: 7}, 7],
  [{rows: 0}, 0],
  [{percent: 60}, 24],
  [{percent: 0.5}, 0],
  [{percent: 100}, 40],
])('of 40 live rows, with the limit %o, a sweep may mark %i as deleted', (set, limit) => {
  expect(tombstoneLimit(40, set)).toBe(limit);
});
