import {describe, expect, test} from 'vitest';
import {AccessError, RetryableError} from '../../src/core/errors.ts';
import {backOffMs, DEFAULT_RETRY, pauseAfter, retry} from '../../src/core/pauses.ts';

describe('a pause before a retry', () => {
  test('ends at once when it is aborted, and fails with the reason', async () => {
    const stop = new AbortController();
    const reason = new AccessError('the account is stopped');
    const policy = {...DEFAULT_RETRY, baseMs: 30_000, random: () => 1};
    const run = async () => {
      queueMicrotask(() => setImmediate(() => stop.abort(reason)));
      throw new RetryableError('not now');
    };
    await expect(retry(run, policy, stop.signal)).rejects.toBe(reason);
  });

  test('does not follow an error that a retry cannot fix', async () => {
    let runs = 0;
    const run = async () => {
      runs++;
      throw new AccessError('no access');
    };
    await expect(retry(run, DEFAULT_RETRY)).rejects.toThrow('no access');
    expect(runs).toBe(1);
  });
});

test('a pause doubles up to its limit, with the requested random part', () => {
  const pauses = (fixed: number, random: number) =>
    [0, 1, 2, 3, 40].map((failures) =>
      backOffMs(failures, {firstMs: 1_000, longestMs: 5_000, fixed, random: () => random}),
    );
  expect(pauses(1, 0)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
  expect(pauses(0.5, 0)).toEqual([500, 1_000, 2_000, 2_500, 2_500]);
  expect(pauses(0, 0.25)).toEqual([250, 500, 1_000, 1_250, 1_250]);
});

test('a pause is never shorter than the retryAfterMs of the error', () => {
  const backOff = {firstMs: 1_000, longestMs: 5_000, fixed: 1};
  const asked = new RetryableError('not now', {retryAfterMs: 9_000});
  expect(pauseAfter(asked, 0, backOff)).toBe(9_000);
  expect(pauseAfter(new RetryableError('not now', {retryAfterMs: 10}), 1, backOff)).toBe(2_000);
  expect(pauseAfter(new Error('broken'), 0, backOff)).toBe(1_000);
});
