import {expect, test} from 'vitest';
import {checkNoted} from '../labs/feed/check.ts';
import {runModel} from '../labs/feed/run.ts';
import type {Noted} from '../labs/feed/written.ts';
import {openFeedPlace} from './place.ts';

test('each of 2,000 transactions reaches readers and subscribers once, in order', async () => {
  const place = await openFeedPlace();
  try {
    const {url, accountId} = place;
    const {writes, kills, repeats, workerKills, violations} = await runModel({
      url,
      accountId,
      transactions: 2_000,
      seed: '1',
    });
    expect(violations).toEqual([]);
    expect(writes).toBeGreaterThan(2_000);
    expect(kills).toBeGreaterThan(5);
    expect(workerKills).toBeGreaterThan(1);
    expect(repeats).toBeGreaterThan(1);
  } finally {
    await place.close();
  }
}, 180_000);

test('the checker finds entries that are skipped, doubled, made up or out of order', () => {
  const write = (token: string, cause: string | null = null) => ({token, rowId: '1', cause});
  const entry = (id: string, token: string, before: string | null): Noted => ({
    id,
    token,
    before,
    rowId: '1',
    operation: 'changed',
  });
  const committed = [write('a'), write('b', 'a')];
  expect(checkNoted([entry('1', 'a', null), entry('2', 'b', 'a')], committed)).toEqual([]);
  expect(checkNoted([entry('1', 'a', null)], committed)).toEqual(['b was skipped']);
  expect(
    checkNoted([entry('1', 'a', null), entry('2', 'b', 'a'), entry('2', 'b', 'b')], committed),
  ).toEqual(['entry 2 was noted twice', 'b is told twice']);
  expect(
    checkNoted([entry('1', 'a', null), entry('2', 'b', 'a'), entry('3', 'c', 'b')], committed),
  ).toEqual(['entry 3 tells of c, which was never committed']);
  expect(checkNoted([entry('2', 'b', 'a'), entry('1', 'a', null)], committed)).toEqual([
    'entry 1 of row 1: expected b before, got null',
    'b is told before a, which its writer had read',
  ]);
});
