// Many accounts at one worker: each is served as if it were alone, whatever happens to the others.

import {beforeEach, describe, expect, test} from 'vitest';
import {openQueueBackend, type QueueBackend} from '../../jobs/queue.ts';
import {type Account, pauseAccount, resumeAccount} from '../../src/accounts/accounts.ts';
import {insertSchedules} from '../../src/sweeps/schedules.ts';
import {emptyRedis} from '../support/redis.ts';
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

async function underWay({accountId}: Account): Promise<string[]> {
  const {rows} = await many.pool.query(
    `SELECT stream || ' ' || mode AS what FROM sync.sweeps
     WHERE account_id = $1 AND state = 'running' ORDER BY stream`,
    [accountId],
  );
  return rows.map(({what}) => what);
}

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

  test('an account that is added while the worker runs is served', async () => {
    await start(backend);
    const sweepIds = await many.request(await many.add('late'));
    for (const sweep of await many.endOf(sweepIds)) expect(sweep.state).toEqual(endedWell);
  });

  test('a due sweep of a paused account waits, and runs when the account is resumed', async () => {
    const [paused, other] = [await many.add('paused'), await many.add('other')];
    await pauseAccount(many.pool, paused.accountId, null);
    const waiting = await many.request(paused, 'tasks');
    await start(backend);
    await many.endOf(await many.request(other));
    expect(many.server.asked.get('paused')).toBeUndefined();
    await resumeAccount(many.pool, paused.accountId);
    expect(await many.endOf(waiting)).toMatchObject([{state: endedWell}]);
  });

  test('an account that does not answer delays only its own sweeps', async () => {
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

  test('a worker without the key of an account leaves its sweep due when woken', async () => {
    const [here, there] = [await many.add('here'), await many.add('there')];
    await many.pool.query(`UPDATE sync.accounts SET key_id = 'another' WHERE name = 'there'`);
    await start(backend, {accountIds: [here.accountId]});
    const due = await many.request(there, 'jobs');
    const queue = backend.makeQueue('sweep');
    closers.push(() => queue.close());
    const data = {sweepId: due[0], accountId: there.accountId};
    await queue.addBulk([{name: 'sweep', data, opts: {attempts: 1, removeOnComplete: true}}]);
    await many.endOf(await many.request(here));
    const {rows} = await many.pool.query(
      'SELECT state, fence FROM sync.sweeps WHERE sweep_id = $1',
      due,
    );
    expect(rows).toEqual([{state: 'due', fence: 0}]);
  });

  test('at most two sweeps of an account run at once, window sweeps first', async () => {
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

  test('the end of one sweep wakes the next of its account at once', async () => {
    const sweepIds = await many.request(await many.add('a'));
    let rounds = 0;
    const accountIds = () => (rounds++ === 0 ? many.accountIds() : new Promise<never>(() => {}));
    await start(backend, {accountIds});
    for (const sweep of await many.endOf(sweepIds)) expect(sweep.state).toEqual(endedWell);
  });

  test('the log names a schedule whose sweep has not started for two intervals', async () => {
    const {accountId} = await many.add('a');
    const [dueAt, everyMs] = [new Date(Date.now() - 10_000_000).toISOString(), 3_600_000];
    const plan = {
      name: 'jobs hourly',
      stream: 'jobs',
      mode: 'full' as const,
      everyMs,
      firstDueAt: dueAt,
    };
    await insertSchedules(many.pool, accountId, [plan]);
    await many.pool.query(
      `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, due_at, started_at,
        lease_until)
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
