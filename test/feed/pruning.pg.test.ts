// Entries of the feed go as the other things that grow with time, but for what a subscriber has yet
// to be sent.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {
  countPrunable,
  pruneHistory,
  readRetention,
  setRetention,
} from '../../src/retention/retention.ts';
import {type HookPlace, openHookPlace} from './hooks-place.ts';

let place: HookPlace;
beforeEach(async () => {
  place = await openHookPlace();
});
afterEach(() => place.close());

let lastId = 700;

/** Adds entries that are so many days old. */
async function add(count: number, days: number): Promise<void> {
  for (let at = 0; at < count; at++) await place.sent('tasks', {id: ++lastId, name: 'Roof'});
  await place.end();
  await place.pool.query(
    `UPDATE sync.feed_entries SET at = at - $1 * interval '1 day'
      WHERE at > now() - interval '1 hour'`,
    [days],
  );
}

/** Prunes in batches of two. @returns how many entries went */
async function pruneNow(): Promise<number> {
  const terms = {pool: place.pool, signal: new AbortController().signal, restMs: 0, batch: 2};
  return (await pruneHistory(terms))?.find(({kind}) => kind === 'feed')?.count ?? 0;
}

const left = async () =>
  (await place.pool.query('SELECT count(*)::int FROM sync.feed_entries')).rows[0].count as number;
const told = async () => (await readRetention(place.pool)).kinds.find(({kind}) => kind === 'feed');

test('entries are pruned and counted after 30 days or a chosen number of days', async () => {
  await add(5, 31);
  await add(1, 10);
  expect(await told()).toEqual({kind: 'feed', days: 30, prunedTo: null, removed: 0});
  expect(await countPrunable(place.pool, 'feed')).toBe(5);
  expect(await pruneNow()).toBe(5);
  expect(await told()).toMatchObject({removed: 5, prunedTo: expect.any(String)});
  expect([await left(), await pruneNow()]).toEqual([1, 0]);
  await setRetention(place.pool, 'feed', 7);
  expect(await pruneNow()).toBe(1);
  expect(await left()).toBe(0);
});

test('entries not yet sent to a subscriber are kept up to twice as long', async () => {
  await add(2, 31);
  await place.addHook('erp');
  await add(3, 31);
  expect(await countPrunable(place.pool, 'feed')).toBe(2);
  expect([await pruneNow(), await left()]).toEqual([2, 3]);
  // The last one stays longer, and holds what is behind it: what goes is a beginning.
  await place.pool.query(
    `UPDATE sync.feed_entries SET at = at - interval '30 days'
      WHERE position < (SELECT last_position FROM sync.feed_state)`,
  );
  expect([await pruneNow(), await left()]).toEqual([2, 1]);
  await place.pool.query(
    `UPDATE sync.feed_hooks SET stopped_at = now(), failing_since = now(),
      last_error = 'it answers 500'`,
  );
  expect([await pruneNow(), await left()]).toEqual([1, 0]);
});

test('a subscriber that was not served for weeks is sent all entries kept for it', async () => {
  await place.addHook('erp');
  await add(3, 45);
  expect(await pruneNow()).toBe(0);
  await place.round();
  expect(place.http.arrived).toHaveLength(1);
  expect(await pruneNow()).toBe(3);
});
