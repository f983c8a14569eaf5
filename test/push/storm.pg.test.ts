// Changes carried by workers that die and stall, over a line that loses, delays, cuts and garbles,
// each judged by its outcome (docs/traps.md "Answers that were lost"). More of the same: npm run
// torture -- push.

import {afterAll, expect, test} from 'vitest';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {liveAll} from '../labs/push/live.ts';
import {runsPerWorld} from '../labs/push/run.ts';
import {describeTally} from '../labs/push/tally.ts';

const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

test('in 200 runs no change is lost, sent twice or unreported, and at most 0.5 % need a person', {
  timeout: 900_000,
}, async () => {
  const tally = await liveAll(pageReader, {worlds: 200 / runsPerWorld});
  process.stdout.write(`${describeTally(tally)}\n`);
  expect(tally.violations).toEqual([]);
  // An author in a deadlock with a worker is told so, and none of the author's writes is kept.
  expect(tally.refusals.filter((refusal) => !refusal.includes('deadlock'))).toEqual([]);
  expect(tally.runs).toBe(200);
  expect(tally.leftToPerson.length).toBeLessThanOrEqual(tally.changes * 0.005);
  // The trouble did strike. How often each kind of it does hangs on the order of requests: 66 to
  // 135 in all, a rare kind once.
  const {pass: _, ...troubles} = tally.fates;
  expect(Object.values(troubles).reduce((sum, count) => sum + count)).toBeGreaterThan(30);
  expect(tally.deaths).toBeGreaterThan(0);
  expect(tally.stalls).toBeGreaterThan(0);
  expect(tally.outages).toBeGreaterThan(0);
});
