import {afterAll, beforeAll, expect, test} from 'vitest';
import {runSweepJob} from '../../jobs/queue-jobs.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
});

afterAll(async () => {
  await world.close();
  await service.close();
});

const countJobs = async (place: 'mart.fct_job' | 'warehouse.jobs') => {
  const {rows} = await world.pool.query<{jobs: number}>(
    `SELECT count(*)::int AS jobs FROM ${place}`,
  );
  return rows[0]?.jobs;
};

test('the last of several concurrent first loads fills the star, even if it fails', async () => {
  const other = await openWorld(service);
  try {
    const {pool, account} = other;
    const request = async (stream: string) => {
      const asked = {accountId: account.accountId, stream, mode: 'full', requestedBy: 'command'};
      return (await requestSweep(pool, asked as Parameters<typeof requestSweep>[1])).sweepId;
    };
    const [customers, tasks] = [await request('customers'), await request('tasks')];
    const {signal} = new AbortController();
    const count = async () => (await pool.query('SELECT FROM sync.stale_jobs')).rowCount ?? 0;
    expect(await runSweepJob(other, customers, {signal})).toMatchObject({state: 'certified'});
    expect(await count()).toBeGreaterThan(0);
    const onSweepStep = async () => {
      throw new TypeError('a fault');
    };
    const failed = await runSweepJob({...other, onSweepStep}, tasks, {signal});
    expect(failed).toMatchObject({outcome: 'failed'});
    expect(await count()).toBe(0);
  } finally {
    await other.close();
  }
});

test('a first load fills the star before its sweep ends', async () => {
  const asked = {
    accountId: world.account.accountId,
    stream: 'jobs',
    mode: 'full',
    requestedBy: 'command',
  } as const;
  const {sweepId} = await requestSweep(world.pool, asked);
  let filled: number | undefined;
  const deps = {
    ...world,
    onSweepStep: async (step: string) => {
      if (step !== 'list-verified') return;
      await expect.poll(() => countJobs('mart.fct_job'), {timeout: 30_000}).toBeGreaterThan(0);
      filled = await countJobs('mart.fct_job');
    },
  };
  const result = await runSweepJob(deps, sweepId, {signal: new AbortController().signal});
  expect(result).toMatchObject({outcome: 'ended', state: 'certified'});
  expect(filled).toBe(await countJobs('warehouse.jobs'));
});
