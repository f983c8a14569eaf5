// Many accounts at one worker: each is served as if it were alone, whatever becomes of the others.

import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {openQueueBackend, type QueueBackend} from '../../jobs/queue/backend.ts';
import {startWorkers, type WorkerOptions, type Workers} from '../../jobs/workers.ts';
import {markToken} from '../../src/base/seal.ts';
import {Secret} from '../../src/base/secret.ts';
import {Accounts} from '../../src/sync/accounts/accounts.ts';
import {
  type Account,
  pauseAccount,
  readAccount,
  resumeAccount,
} from '../../src/warehouse/accounts/accounts.ts';
import {insertSchedules} from '../../src/warehouse/sweeps/schedules.ts';
import {emptyRedis} from '../support/redis.ts';
import {keys, type ManyAccounts, openManyAccounts, streams} from './many-accounts.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const endedWell = expect.stringMatching(/certified/);
const closers: (() => Promise<void>)[] = [];
let many: ManyAccounts;

beforeEach(async () => {
  many = await openManyAccounts();
  closers.push(many.close);
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(backend: QueueBackend, options: Partial<WorkerOptions> = {}): Promise<Workers> {
  const workers = await startWorkers(many.deps, backend, {
    accountIds: many.accountIds,
    keepsSchedules: false,
    ...options,
  });
  closers.push(workers.stop);
  return workers;
}

async function underWay({accountId}: Account): Promise<string[]> {
  const {rows} = await many.pool.query(
    `SELECT stream || ' ' || mode AS what FROM sync.sweeps WHERE account_id = $1 AND state = 'running' ORDER BY stream`,
    [accountId],
  );
  return rows.map(({what}) => what);
}

const told = (word: RegExp) => many.lines.filter(({msg}) => word.test(msg));

describe.each(backends)('with the queue on %s', (kind) => {
  let backend: QueueBackend;
  let redisUrl: string | null;

  beforeEach(async () => {
    redisUrl = kind === 'redis' ? await emptyRedis() : null;
    backend = await openBackend();
  });

  async function openBackend(): Promise<QueueBackend> {
    const {databaseUrl, log} = many.deps;
    return await openQueueBackend({redisUrl, databaseUrl, log});
  }

  test('a refused token stops its account with one line, and every sweep of the others ends well', async () => {
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
    await expect.poll(() => told(/account is stopped/)).toHaveLength(1);
    expect(told(/account is stopped/)[0]).toMatchObject({
      account: 'bad',
      reason: expect.stringMatching(words),
    });
    expect(told(/failed/)).toEqual([]);
    // Two sweeps may have been under way, each with one question in flight; nothing is asked again and again.
    expect(many.server.asked.get('bad')).toBeLessThan(10);
  });

  test('a stopped account goes on with its new token as soon as it is resumed', async () => {
    const account = await many.add('a');
    const {accountId} = account;
    many.server.manners.set('a', {isRefusing: true});
    await start(backend);
    expect(await many.endOf(await many.request(account, 'tasks'))).toMatchObject([{state: 'failed'}]);
    await expect.poll(async () => (await readAccount(many.pool, 'a'))?.state).toBe('stopped');
    many.server.manners.delete('a');
    await resumeAccount(many.pool, accountId);
    expect(await many.endOf(await many.request(account, 'jobs'))).toMatchObject([{state: endedWell}]);
  });

  test('a token that is replaced while a sweep reads with the old one stops nothing, and the new one is used', async () => {
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

  test('a stopped account that is given a new token makes up for the full sweeps that failed', async () => {
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
    const {rows} = await many.pool.query('SELECT max(sweep_id) AS id FROM sync.sweeps GROUP BY stream');
    expect(rows).toHaveLength(streams.length);
    for (const sweep of await many.endOf(rows.map(({id}) => String(id))))
      expect(sweep.state).toEqual(endedWell);
  });

  test('an account whose token is sealed with another key while it runs is told, by its name', async () => {
    const account = await many.add('a');
    await start(backend);
    await many.endOf(await many.request(account, 'tasks'));
    await many.pool.query(`UPDATE sync.accounts SET key_id = 'another'`);
    await expect.poll(() => told(/no longer served here/), {timeout: 20_000}).toHaveLength(1);
    const warning = 40;
    expect(told(/no longer served here/)[0]).toMatchObject({account: 'a', level: warning});
  });

  test('an account that is added while it runs is served', async () => {
    await start(backend);
    const sweepIds = await many.request(await many.add('late'));
    for (const sweep of await many.endOf(sweepIds)) expect(sweep.state).toEqual(endedWell);
  });

  test('what is due of a paused account waits, and is done when it is resumed', async () => {
    const [paused, other] = [await many.add('paused'), await many.add('other')];
    await pauseAccount(many.pool, paused.accountId, null);
    const waiting = await many.request(paused, 'tasks');
    await start(backend);
    await many.endOf(await many.request(other));
    expect(many.server.asked.get('paused')).toBeUndefined();
    await resumeAccount(many.pool, paused.accountId);
    expect(await many.endOf(waiting)).toMatchObject([{state: endedWell}]);
  });

  test('a damaged seal fails the sweeps of its account, by name, and no others', async () => {
    const [damaged, good] = [await many.add('damaged'), await many.add('good')];
    await many.pool.query(
      'UPDATE sync.accounts SET sealed_token = (SELECT sealed_token FROM sync.accounts WHERE account_id = $2) WHERE account_id = $1',
      [damaged.accountId, good.accountId],
    );
    const sweepIds = [...(await many.request(damaged, 'jobs')), ...(await many.request(good, 'jobs'))];
    await start(backend);
    expect(await many.endOf(sweepIds)).toMatchObject([
      {state: 'failed', error: expect.stringMatching(/account damaged: .*made for another account/)},
      {state: endedWell},
    ]);
  });

  test('an account that does not answer keeps two sweeps waiting, and none of the others', async () => {
    const [slow, ...others] = [await many.add('slow'), await many.add('b'), await many.add('c')];
    const gate = Promise.withResolvers<void>();
    many.server.manners.set('slow', {before: () => gate.promise});
    const slowIds = await many.request(slow);
    const ids: string[] = [];
    for (const account of others) ids.push(...(await many.request(account)));
    await Promise.all([start(backend), start(await openBackend())]);
    for (const sweep of await many.endOf(ids)) expect(sweep.state).toEqual(endedWell);
    expect(await underWay(slow)).toHaveLength(2);
    gate.resolve();
    for (const sweep of await many.endOf(slowIds)) expect(sweep.state).toEqual(endedWell);
  });

  test('a wake-up where the token is not known fails nothing: the process that knows it carries the sweep', async () => {
    const [here, there] = [await many.add('here'), await many.add('there')];
    await many.pool.query(`UPDATE sync.accounts SET key_id = 'another' WHERE name = 'there'`);
    await start(backend, {accountIds: [here.accountId]});
    const due = await many.request(there, 'jobs');
    const queue = backend.makeQueue('sweep');
    closers.push(() => queue.close());
    const data = {sweepId: due[0], accountId: there.accountId};
    await queue.addBulk([{name: 'sweep', data, opts: {attempts: 1, removeOnComplete: true}}]);
    await many.endOf(await many.request(here));
    const {rows} = await many.pool.query('SELECT state, fence FROM sync.sweeps WHERE sweep_id = $1', due);
    expect(rows).toEqual([{state: 'due', fence: 0}]);
  });

  test('of each account two sweeps at most are under way, the freshest first', async () => {
    const account = await many.add('a');
    const gate = Promise.withResolvers<void>();
    many.server.manners.set('a', {before: () => gate.promise});
    const {accountId} = account;
    const full = await many.request(account, 'jobs', 'customers', 'employees');
    const {rows} = await many.pool.query(
      `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by)
       VALUES ($1, 'tasks', 'window', 'open', 'schedule') RETURNING sweep_id AS id`,
      [accountId],
    );
    const workers = await start(backend);
    await expect.poll(() => underWay(account), {timeout: 20_000}).toHaveLength(2);
    await workers.wakeDue();
    expect(await underWay(account)).toEqual(['jobs full', 'tasks window']);
    gate.resolve();
    await many.endOf([...full, String(rows[0].id)]);
  });

  test('the end of one sweep wakes the next of its account, and waits for no round of the poller', async () => {
    const sweepIds = await many.request(await many.add('a'));
    let rounds = 0;
    const accountIds = () => (rounds++ === 0 ? many.accountIds() : new Promise<never>(() => {}));
    await start(backend, {accountIds});
    for (const sweep of await many.endOf(sweepIds)) expect(sweep.state).toEqual(endedWell);
  });

  test('a schedule whose sweep nobody takes up for two intervals is told, by its name', async () => {
    const {accountId} = await many.add('a');
    const [dueAt, everyMs] = [new Date(Date.now() - 10_000_000).toISOString(), 3_600_000];
    const plan = {name: 'jobs hourly', stream: 'jobs', mode: 'full' as const, everyMs, firstDueAt: dueAt};
    await insertSchedules(many.pool, accountId, [plan]);
    await many.pool.query(
      `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, due_at, started_at, lease_until)
       VALUES ($1, 'jobs', 'full', 'schedule', 'due', $2, NULL, NULL),
              ($1, 'tasks', 'full', 'command', 'running', $2, $2, now() + interval '1 hour'),
              ($1, 'employees', 'full', 'command', 'running', $2, $2, now() + interval '1 hour')`,
      [accountId, dueAt],
    );
    await start(backend, {keepsSchedules: true});
    await expect.poll(() => told(/two intervals/), {timeout: 20_000}).toHaveLength(1);
    expect(told(/two intervals/)[0]).toMatchObject({schedule: 'jobs hourly', account: 'a'});
  });
});

test('an account sealed anew is opened anew, and who is still on the old way comes to its end', async () => {
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

  test('goes before one that was sealed earlier, and gives way to one that is sealed later', async () => {
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

  test('is marked so that only who has it can tell it again', async () => {
    const {accounts} = await giveOld();
    const token = new Secret(many.server.tokenOf('a'));
    const tokenMark = accounts.reach('w').given?.tokenMark;
    expect(tokenMark).toBe(markToken(token, 'w'));
    expect(tokenMark).not.toBe(markToken(token, 'another worker'));
    expect(tokenMark).not.toBe(markToken(new Secret('another token'), 'w'));
  });
});
