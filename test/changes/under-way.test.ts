// How far work is, how fast it goes and how long it will take, as it is told.

import {describe, expect, test} from 'vitest';
import {describeChanges} from '../../src/changes/words.ts';
import {describePace, paceOf} from '../../src/core/format.ts';
import {describeSweep} from '../../src/health/account-status.ts';

describe('the pace', () => {
  test.each([
    [{done: 1_500, total: 3_000, elapsedMs: 5_000}, 300, 5_000],
    [{done: 1_500, total: null, elapsedMs: 5_000}, 300, null],
    [{done: 0, total: 3_000, elapsedMs: 5_000}, null, null],
    [{done: 900, total: 3_000, elapsedMs: 900}, null, null],
    [{done: 3_100, total: 3_000, elapsedMs: 10_000}, 310, null],
  ])(
    'of %j has a rate and a remaining time, if there is enough data',
    (work, perSecond, leftMs) => {
      expect(paceOf(work)).toMatchObject({perSecond, leftMs});
    },
  );

  test.each([
    [
      {done: 1_500, total: 3_000, elapsedMs: 5_000},
      '1,500 of about 3,000 records, 300 a second, 5 s left',
    ],
    [{done: 1_500, total: null, elapsedMs: 5_000}, '1,500 records so far, 300 a second'],
    [{done: 3_100, total: 3_000, elapsedMs: 10_000}, '3,100 of about 3,000 records, 310 a second'],
    [{done: 3, total: 10, elapsedMs: 60_000}, '3 of about 10 records, 3 a minute, 2 min 20 s left'],
    [{done: 0, total: 10, elapsedMs: 60_000}, '0 of about 10 records'],
    [
      {done: 2_999, total: 3_000, elapsedMs: 5_000},
      '2,999 of about 3,000 records, 600 a second, 1 s left',
    ],
  ])('of %j is described in words', (work, words) => {
    expect(describePace(paceOf(work), {things: 'records'})).toBe(words);
  });

  test('is described without "about" if the total is exact', () => {
    const pace = paceOf({done: 1, total: 2, elapsedMs: 0});
    expect(describePace(pace, {things: 'changes', isExact: true})).toBe('1 of 2 changes');
  });
});

describe('the progress of a sweep', () => {
  const running: Parameters<typeof describeSweep>[0] = {
    accountId: '1',
    accountName: 'acme',
    sweepId: '12',
    stream: 'jobs',
    mode: 'full',
    windowName: null,
    recordNumber: null,
    stage: 'read',
    records: 1_500,
    elapsedMs: 5_000,
    lastRecords: 3_000,
  };

  test('is estimated from the last sweep of its kind', () => {
    const words = 'sweep 12 of jobs (acme): 1,500 of about 3,000 records, 300 a second, 5 s left';
    expect(describeSweep(running)).toMatchObject({
      account: 'acme',
      text: words,
      pace: {leftMs: 5_000},
    });
    expect(describeSweep({...running, lastRecords: null}).text).toBe(
      'sweep 12 of jobs (acme): 1,500 records so far, 300 a second',
    );
  });

  test('shows that the sweep is being verified, without a remaining time', () => {
    expect(describeSweep({...running, stage: 'verify'})).toMatchObject({
      text: 'sweep 12 of jobs (acme): 1,500 records read, now verified',
      pace: {leftMs: null},
    });
  });
});

describe('the progress of changes', () => {
  const moving = {accountId: '1', accountName: 'acme', left: 1_200, settledLastMinute: 1_080};

  test('is estimated from the changes settled in the last minute', () => {
    expect(describeChanges(moving)).toMatchObject({
      text: 'acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go',
      pace: {perSecond: 18},
    });
  });

  test('has no rate and no remaining time if none was settled', () => {
    expect(describeChanges({...moving, left: 1, settledLastMinute: 0}).text).toBe(
      'acme: 1 change to carry',
    );
  });
});
