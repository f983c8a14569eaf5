import {beforeEach, expect, test} from 'vitest';
import {Outage} from '../../jobs/queue.ts';
import {createLogger} from '../../src/core/log.ts';

let lines: {msg: string; reason?: string; durationMs?: number}[];
let now: number;
let outage: Outage;

beforeEach(() => {
  lines = [];
  now = 0;
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  outage = new Outage(createLogger({level: 'warn', secrets: [], destination}), () => now);
});

test('half a minute of failures logs two lines: out of reach, and within reach again', () => {
  for (now = 0; now < 30_000; now += 500) outage.failed(`connect ECONNREFUSED ${now}`);
  for (now = 31_000; now < 60_000; now += 2_000) outage.succeeded();
  expect(lines).toEqual([
    expect.objectContaining({
      reason: 'connect ECONNREFUSED 0',
      msg: expect.stringContaining('out of reach'),
    }),
    expect.objectContaining({
      durationMs: 31_000,
      msg: expect.stringContaining('within reach again'),
    }),
  ]);
});

test('a round that fails for another reason than the logged one logs one more line', () => {
  outage.failed('terminating connection due to administrator command');
  for (now = 0; now < 10_000; now += 2_000) outage.roundFailed(`it is read-only, as of ${now}`);
  outage.failed('read ECONNRESET');
  expect(lines.map(({reason}) => reason)).toEqual([
    'terminating connection due to administrator command',
    'it is read-only, as of 0',
  ]);
});

test('a failed round alone starts the outage and logs one line', () => {
  outage.roundFailed('its disk is full');
  outage.roundFailed('its disk is full');
  expect(lines).toHaveLength(1);
});

test('failures on one connection while another one works log one line', () => {
  for (now = 0; now < 60_000; now += 1_000) {
    outage.failed('NOPERM');
    outage.succeeded();
  }
  expect(lines).toHaveLength(1);
});

test('each outage logs its start and its end; without an outage nothing is logged', () => {
  outage.succeeded();
  for (const from of [0, 100_000]) {
    now = from;
    outage.failed('gone');
    now = from + 20_000;
    outage.succeeded();
  }
  expect(lines).toHaveLength(4);
});

test('an outage lasts until nothing has failed for ten seconds', () => {
  expect(outage.isUnderWay).toBe(false);
  outage.failed('connect ECONNREFUSED');
  for (now = 2_000; now < 10_000; now += 2_000) outage.succeeded();
  expect(outage.isUnderWay).toBe(true);
  outage.succeeded();
  expect(outage.isUnderWay).toBe(false);
});
