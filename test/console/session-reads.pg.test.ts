import {setImmediate} from 'node:timers/promises';
import {afterAll, afterEach, beforeAll, expect, inject, test, vi} from 'vitest';
import {endSession, openSession} from '../../src/accounts/access.ts';
import {SessionReads} from '../../src/console/sign-in.ts';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase} from '../support/postgres.ts';

let place: Awaited<ReturnType<typeof open>>;

async function open() {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 4, applicationName: 'test'});
  const signIn = async (name: string) =>
    (
      await openSession(pool, {
        wayIn: 'link',
        apiKeyId: null,
        name,
        role: 'viewer',
        accountId: null,
        masks: false,
        address: '127.0.0.1',
      })
    ).reveal();
  return {pool, signIn, close: () => pool.end().then(() => database.drop())};
}

beforeAll(async () => {
  place = await open();
});
afterAll(() => place.close());

afterEach(() => vi.restoreAllMocks());

test('fifty sessions requested at once are read by one statement, each correctly', async () => {
  const tokens = await Promise.all(
    Array.from({length: 50}, (_, at) => place.signIn(`person-${at}`)),
  );
  const query = vi.spyOn(place.pool, 'query');
  const reads = new SessionReads(place.pool);
  const sessions = await Promise.all(tokens.map((token) => reads.read(token)));
  expect(sessions.map((session) => session?.name)).toEqual(tokens.map((_, at) => `person-${at}`));
  expect(query).toHaveBeenCalledTimes(1);
});

test('a session requested during a read waits for the next statement', async () => {
  const [one, other] = [await place.signIn('one'), await place.signIn('other')];
  const query = vi.spyOn(place.pool, 'query');
  const reads = new SessionReads(place.pool);
  const first = reads.read(one);
  await expect.poll(() => query.mock.calls.length).toBe(1);
  expect((await reads.read(other))?.name).toBe('other');
  expect((await first)?.name).toBe('one');
  expect(query).toHaveBeenCalledTimes(2);
});

test('all sessions requested during a read share the next statement', async () => {
  const [one, two, three] = [
    await place.signIn('one'),
    await place.signIn('two'),
    await place.signIn('three'),
  ];
  const first = Promise.withResolvers<void>();
  const run = place.pool.query.bind(place.pool) as (...args: unknown[]) => Promise<unknown>;
  const query = vi.spyOn(place.pool, 'query').mockImplementationOnce((async (
    ...args: unknown[]
  ) => {
    await first.promise;
    return await run(...args);
  }) as never);
  const reads = new SessionReads(place.pool);
  const sessions = [reads.read(one)];
  await expect.poll(() => query.mock.calls.length).toBe(1);
  for (const token of [two, three]) {
    sessions.push(reads.read(token));
    await setImmediate();
    await setImmediate();
  }
  first.resolve();
  expect((await Promise.all(sessions)).map((session) => session?.name)).toEqual([
    'one',
    'two',
    'three',
  ]);
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(query).toHaveBeenCalledTimes(2);
});

test('sessions are not cached: an ended session is not returned again', async () => {
  const token = await place.signIn('leaver');
  const reads = new SessionReads(place.pool);
  const session = await reads.read(token);
  await endSession(place.pool, session?.sessionId ?? '');
  expect(await reads.read(token)).toBeNull();
});

test('an invalid or unknown token returns no session', async () => {
  const reads = new SessionReads(place.pool);
  const never = (await place.signIn('somebody')).replace(/.{5}$/, 'AAAAA');
  expect(await Promise.all(['', "'; DROP", never].map((token) => reads.read(token)))).toEqual([
    null,
    null,
    null,
  ]);
});

test('if the database fails, all waiting reads fail, and the next read succeeds', async () => {
  const token = await place.signIn('patient');
  vi.spyOn(place.pool, 'query').mockImplementationOnce(() => Promise.reject(new Error('away')));
  const reads = new SessionReads(place.pool);
  const both = await Promise.allSettled([reads.read(token), reads.read(token)]);
  expect(both.map(({status}) => status)).toEqual(['rejected', 'rejected']);
  expect((await reads.read(token))?.name).toBe('patient');
});
