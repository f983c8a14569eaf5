import {expect, test, vi} from 'vitest';
import {SharedReads, startRefreshing} from '../../src/console/live.ts';

/** Readings by a clock that the test moves, each of which says how often there was one. */
function open() {
  let now = 0;
  let count = 0;
  const readings = new SharedReads(() => now);
  const read = (keptMs?: number, isFresh = false) =>
    readings.read('page', async () => ++count, {isFresh, keptMs});
  return {
    read,
    pass: (ms: number) => {
      now += ms;
    },
    readings,
  };
}

test('requests within a second share one read', async () => {
  const {read, pass} = open();
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  pass(999);
  expect(await read()).toBe(1);
  pass(1);
  expect(await read()).toBe(2);
});

test('a request after a write reads again, and later requests share that read', async () => {
  const {read} = open();
  await read();
  expect(await read(undefined, true)).toBe(2);
  expect(await read()).toBe(2);
});

test('forgetAll also drops long-lived results, and forgetRecent does not', async () => {
  const {read, readings} = open();
  await read(60_000);
  readings.forgetRecent();
  expect(await read(60_000)).toBe(1);
  readings.forgetAll();
  expect(await read(60_000)).toBe(2);
});

test('an expired long-lived result is served while it is refreshed in the background', async () => {
  const {read, pass} = open();
  await read(60_000);
  pass(60_000);
  expect(await read(60_000)).toBe(1);
  await Promise.resolve();
  expect(await read(60_000)).toBe(2);
  pass(600_000);
  expect(await read(60_000)).toBe(3);
});

test('forgetRecent drops short-lived results and keeps long-lived ones', async () => {
  const {read, readings} = open();
  const kept = () => readings.read('board', async () => 'board', {isFresh: false, keptMs: 60_000});
  await Promise.all([read(), kept()]);
  readings.forgetRecent();
  expect(await read()).toBe(2);
  expect(
    await readings.read('board', async () => 'another', {isFresh: false, keptMs: 60_000}),
  ).toBe('board');
});

test('a failed read is not cached', async () => {
  const {readings} = open();
  const failed = readings.read('page', () => Promise.reject(new Error('away')), {
    isFresh: false,
    keptMs: undefined,
  });
  await expect(failed).rejects.toThrow('away');
  expect(await readings.read('page', async () => 'here', {isFresh: false, keptMs: undefined})).toBe(
    'here',
  );
});

const minute = 60_000;
const day = 86_400_000;

test('a long-lived result is not read again while the warehouse does not change', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('as it was');
  await read(minute);
  for (let at = 0; at < 100; at++) {
    pass(minute / 2);
    await readings.keepUp('as it was');
  }
  expect(await read(minute)).toBe(1);
});

test('after a change, a long-lived result is refreshed before a request needs it', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('as it was');
  await read(minute);
  pass(4.5 * minute);
  await readings.keepUp('moved');
  // Half as old as it may be: now it is read, and nobody has asked.
  pass(minute / 2);
  await readings.keepUp('moved');
  pass(minute / 2);
  expect(await read(minute)).toBe(2);
  // It is of the warehouse as it was when it was read: nothing has moved since.
  pass(9 * minute);
  await readings.keepUp('moved');
  expect(await read(minute)).toBe(2);
});

test('a long-lived result is refreshed after each change of the warehouse', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('before');
  await read(minute);
  pass(5 * minute);
  await readings.keepUp('after');
  pass(1);
  expect(await read(minute)).toBe(2);
  pass(5 * minute);
  await readings.keepUp('later');
  expect(await read(minute)).toBe(3);
});

test('a result that contains an age is refreshed even if no data changes', async () => {
  const {readings, pass} = open();
  let count = 0;
  const read = () =>
    readings.read('page', async () => ++count, {isFresh: false, keptMs: minute, ages: true});
  await readings.keepUp('as it was');
  await read();
  for (const expected of [1, 2, 2, 3]) {
    pass(2.5 * minute);
    await readings.keepUp('as it was');
    // Asked as it was kept: younger than a minute, or it is read behind the page as well.
    expect(count).toBe(expected);
  }
});

test('without news of the warehouse, a request waits if the result is too old', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('as it was');
  await read(minute);
  pass(10 * minute);
  expect(await read(minute)).toBe(2);
});

test('a long-lived result is dropped after eight days without a request', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('as it was');
  await read(minute);
  for (let at = 0; at < 9; at++) {
    pass(day);
    await readings.keepUp('as it was');
  }
  expect(await read(minute)).toBe(2);
});

test('only the hundred long-lived results that were requested last are kept', async () => {
  const {readings, pass} = open();
  let count = 0;
  const read = (key: string) =>
    readings.read(key, async () => `${key} ${++count}`, {isFresh: false, keptMs: minute});
  await readings.keepUp('as it was');
  for (let at = 0; at < 101; at++) {
    await read(`page ${at}`);
    pass(1);
  }
  await read('page 0');
  await readings.keepUp('as it was');
  expect(await read('page 0')).toBe('page 0 1');
  expect(await read('page 2')).toBe('page 2 3');
  expect(await read('page 1')).toBe('page 1 102');
});

test('if a background refresh fails, the next request reads again and gets the error', async () => {
  const {readings, pass} = open();
  let isAway = false;
  const read = () =>
    readings.read('page', async () => (isAway ? Promise.reject(new Error('away')) : 'here'), {
      isFresh: false,
      keptMs: minute,
    });
  expect(await read()).toBe('here');
  isAway = true;
  pass(5 * minute);
  await readings.keepUp('moved');
  await expect(read()).rejects.toThrow('away');
});

test('a short-lived result is not refreshed in the background', async () => {
  const {read, pass, readings} = open();
  await readings.keepUp('as it was');
  await read();
  pass(1_000);
  await readings.keepUp('as it was');
  expect(await read()).toBe(2);
});

test('the warehouse is polled only while there are long-lived results, until stopped', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  try {
    const {read, readings} = open();
    let asked = 0;
    const stop = startRefreshing(readings, async () => `state ${++asked}`);
    await read();
    await vi.advanceTimersByTimeAsync(minute);
    expect(asked).toBe(0);
    await readings.read('board', async () => 'board', {isFresh: false, keptMs: minute});
    await vi.advanceTimersByTimeAsync(minute);
    expect(asked).toBe(2);
    await stop();
    await vi.advanceTimersByTimeAsync(minute);
    expect(asked).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
