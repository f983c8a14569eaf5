// Any login may send a notice, with any text, as often as it likes.

import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {handleNotices} from '../../jobs/workers.ts';

function open(served: readonly string[], look: (accountIds: readonly string[]) => Promise<void>) {
  const stopping = new AbortController();
  const isServed = (accountId: string) => served.includes(accountId);
  return {
    notify: handleNotices({isServed, search: look, signal: stopping.signal}),
    stop: () => stopping.abort(),
  };
}

test('a notice whose payload is not a served account is ignored', async () => {
  const looks: (readonly string[])[] = [];
  const {notify} = open(['7'], async (accountIds) => void looks.push(accountIds));
  for (const payload of ['', '8', '07', '7 ', "7'; --", 'x'.repeat(8_000), '__proto__'])
    notify(payload);
  for (let n = 100; n < 100_100; n++) notify(String(n));
  await turn();
  expect(looks).toEqual([]);
});

test('a flood of notices causes one check at a time, and one more afterwards', async () => {
  const looks: (readonly string[])[] = [];
  const gates: (() => void)[] = [];
  const {notify} = open(['7', '8'], async (accountIds) => {
    looks.push(accountIds);
    await new Promise<void>((open_) => gates.push(open_));
  });
  for (let n = 0; n < 100_000; n++) notify('7');
  expect(looks).toEqual([['7']]);
  notify('8');
  for (let n = 0; n < 100_000; n++) notify('7');
  expect(looks).toHaveLength(1);
  gates[0]?.();
  await turn();
  expect(looks.map((look) => look.toSorted())).toEqual([['7'], ['7', '8']]);
  gates[1]?.();
  await turn();
  expect(looks).toHaveLength(2);
  notify('7');
  expect(looks).toHaveLength(3);
});

test('a notice after a failed check starts another check', async () => {
  let looks = 0;
  const {notify} = open(['7'], async () => {
    looks++;
    throw new Error('Postgres is away');
  });
  notify('7');
  await turn();
  notify('7');
  expect(looks).toBe(2);
});

test('a notice after the stop starts no check', () => {
  let looks = 0;
  const {notify, stop} = open(['7'], async () => void looks++);
  stop();
  notify('7');
  expect(looks).toBe(0);
});
