import {expect, test} from 'vitest';
import {SharedReads} from '../../src/console/live.ts';

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

test('whoever asks within a second is given what another has read', async () => {
  const {read, pass} = open();
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  pass(999);
  expect(await read()).toBe(1);
  pass(1);
  expect(await read()).toBe(2);
});

test('whoever has just written reads anew, and so do the others after that', async () => {
  const {read} = open();
  await read();
  expect(await read(undefined, true)).toBe(2);
  expect(await read()).toBe(2);
});

test('where something must not be shown again, every story is read anew', async () => {
  const {read, readings} = open();
  await read(60_000);
  readings.forgetRecent();
  expect(await read(60_000)).toBe(1);
  readings.forgetAll();
  expect(await read(60_000)).toBe(2);
});

test('a story that is kept longer is shown, and read anew behind the page', async () => {
  const {read, pass} = open();
  await read(60_000);
  pass(60_000);
  expect(await read(60_000)).toBe(1);
  await Promise.resolve();
  expect(await read(60_000)).toBe(2);
  pass(600_000);
  expect(await read(60_000)).toBe(3);
});

test('after something moved nobody is given what was read before', async () => {
  const {read, readings} = open();
  const kept = () => readings.read('board', async () => 'board', {isFresh: false, keptMs: 60_000});
  await Promise.all([read(), kept()]);
  readings.forgetRecent();
  expect(await read()).toBe(2);
  expect(
    await readings.read('board', async () => 'another', {isFresh: false, keptMs: 60_000}),
  ).toBe('board');
});

test('what could not be read is no answer for the next one', async () => {
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
