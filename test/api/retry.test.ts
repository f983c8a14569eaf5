import {describe, expect, test} from 'vitest';
import {DEFAULT_RETRY, retry} from '../../src/api/retry.ts';
import {AccessError, RetryableError} from '../../src/core/errors.ts';

describe('a pause before the next try', () => {
  test('ends at once when it is aborted, with the reason itself', async () => {
    const stop = new AbortController();
    const reason = new AccessError('the account is stopped');
    const policy = {...DEFAULT_RETRY, baseMs: 30_000, random: () => 1};
    const run = async () => {
      queueMicrotask(() => setImmediate(() => stop.abort(reason)));
      throw new RetryableError('not now');
    };
    await expect(retry(run, policy, stop.signal)).rejects.toBe(reason);
  });

  test('does not come after an error that no repetition mends', async () => {
    let runs = 0;
    const run = async () => {
      runs++;
      throw new AccessError('no access');
    };
    await expect(retry(run, DEFAULT_RETRY)).rejects.toThrow('no access');
    expect(runs).toBe(1);
  });
});
