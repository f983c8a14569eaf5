import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {
  type Account,
  listAccounts,
  listKnownAccounts,
  pauseAccount,
  readAccount,
  readAccountAccess,
  resumeAccount,
  saveSealedToken,
  stopAccount,
  toServiceAddress,
  upsertAccount,
} from '../../src/accounts/accounts.ts';
import {UsageError} from '../../src/core/errors.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {claimSweep, readSweep, requestSweep} from '../../src/sweeps/sweeps.ts';
import {openWorld, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.pool.query('TRUNCATE sync.sweeps CASCADE');
  await world.pool.query(`DELETE FROM sync.accounts WHERE name <> 'acme'`);
  await resumeAccount(world.pool, world.account.accountId);
});

const acme = () => readAccount(world.pool, 'acme');
const versions = async () => (await world.pool.query('SELECT xmin FROM sync.accounts')).rows;

async function request(stream: string, accountId = world.account.accountId): Promise<string> {
  return (await requestSweep(world.pool, {accountId, stream, mode: 'full', requestedBy: 'command'}))
    .sweepId;
}

/** Waits until a statement waits for the transaction of another. */
async function waitForLock(): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await world.pool.query(waiting)).rowCount).toBe(1);
}

async function other(): Promise<Account> {
  return await upsertAccount(world.pool, {
    name: 'other',
    apiUrl: 'https://example.com/other',
    timeZone: 'UTC',
  });
}

describe('an account', () => {
  test('is read by its name, and accepts another time zone', async () => {
    const {apiUrl} = world.account;
    const zoned = {name: 'acme', apiUrl, timeZone: 'America/New_York'};
    expect(await upsertAccount(world.pool, zoned)).toMatchObject({
      ...zoned,
      state: 'active',
      keyId: null,
    });
    expect(await readAccount(world.pool, 'nobody')).toBeNull();
    expect(await listAccounts(world.pool)).toHaveLength(1);
    await upsertAccount(world.pool, world.account);
  });

  test('is not written again if nothing changed', async () => {
    const before = await versions();
    await upsertAccount(world.pool, world.account);
    expect(await versions()).toEqual(before);
  });

  test.each([
    'https://example.com/other',
    'https://example.org/acme',
    'https://example.com:8443/acme',
  ])(
    'never moves to another service automatically: %s is rejected, and nothing is written',
    async (apiUrl) => {
      const before = await versions();
      const moving = upsertAccount(world.pool, {name: 'acme', apiUrl, timeZone: 'UTC'});
      await expect(moving).rejects.toThrow(UsageError);
      await expect(moving).rejects.toThrow(
        /account acme: it mirrors example\.com\/acme, got example.*mixed/,
      );
      expect(await versions()).toEqual(before);
    },
  );

  test('accepts another spelling of its address, and another address with mayMove', async () => {
    const {name, timeZone, apiUrl} = world.account;
    const slashed = await upsertAccount(world.pool, {name, timeZone, apiUrl: `${apiUrl}/`});
    expect(slashed.apiUrl).toBe(`${apiUrl}/`);
    await upsertAccount(
      world.pool,
      {name, timeZone, apiUrl: 'http://127.0.0.1:1'},
      {mayMove: true},
    );
    expect((await acme())?.apiUrl).toBe('http://127.0.0.1:1');
    await upsertAccount(world.pool, {name, timeZone, apiUrl}, {mayMove: true});
  });

  test.each([
    ['that is new', 'fresh', 'https://example.com/one', 'https://example.com/two'],
    ['that the other one moves', 'acme', 'https://example.com/moved', 'https://example.com/acme/'],
  ])(
    '%s keeps the address of the first of two concurrent writers and rejects the second',
    async (_, name, first, second) => {
      const zone = {name, timeZone: 'UTC'};
      const later = await inTransaction(world.pool, async (client) => {
        await upsertAccount(client, {...zone, apiUrl: first}, {mayMove: true});
        const trying = upsertAccount(world.pool, {...zone, apiUrl: second}).catch(
          (error: unknown) => error,
        );
        await waitForLock();
        return {trying};
      });
      const refusal = await later.trying;
      expect(refusal).toBeInstanceOf(UsageError);
      expect(String(refusal)).toContain(
        `account ${name}: it mirrors ${toServiceAddress(first)}, ` +
          `got ${toServiceAddress(second)}: ` +
          'the rows of two services would be mixed',
      );
      expect((await readAccount(world.pool, name))?.apiUrl).toBe(first);
      await upsertAccount(world.pool, world.account, {mayMove: true});
    },
  );

  test('created concurrently under many addresses gets one; the others are rejected', async () => {
    const urls = Array.from({length: 8}, (_, at) => `https://example.com/place-${at}`);
    const ends = await Promise.allSettled(
      urls.map((apiUrl) => upsertAccount(world.pool, {name: 'raced', apiUrl, timeZone: 'UTC'})),
    );
    const made = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    expect(made).toEqual([await readAccount(world.pool, 'raced')]);
    for (const end of ends)
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(UsageError);
  });

  test('has the same place for every spelling of its address', () => {
    expect(toServiceAddress('https://App.example.com/acme/')).toBe('app.example.com/acme');
    expect(toServiceAddress('http://app.example.com:80/acme')).toBe(
      toServiceAddress('https://app.example.com:443/acme'),
    );
    expect(toServiceAddress('bench')).toBe('bench');
  });

  test('stores its sealed token unchanged, and returns it only with its access data', async () => {
    const {accountId} = world.account;
    expect(await readAccountAccess(world.pool, accountId)).toMatchObject({
      name: 'acme',
      sealed: null,
    });
    const sealed = {keyId: 'a1b2c3d4', bytes: Buffer.from([1, 0, 255])};
    await saveSealedToken(world.pool, accountId, sealed);
    expect(await readAccountAccess(world.pool, accountId)).toMatchObject({name: 'acme', sealed});
    expect(Object.keys((await acme()) ?? {})).not.toContain('sealedToken');
    expect(await readAccountAccess(world.pool, '999999')).toBeNull();
  });
});

