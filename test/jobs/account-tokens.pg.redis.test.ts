// A token that is refused, replaced, damaged or unknown affects its own account only.

import {beforeEach, describe, expect, test} from 'vitest';
import {openQueueBackend, type QueueBackend} from '../../jobs/queue.ts';
import {readAccount, resumeAccount} from '../../src/accounts/accounts.ts';
import {Accounts} from '../../src/accounts/open-accounts.ts';
import {markToken, Secret} from '../../src/core/secret.ts';
import {emptyRedis} from '../support/redis.ts';
import {keys, streams} from './many-accounts.ts';
import {
  backends,
  closers,
  endedWell,
  many,
  start,
  told,
  useManyAccounts,
} from './many-accounts-place.ts';

useManyAccounts();

describe.each(backends)('with the queue on %s', (kind) => {
  let backend: QueueBackend;

  beforeEach(async () => {
    const redisUrl = kind === 'redis' ? await emptyRedis() : null;
    const {databaseUrl, log} = many.deps;
    backend = await openQueueBackend({redisUrl, databaseUrl, log});
  });

  test('a refused token stops only its own account and logs one line', async () => {
    const [good, bad] = [await many.add('good'), await many.add('bad')];
    many.server.manners.set('bad', {isRefusing: true});
    const sweepIds = [...(await many.request(bad)), ...(await many.request(good))];
    await start(backend);
    const sweeps = await many.endOf(sweepIds);
    const words = /expected access, got 401 .*check the token/;
    for (const sweep of sweeps.slice(0, streams.length))
      expect(sweep).toMatchObject({state: 'failed', error: expect.stringMatching(words)});
    for (const sweep of sweeps.slice(streams.length)) expect(sweep.state).toEqual(endedWell);
    expect(await readAccount(many.pool, 'bad')).toMatchObject({
      state: 'stopped',
      stateReason: expect.stringMatching(words),
    });
    await expect.poll(() => told(/account bad is stopped/)).toHaveLength(1);
    expect(told(/account bad is stopped/)[0]).toMatchObject({
      account: 'bad',
      reason: expect.stringMatching(words),
    });
    for (const line of told(/failed/))
      expect(line).toMatchObject({event: 'sweep.ended', level: 30});
    // Two sweeps may have been under way, each with one request in flight; none is repeated again
    // and again.
    expect(many.server.asked.get('bad')).toBeLessThan(10);
  });

  test('a stopped account sweeps again once it is resumed', async () => {
    const account = await many.add('a');
    const {accountId} = account;
    many.server.manners.set('a', {isRefusing: true});
    await start(backend);
    expect(await many.endOf(await many.request(account, 'tasks'))).toMatchObject([
      {state: 'failed'},
    ]);
    await expect.poll(async () => (await readAccount(many.pool, 'a'))?.state).toBe('stopped');
    many.server.manners.delete('a');
    await resumeAccount(many.pool, accountId);
    expect(await many.endOf(await many.request(account, 'jobs'))).toMatchObject([
      {state: endedWell},
    ]);
  });

  test('replacing a token while a sweep uses the old one does not stop the account', async () => {
    const account = await many.add('a');
    const isAsked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const before = async ({path}: {readonly path: string}) => {
      if (!path.endsWith('/jobs.xml')) return;
      isAsked.resolve();
      await gate.promise;
    };
    many.server.manners.set('a', {before});
    await start(backend);
    const sweepIds = await many.request(account, 'jobs');
    await isAsked.promise;
    await many.add('a', 'the-new-one');
    many.server.manners.set('a', {token: 'the-new-one'});
    gate.resolve();
    expect(await many.endOf(sweepIds)).toMatchObject([{state: endedWell}]);
    expect(await readAccount(many.pool, 'a')).toMatchObject({state: 'active'});
  });

  test('an account that is resumed with a new token repeats its failed sweeps', async () => {
    const account = await many.add('a');
    many.server.manners.set('a', {token: 'the-new-one'});
    await start(backend);
    for (const sweep of await many.endOf(await many.request(account)))
      expect(sweep).toMatchObject({
        state: 'failed',
        error: expect.stringContaining('give it a new one with fieldmirror accounts add a'),
      });
    await many.add('a', 'the-new-one');
    await resumeAccount(many.pool, account.accountId);
    const {rows} = await many.pool.query(
      'SELECT max(sweep_id) AS id FROM sync.sweeps GROUP BY stream',
    );
    expect(rows).toHaveLength(streams.length);
    for (const sweep of await many.endOf(rows.map(({id}) => String(id))))
      expect(sweep.state).toEqual(endedWell);
  });

  test('the worker warns by name about an account that is sealed with another key', async () => {
    const account = await many.add('a');
    await start(backend);
    await many.endOf(await many.request(account, 'tasks'));
    await many.pool.query(`UPDATE sync.accounts SET key_id = 'another'`);
    await expect.poll(() => told(/no longer served here/), {timeout: 20_000}).toHaveLength(1);
    const warning = 40;
    expect(told(/no longer served here/)[0]).toMatchObject({account: 'a', level: warning});
  });

  test('a damaged seal fails only the sweeps of its account and names the account', async () => {
    const [damaged, good] = [await many.add('damaged'), await many.add('good')];
    await many.pool.query(
      `UPDATE sync.accounts SET sealed_token =
         (SELECT sealed_token FROM sync.accounts WHERE account_id = $2) WHERE account_id = $1`,
      [damaged.accountId, good.accountId],
    );
    const sweepIds = [
      ...(await many.request(damaged, 'jobs')),
      ...(await many.request(good, 'jobs')),
    ];
    await start(backend);
    expect(await many.endOf(sweepIds)).toMatchObject([
      {
        state: 'failed',
        error: expect.stringMatching(/account damaged: .*made for another account/),
      },
      {state: endedWell},
    ]);
  });
});

