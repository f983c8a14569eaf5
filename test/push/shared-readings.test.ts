import {describe, expect, test} from 'vitest';
import {SharedReadings} from '../../src/push/run.ts';

const list = {};

/** A list whose readings begin and end when the test says so. */
function openList() {
  const readings = new SharedReadings<string>(new AbortController().signal);
  const ends: PromiseWithResolvers<string>[] = [];
  let begun = Promise.withResolvers<void>();
  const ask = () =>
    readings.ask(list, async () => {
      const end = Promise.withResolvers<string>();
      ends.push(end);
      begun.resolve();
      begun = Promise.withResolvers();
      return await end.promise;
    });
  return {readings, ends, ask, begins: () => begun.promise};
}

describe('a list that several callers request', () => {
  test('is read once for all requests made before the reading starts', async () => {
    const {ends, ask, begins} = openList();
    const beginning = begins();
    const asked = [ask(), ask(), ask()];
    await beginning;
    ends[0]?.resolve('read');
    expect(await Promise.all(asked)).toEqual(['read', 'read', 'read']);
    expect(ends).toHaveLength(1);
  });

  test('is read again for requests made during a reading', async () => {
    const {ends, ask, begins} = openList();
    const first = begins();
    const early = ask();
    await first;
    const second = begins();
    const late = [ask(), ask()];
    ends[0]?.resolve('older');
    expect(await early).toBe('older');
    await second;
    ends[1]?.resolve('newer');
    expect(await Promise.all(late)).toEqual(['newer', 'newer']);
    expect(ends).toHaveLength(2);
  });

  test('fails all of them if it cannot be read, and is read again later', async () => {
    const {ends, ask, begins} = openList();
    const first = begins();
    const asked = Promise.allSettled([ask(), ask()]);
    await first;
    ends[0]?.reject(new Error('500'));
    expect(await asked).toMatchObject([{status: 'rejected'}, {status: 'rejected'}]);
    const second = begins();
    const later = ask();
    await second;
    ends[1]?.resolve('read');
    expect(await later).toBe('read');
    expect(ends).toHaveLength(2);
  });

  test('is not confused with another list, such as that of a reopened account', async () => {
    const {readings} = openList();
    const asked = [readings.ask({}, async () => 'one'), readings.ask({}, async () => 'other')];
    expect(await Promise.all(asked)).toEqual(['one', 'other']);
  });
});
