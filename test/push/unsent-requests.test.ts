// How many requests are stored as sent while they still wait for their turn.

import {expect, test} from 'vitest';
import {UnsentRequests} from '../../src/push/run.ts';

const {signal} = new AbortController();
/** After all that is ready now. */
const later = () => new Promise((resolve) => setImmediate(resolve));

async function enterMany(unsent: UnsentRequests, count: number, concurrency: number) {
  const entered: (() => void)[] = [];
  for (let n = 0; n < count; n++)
    void unsent.enter(concurrency, signal).then((leave) => entered.push(leave));
  await later();
  return entered;
}

test('twice as many requests are stored as run at once; one that leaves lets one in', async () => {
  const unsent = new UnsentRequests();
  const entered = await enterMany(unsent, 7, 3);
  expect(entered).toHaveLength(6);
  entered[0]?.();
  entered[0]?.();
  await later();
  expect(entered).toHaveLength(7);
});

test('when more requests may run at once, more are stored', async () => {
  const unsent = new UnsentRequests();
  const entered = await enterMany(unsent, 5, 1);
  expect(entered).toHaveLength(2);
  const more = await enterMany(unsent, 1, 3);
  expect(entered.length + more.length).toBe(6);
});

test('an abort ends the wait with its reason, and the next one is let in', async () => {
  const unsent = new UnsentRequests();
  const [leave] = await enterMany(unsent, 2, 1);
  const stop = new AbortController();
  const waiting = unsent.enter(1, stop.signal);
  const behind = unsent.enter(1, signal);
  stop.abort(new Error('the account is paused'));
  await expect(waiting).rejects.toThrow('the account is paused');
  leave?.();
  await expect(behind).resolves.toBeTypeOf('function');
});

test('half of those that may be stored are enough to be stored together', async () => {
  const unsent = new UnsentRequests();
  await enterMany(unsent, 1, 4);
  expect([1, 3, 4, 9].map((count) => unsent.areMany(count))).toEqual([false, false, true, true]);
});