test('a resealed token never replaces a token that was stored in the meantime', async () => {
  const {accountId} = world.account;
  const sealed = (byte: number) => ({keyId: `key ${byte}`, bytes: Buffer.of(byte)});
  await saveSealedToken(world.pool, accountId, sealed(1));
  await saveSealedToken(world.pool, accountId, {...sealed(2), instead: sealed(1)});
  await saveSealedToken(world.pool, accountId, {...sealed(3), instead: sealed(1)});
  expect(await readAccountAccess(world.pool, accountId)).toMatchObject({sealed: sealed(2)});
});

test('accounts are found by their number or by the key of their seal, in any state', async () => {
  const {accountId} = await other();
  await saveSealedToken(world.pool, world.account.accountId, {keyId: 'k', bytes: Buffer.of(1)});
  const names = async (accountIds: string[], keyIds: string[]) =>
    (await listKnownAccounts(world.pool, {accountIds, keyIds})).map(({name}) => name);
  await pauseAccount(world.pool, accountId, null);
  expect(await names([accountId], ['k'])).toEqual(['acme', 'other']);
  expect(await names([accountId], [])).toEqual(['other']);
  expect(await names([], ['another'])).toEqual([]);
});

describe('a stopped account', () => {
  test('keeps the reason, and only its own waiting sweeps fail with that reason', async () => {
    const {accountId} = world.account;
    const waiting = [await request('jobs'), await request('tasks')];
    const elsewhere = await request('jobs', (await other()).accountId);
    expect(await stopAccount(world.pool, accountId, 'expected access, got 401')).toBe(true);
    expect(await acme()).toMatchObject({state: 'stopped', stateReason: 'expected access, got 401'});
    for (const sweepId of waiting)
      expect(await readSweep(world.pool, sweepId)).toMatchObject({
        state: 'failed',
        error: 'expected access, got 401',
        endedAt: expect.any(String),
      });
    expect(await readSweep(world.pool, elsewhere)).toMatchObject({state: 'due'});
  });

  test('leaves a running sweep to its worker', async () => {
    const sweepId = await request('jobs');
    await claimSweep(world.pool, sweepId, 60_000);
    await stopAccount(world.pool, world.account.accountId, 'no');
    expect(await readSweep(world.pool, sweepId)).toMatchObject({state: 'running', error: null});
  });

  test('keeps its first reason if stopped again, and still fails its waiting sweeps', async () => {
    const {accountId} = world.account;
    await stopAccount(world.pool, accountId, 'first');
    const late = await request('jobs');
    expect(await stopAccount(world.pool, accountId, 'second')).toBe(false);
    expect(await acme()).toMatchObject({stateReason: 'first'});
    expect(await readSweep(world.pool, late)).toMatchObject({state: 'failed', error: 'second'});
  });

  test('gets a new state time when it is resumed; a second resume changes nothing', async () => {
    const {accountId} = world.account;
    await stopAccount(world.pool, accountId, 'no');
    const stopped = await acme();
    expect(await resumeAccount(world.pool, accountId)).toBe(true);
    const resumed = await acme();
    expect(resumed).toMatchObject({state: 'active', stateReason: null});
    expect(resumed?.stateSince).not.toBe(stopped?.stateSince);
    expect(await resumeAccount(world.pool, accountId)).toBe(false);
    expect((await acme())?.stateSince).toBe(resumed?.stateSince);
  });
});

test('a paused account keeps its waiting sweeps', async () => {
  const sweepId = await request('jobs');
  await pauseAccount(world.pool, world.account.accountId, 'by me');
  expect(await acme()).toMatchObject({state: 'paused', stateReason: 'by me'});
  expect(await readSweep(world.pool, sweepId)).toMatchObject({state: 'due'});
});
