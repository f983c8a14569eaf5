// One sweep as steps: only what rows keep, and what is usual.

import {expect, test} from 'vitest';
import type {SweepStory} from '../../src/sweeps/story.ts';
import {countNames, type Sweep} from '../../src/sweeps/sweeps.ts';
import {describeSteps, listSteps} from '../../src/sweeps/words.ts';

const at = (second: number) => new Date(Date.UTC(2026, 10, 24, 3, 0, second)).toISOString();
const counts = Object.fromEntries(
  countNames.map((name) => [name, 0]),
) as unknown as Sweep['counts'];

function tell(given: Partial<Sweep>, more: Partial<SweepStory> = {}): SweepStory {
  const sweep: Sweep = {
    sweepId: '9',
    accountId: '1',
    stream: 'jobs',
    mode: 'full',
    windowName: null,
    recordNumber: null,
    state: 'certified',
    requestedBy: 'schedule',
    dueAt: at(0),
    startedAt: at(2),
    endedAt: at(20),
    stage: 'verify',
    nextPage: 3,
    fence: 1,
    leaseUntil: null,
    failures: 0,
    rows: null,
    reasons: [],
    error: null,
    evidence: {},
    approvedAt: null,
    counts,
    ...given,
  };
  return {sweep, tombstones: [], usual: null, docs: null, ...more};
}

const usual = {seconds: 15, readSeconds: 8, requests: 9, records: 100, changed: 0};
const draw = (story: SweepStory) =>
  listSteps(story).map(({step, from, to, isUnderWay, usualSeconds}) => [
    step,
    from,
    to,
    isUnderWay,
    usualSeconds,
  ]);

test('a full sweep has a read and a verify step, each with its usual duration', () => {
  expect(draw(tell({evidence: {readAt: at(12)}}, {usual}))).toEqual([
    ['waited for a worker', at(0), at(2), false, null],
    ['read', at(2), at(12), false, 8],
    ['verified', at(12), at(20), false, 7],
  ]);
});

test('without the end of reading, both steps are one; an unknown usual time is not guessed', () => {
  expect(draw(tell({dueAt: at(5)}, {usual}))).toEqual([
    ['read and verified', at(2), at(20), false, 15],
  ]);
  expect(
    draw(tell({evidence: {readAt: at(12)}}, {usual: {...usual, readSeconds: null}})).at(-1),
  ).toEqual([...['verified', at(12), at(20), false, null]]);
});

test('a running step has no end', () => {
  const running = {state: 'running', endedAt: null, dueAt: at(2)} as const;
  expect(draw(tell({...running, stage: 'read'}))).toEqual([['read', at(2), null, true, null]]);
  expect(draw(tell({...running, evidence: {readAt: at(9)}})).at(-1)).toEqual([
    ...['verified', at(9), null, true, null],
  ]);
  expect(draw(tell({state: 'due', startedAt: null, endedAt: null, stage: 'read'}))).toEqual([
    ['waits for a worker', at(0), null, true, null],
  ]);
});

test('an approved sweep has all its steps; only the time of the stop is unknown', () => {
  const gone = {
    number: '4',
    status: 404,
    message: 'gone',
    mergedInto: null,
    requestedAt: at(61),
    writtenAt: at(62),
    undoneAt: null,
  };
  const story = tell(
    {
      stage: 'approved',
      approvedAt: at(60),
      endedAt: at(63),
      dueAt: at(60),
      evidence: {readAt: at(12)},
    },
    {tombstones: [gone]},
  );
  expect(draw(story)).toEqual([
    ['read', at(2), at(12), false, null],
    ['verified', at(12), null, false, null],
    ['waited for a person', null, at(60), false, null],
    ['requested again, and marked what is missing', at(60), at(63), false, null],
  ]);
  expect(listSteps(story).at(-1)?.text).toBe('1 row marked deleted');
});

test('requests that found missing records are one step, from the first to the last', () => {
  const gone = (number: string, second: number) => ({
    number,
    status: 404,
    message: 'gone',
    mergedInto: null,
    requestedAt: at(second),
    writtenAt: at(20),
    undoneAt: null,
  });
  const story = tell({evidence: {readAt: at(12)}}, {tombstones: [gone('4', 15), gone('2', 14)]});
  expect(draw(story).at(-1)).toEqual(['found missing records', at(14), at(15), false, null]);
  expect(listSteps(story).at(-1)?.text).toBe('2 answers');
});

test('a window sweep has one step, read; a record sweep has one step, asked', () => {
  expect(
    draw(tell({mode: 'window', windowName: 'today', dueAt: at(2)})).map(([step]) => step),
  ).toEqual(['read']);
  expect(
    draw(tell({mode: 'record', recordNumber: '4', dueAt: at(2)})).map(([step]) => step),
  ).toEqual(['asked']);
});

test('the text of a step shows its duration and the usual duration', () => {
  expect(describeSteps(tell({evidence: {readAt: at(12)}}, {usual}), at(30))).toEqual([
    'waited for a worker: 2 s',
    'read: 10 s, usually 8 s',
    'verified: 8 s, usually 7 s',
  ]);
  const running = tell({state: 'running', stage: 'read', endedAt: null, dueAt: at(2)});
  expect(describeSteps(running, at(9))).toEqual(['read: 7 s so far']);
});
