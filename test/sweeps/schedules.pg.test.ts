import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {pauseAccount, resumeAccount, stopAccount} from '../../src/accounts/accounts.ts';
import {
  insertSchedules,
  listDueSchedules,
  listOverdueSchedules,
  listSchedules,
  requestDueSchedule,
  type SchedulePlan,
} from '../../src/sweeps/schedules.ts';
import {claimSweep, listDueSweeps} from '../../src/sweeps/sweeps.ts';
import {openWorld, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.pool.query('TRUNCATE sync.schedules, sync.sweeps CASCADE'));

const hourMs = 3_600_000;
const nightly: SchedulePlan = {
  name: 'jobs nightly',
  stream: 'jobs',
  mode: 'full',
  everyMs: 24 * hourMs,
  firstDueAt: '2020-01-01T03:00:00.000Z',
};
const window: SchedulePlan = {
  name: 'jobs today',
  stream: 'jobs',
  mode: 'window',
  windowName: 'today',
  everyMs: hourMs,
  firstDueAt: '2999-01-01T00:00:00Z',
};
const insert = (...plans: SchedulePlan[]) =>
  insertSchedules(world.pool, world.account.accountId, plans);
const list = (isDue = false) =>
  isDue
    ? listDueSchedules(world.pool, [world.account.accountId])
    : listSchedules(world.pool, world.account);

async function only(): Promise<string> {
  const [schedule, ...others] = await list();
  if (schedule === undefined || others.length > 0) throw new Error('expected one schedule');
  return schedule.scheduleId;
}

describe('schedules', () => {
  test('are listed by due time, either all or only those that are due', async () => {
    await insert(window, nightly);
    expect(await list()).toMatchObject([
      {
        name: 'jobs nightly',
        mode: 'full',
        windowName: null,
        everyMs: 24 * hourMs,
        nextDueAt: '2020-01-01T03:00:00Z',
        lastRequestedAt: null,
      },
      {name: 'jobs today', mode: 'window', windowName: 'today', everyMs: hourMs},
    ]);
    expect((await list(true)).map((schedule) => schedule.name)).toEqual(['jobs nightly']);
  });

  test('keep the changes of a person when they are inserted again', async () => {
    await insert(nightly);
    await world.pool.query('UPDATE sync.schedules SET every_ms = 60000');
    await insert(nightly, window);
    expect((await list()).map((schedule) => schedule.everyMs)).toEqual([60_000, hourMs]);
  });

  test('that are due make one sweep, and missed runs are skipped', async () => {
    await insert(nightly);
    const scheduleId = await only();
    const sweep = await requestDueSchedule(world.pool, scheduleId);
    expect(sweep).toMatchObject({
      stream: 'jobs',
      mode: 'full',
      state: 'due',
      requestedBy: 'schedule',
    });
    const [moved] = await list();
    const aheadMs = Date.parse(moved?.nextDueAt ?? '') - Date.now();
    expect(aheadMs).toBeGreaterThan(0);
    expect(aheadMs).toBeLessThanOrEqual(24 * hourMs);
    expect(moved?.nextDueAt).toMatch(/T03:00:00Z$/);
    expect(await requestDueSchedule(world.pool, scheduleId)).toBeNull();
  });

  test('that are due make one sweep, even in ten simultaneous calls', async () => {
    await insert(nightly);
    const scheduleId = await only();
    const taken = await Promise.all(
      Array.from({length: 10}, () => requestDueSchedule(world.pool, scheduleId)),
    );
    expect(taken.filter((sweep) => sweep !== null)).toHaveLength(1);
    expect(await listDueSweeps(world.pool, [world.account.accountId], 2)).toHaveLength(1);
  });

  test('that are not due, or do not exist, make no sweep', async () => {
    await insert(window);
    expect(await requestDueSchedule(world.pool, await only())).toBeNull();
    expect(await requestDueSchedule(world.pool, '999999')).toBeNull();
  });

  test('of a window pass its name to the sweep', async () => {
    await insert({...window, firstDueAt: '2020-01-01T00:00:00Z'});
    expect(await requestDueSchedule(world.pool, await only())).toMatchObject({
      mode: 'window',
      windowName: 'today',
    });
  });

  test.each([{everyMs: 0}, {windowName: 'today'}])(
    'that contradict themselves are rejected by a check constraint: %o',
    async (wrong) => {
      await expect(insert({...nightly, ...wrong})).rejects.toThrow(/check constraint/);
    },
  );
});

describe('schedules of an account that is not active', () => {
  const states = {paused: pauseAccount, stopped: stopAccount};

  test.each(Object.entries(states))('(%s) are not due and make no sweep', async (_state, leave) => {
    await insert(nightly);
    const {accountId} = world.account;
    await leave(world.pool, accountId, 'for a test');
    expect(await list(true)).toEqual([]);
    expect(await listDueSchedules(world.pool, [accountId])).toEqual([]);
    expect(await requestDueSchedule(world.pool, await only())).toBeNull();
    expect(await listOverdueSchedules(world.pool)).toEqual([]);
    await resumeAccount(world.pool, accountId);
    expect(await listDueSchedules(world.pool, [accountId])).toHaveLength(1);
    expect(await requestDueSchedule(world.pool, await only())).toMatchObject({state: 'due'});
  });
});

describe('a schedule is overdue', () => {
  const overdue = async () => (await listOverdueSchedules(world.pool)).map(({name}) => name);
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

  test('when it made no sweep for two intervals, and not before', async () => {
    await insert({...window, firstDueAt: ago(0.9 * hourMs)});
    expect(await overdue()).toEqual([]);
    await world.pool.query('UPDATE sync.schedules SET next_due_at = $1', [ago(1.1 * hourMs)]);
    expect(await listOverdueSchedules(world.pool, [world.account.accountId])).toMatchObject([
      {
        name: 'jobs today',
        accountName: 'acme',
        everyMs: hourMs,
        waitsSince: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await listOverdueSchedules(world.pool, ['999999'])).toEqual([]);
  });

  test('when no worker claimed its sweep for two intervals', async () => {
    await insert({...window, firstDueAt: ago(1000)});
    const sweep = await requestDueSchedule(world.pool, await only());
    expect(await overdue()).toEqual([]);
    await world.pool.query('UPDATE sync.sweeps SET due_at = $1', [ago(2.1 * hourMs)]);
    expect(await overdue()).toEqual(['jobs today']);
    await claimSweep(world.pool, sweep?.sweepId ?? '', 60_000);
    expect(await overdue()).toEqual([]);
  });
});
