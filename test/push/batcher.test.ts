import {expect, test} from 'vitest';
import {Batcher} from '../../src/push/run.ts';

test('a single item runs at once, and items that arrive meanwhile run as one batch', async () => {
  const batches: (readonly number[])[] = [];
  const first = Promise.withResolvers<void>();
  const batcher = new Batcher(async (items: readonly number[]) => {
    batches.push(items);
    if (batches.length === 1) await first.promise;
    return items.map((item) => item * 10);
  });
  const all = [1, 2, 3].map((item) => batcher.do(item));
  expect(batches).toEqual([[1]]);
  first.resolve();
  expect(await Promise.all(all)).toEqual([10, 20, 30]);
  expect(batches).toEqual([[1], [2, 3]]);
});

test('if a batch fails, each item succeeds or fails separately', async () => {
  const batcher = new Batcher(async (items: readonly number[]) => {
    if (items.includes(3)) throw new Error(`no ${items.join()}`);
    return items;
  });
  const ends = await Promise.allSettled([1, 2, 3, 4].map((item) => batcher.do(item)));
  expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.message))).toEqual([
    1,
    2,
    'no 3',
    4,
  ]);
});

test('an item that a batch leaves out runs alone, and later batches continue', async () => {
  const batches: (readonly number[])[] = [];
  const held = Promise.withResolvers<void>();
  const batcher = new Batcher(async (items: readonly number[]) => {
    batches.push(items);
    if (items.length > 1) return items.map((item) => (item < 3 ? null : item));
    if (items.includes(1)) await held.promise;
    return items;
  });
  const first = batcher.do(0);
  const left = [1, 2].map((item) => batcher.do(item));
  expect(await Promise.all([first, batcher.do(3)])).toEqual([0, 3]);
  expect(await batcher.do(4)).toBe(4);
  held.resolve();
  expect(await Promise.all(left)).toEqual([1, 2]);
  expect(batches).toEqual([[0], [1, 2, 3], [1], [4], [2]]);
});

test('a batch waits for more items, unless it has enough', async () => {
  const batches: (readonly number[])[] = [];
  const batcher = new Batcher(
    async (items: readonly number[]) => {
      batches.push(items);
      return items;
    },
    {isEnough: (count) => count === 3, gatherMs: {each: 3_600_000, most: 3_600_000}},
  );
  await batcher.do(1);
  const two = [2, 3].map((item) => batcher.do(item));
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches).toEqual([[1]]);
  await Promise.all([...two, batcher.do(4)]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});