test('an account that is sealed again is opened again; its old client still works', async () => {
  const {accountId} = await many.add('a');
  const {api} = await many.deps.openAccount(accountId);
  expect((await many.deps.openAccount(accountId)).api).toBe(api);
  await many.add('a');
  expect((await many.deps.openAccount(accountId)).api).not.toBe(api);
  expect((await api.fetchPage('/tasks.xml', {})).bodyBytes).toBeGreaterThan(0);
});

describe('a token from the environment', () => {
  async function giveOld(): Promise<{
    accounts: Accounts;
    accountId: string;
    readsWell: () => Promise<boolean>;
  }> {
    const {accountId} = await many.add('a', 'sealed-before');
    const accounts = new Accounts({
      pool: many.pool,
      keys,
      allowHttp: false,
      transport: {retry: {attempts: 1}},
    });
    closers.push(() => accounts.close());
    await accounts.give(accountId, {
      apiUrl: many.server.urlOf('a'),
      token: new Secret(many.server.tokenOf('a')),
    });
    const readsWell = async () => {
      const {api} = await accounts.open(accountId);
      return await api.fetchPage('/tasks.xml', {}).then(
        () => true,
        () => false,
      );
    };
    return {accounts, accountId, readsWell};
  }

  test('overrides a token that was sealed earlier, but not one that is sealed later', async () => {
    const {accounts, accountId, readsWell} = await giveOld();
    expect(await readsWell()).toBe(true);
    expect(accounts.reach('w').given).toMatchObject({accountId});
    const old = await accounts.open(accountId);
    many.server.manners.set('a', {token: 'the-new-one'});
    expect(await readsWell()).toBe(false);
    expect(await old.token?.isReplaced()).toBe(false);
    await many.add('a', 'the-new-one');
    expect(await old.token?.isReplaced()).toBe(true);
    expect(await readsWell()).toBe(true);
    expect(accounts.reach('w').given).toBeNull();
  });

  test('has a mark that only the same token and the same worker produce', async () => {
    const {accounts} = await giveOld();
    const token = new Secret(many.server.tokenOf('a'));
    const tokenMark = accounts.reach('w').given?.tokenMark;
    expect(tokenMark).toBe(markToken(token, 'w'));
    expect(tokenMark).not.toBe(markToken(token, 'another worker'));
    expect(tokenMark).not.toBe(markToken(new Secret('another token'), 'w'));
  });
});
