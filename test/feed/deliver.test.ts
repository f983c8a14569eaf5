// How many messages are delivered at the same time.

import {expect, test} from 'vitest';
import {deliverDue} from '../../src/feed/deliver.ts';

const listDue = (count: number) =>
  Array.from({length: count}, (_, at) => ({id: String(at), fence: 1, failures: 0}));

test('a slow receiver delays no message but its own', async () => {
  const due = listDue(20);
  const delivered: string[] = [];
  const others = Promise.withResolvers<void>();
  await deliverDue(
    {atOnce: 2},
    async (most) => due.splice(0, most),
    async ({id}) => {
      if (id === '0') await others.promise;
      delivered.push(id);
      if (delivered.length === 19) others.resolve();
    },
  );
  expect(delivered).toHaveLength(20);
  expect(delivered.at(-1)).toBe('0');
});

test('no more messages than allowed are delivered at the same time', async () => {
  const due = listDue(20);
  let running = 0;
  let most = 0;
  await deliverDue(
    {atOnce: 3},
    async (count) => due.splice(0, count),
    async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    },
  );
  expect(most).toBe(3);
  expect(due).toEqual([]);
});

test('after an abort no message is claimed', async () => {
  const due = listDue(20);
  const abort = new AbortController();
  const delivered: string[] = [];
  await deliverDue(
    {signal: abort.signal, atOnce: 1},
    async (most) => due.splice(0, most),
    async ({id}) => {
      delivered.push(id);
      if (id === '2') abort.abort();
    },
  );
  expect(delivered).toEqual(['0', '1', '2']);
  expect(due).toHaveLength(17);
});

test('after an error no message is claimed, and all that were begun end first', async () => {
  const due = listDue(20);
  const ended: string[] = [];
  const delivering = deliverDue(
    {atOnce: 2},
    async (most) => due.splice(0, most),
    async ({id}) => {
      if (id === '0') throw new Error('the database is away');
      await new Promise((resolve) => setImmediate(resolve));
      ended.push(id);
    },
  );
  await expect(delivering).rejects.toThrow('the database is away');
  expect(ended).toEqual(['1']);
  expect(due).toHaveLength(18);
});
