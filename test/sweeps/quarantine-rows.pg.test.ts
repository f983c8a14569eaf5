import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {
  type QuarantinedRecord,
  quarantineRecords,
  resolveQuarantine,
} from '../../src/sweeps/quarantine.ts';
import {countQuarantined} from '../../src/sweeps/story.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {openWorld, type World} from '../support/sample.ts';

let world: World;
let sweepId: string;
beforeAll(async () => {
  world = await openWorld();
  const {accountId} = world.account;
  const asked = {accountId, stream: 'jobs', mode: 'full', requestedBy: 'command'} as const;
  sweepId = (await requestSweep(world.pool, asked)).sweepId;
});
afterAll(() => world?.close());
beforeEach(() => world.pool.query('TRUNCATE sync.quarantine'));

const bad = (number: string | null, xml: string, reason = 'no name'): QuarantinedRecord => ({
  page: 3,
  number,
  reason,
  expected: null,
  xml,
});
const keep = (...records: QuarantinedRecord[]) =>
  inTransaction(world.pool, (client) =>
    quarantineRecords(client, {
      accountId: world.account.accountId,
      stream: 'jobs',
      sweepId,
      records,
    }),
  );
const resolve = (...numbers: string[]) =>
  inTransaction(world.pool, (client) =>
    resolveQuarantine(client, {accountId: world.account.accountId, stream: 'jobs', numbers}),
  );
const read = async () =>
  (
    await world.pool.query(
      `SELECT number, reason, xml, page, resolved_at IS NOT NULL AS resolved
         FROM sync.quarantine ORDER BY number, quarantine_id`,
    )
  ).rows;

describe('quarantine', () => {
  test('keeps a record with its XML, its page and what is wrong with it', async () => {
    await keep(bad('7', '<job>é</job>'), bad(null, '<job/>', 'no number'));
    expect(await read()).toEqual([
      {number: '7', reason: 'no name', xml: '<job>é</job>', page: 3, resolved: false},
      {number: null, reason: 'no number', xml: '<job/>', page: 3, resolved: false},
    ]);
    expect(await countQuarantined(world.pool, world.account.accountId)).toEqual(
      new Map([['jobs', 2]]),
    );
  });

  test('keeps the same bytes once, in one batch and in the next', async () => {
    await keep(bad('7', '<job/>'), bad('7', '<job/>'));
    await keep(bad('7', '<job/>', 'still no name'));
    expect(await read()).toMatchObject([{reason: 'still no name', resolved: false}]);
  });

  test('keeps one entry for each known number, wherever the record was read', async () => {
    expect(await keep(bad('7', '<a/>', 'no name'), bad('07', '<b/>', 'no date'))).toBe(1);
    expect(await keep({...bad('7', '<c/>', 'no end'), page: null})).toBe(0);
    expect(await read()).toEqual([
      {number: '7', reason: 'no end', xml: '<c/>', page: 3, resolved: false},
    ]);
    expect(await countQuarantined(world.pool, world.account.accountId)).toEqual(
      new Map([['jobs', 1]]),
    );
  });

  test('returns how many of the records are new in it', async () => {
    expect(await keep(bad('7', '<a/>'), bad('8', '<b/>'), bad(null, '<c/>'))).toBe(3);
    expect(
      await keep(bad('7', '<a/>'), bad('9', '<d/>'), bad(null, '<c/>'), bad(null, '<e/>')),
    ).toBe(2);
    await resolve('7');
    expect(await keep(bad('7', '<a/>'))).toBe(1);
  });

  test('closes the entry of a record that was read, and reopens it on a new failure', async () => {
    await keep(bad('7', '<a/>'), bad('8', '<c/>'), bad(null, '<d/>'));
    expect(await resolve('7', '9')).toBe(1);
    expect((await read()).map((entry) => entry.resolved)).toEqual([true, false, false]);
    expect(await resolve('7')).toBe(0);
    await keep(bad('7', '<b/>'));
    expect((await read()).map((entry) => entry.resolved)).toEqual([false, false, false]);
  });

  test('accepts a record with an invalid number or with characters Postgres rejects', async () => {
    await keep(
      bad('twelve', '<a/>'),
      bad('99999999999999999999', '<b/>'),
      bad('1', '<c>\0</c>', 'a \0 in it'),
    );
    expect(await read()).toMatchObject([
      {number: '1', xml: '<c>\u{fffd}</c>'},
      {number: null},
      {number: null},
    ]);
  });

  test('does nothing without records', async () => {
    await keep();
    expect(await resolve()).toBe(0);
  });
});
