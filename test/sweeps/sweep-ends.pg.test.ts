import {describe, expect, test} from 'vitest';
import {RetryableError} from '../../src/core/errors.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {loadRows} from '../../src/rows/load.ts';
import {countRows, listLatestSweeps, readStreamNotes} from '../../src/sweeps/story.ts';
import {endSweep, postponeSweep, readSweep} from '../../src/sweeps/sweeps.ts';
import {approveSweep} from '../../src/sweeps/tombstones.ts';
import {machines, rowOf} from '../support/sample.ts';
import {
  checkpoint,
  claim,
  counts,
  listDue,
  request,
  useSweepsPlace,
  world,
} from './sweeps-place.ts';

useSweepsPlace();

describe('the end of a sweep', () => {
  test.each([
    [{state: 'certified'}, {reasons: [], error: null}],
    [
      {state: 'uncertified', reasons: ['one pass only', 'two in quarantine']},
      {reasons: ['one pass only', 'two in quarantine']},
    ],
    [{state: 'stopped', reasons: ['too much is gone']}, {reasons: ['too much is gone']}],
    [{state: 'failed', error: 'the token was refused'}, {error: 'the token was refused'}],
  ] as const)('is kept with its reasons or error: %o', async (end, kept) => {
    const {sweepId} = await request();
    await endSweep(world.pool, await claim(sweepId), end);
    const sweep = await readSweep(world.pool, sweepId);
    expect(sweep).toMatchObject({state: end.state, leaseUntil: null, ...kept});
    expect(sweep?.endedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(await listDue()).toEqual([]);
  });

  test('is refreshed for a window, and never certified', async () => {
    const asked = {mode: 'window', windowName: 'today'} as const;
    const window = await request(asked);
    const ended = await claim(window.sweepId);
    await expect(endSweep(world.pool, ended, {state: 'certified'})).rejects.toThrow(
      /sweeps_refreshed_check/,
    );
    const refused = endSweep(world.pool, ended, {state: 'refreshed', reasons: ['but']});
    await expect(refused).rejects.toThrow(/sweeps_reasons_check/);
    await endSweep(world.pool, ended, {state: 'refreshed'});
    expect(await readSweep(world.pool, window.sweepId)).toMatchObject({
      state: 'refreshed',
      reasons: [],
    });
    const full = await claim((await request()).sweepId);
    await expect(endSweep(world.pool, full, {state: 'refreshed'})).rejects.toThrow(
      /sweeps_refreshed_check/,
    );
  });

  test.each([
    {state: 'uncertified'},
    {state: 'stopped'},
    {state: 'failed'},
    {state: 'certified', reasons: ['but']},
    {state: 'certified', error: 'but'},
  ] as const)('that contradicts itself is rejected by a check constraint: %o', async (end) => {
    const {sweepId} = await request();
    await expect(endSweep(world.pool, await claim(sweepId), end)).rejects.toThrow(
      /check constraint/,
    );
  });

  test('is written only once', async () => {
    const sweep = await claim((await request()).sweepId);
    await endSweep(world.pool, sweep, {state: 'certified'});
    await expect(endSweep(world.pool, sweep, {state: 'failed', error: 'x'})).rejects.toThrow(
      RetryableError,
    );
    await expect(checkpoint(sweep)).rejects.toThrow(RetryableError);
  });
});

describe('a clean stop', () => {
  test('releases the sweep at once, with its checkpoint, and counts no failure', async () => {
    const {sweepId} = await request();
    const sweep = await claim(sweepId);
    await checkpoint(sweep, 9);
    expect(
      await postponeSweep(world.pool, sweep, {delayMs: 0, isFailure: false, error: null}),
    ).toBe(true);
    expect(await claim(sweepId)).toMatchObject({nextPage: 9, failures: 0, fence: 2, counts});
  });
});

describe('status', () => {
  test('shows live rows, the last sweep of each kind, and the number in quarantine', async () => {
    const {accountId} = world.account;
    const rows = ['1', '2', '3'].map((number) => rowOf(machines, {machine_number: number}));
    await inTransaction(world.pool, (client) =>
      loadRows(client, machines, rows, {accountId, sweepId: '1'}),
    );
    await world.pool.query(
      'UPDATE warehouse.machines SET _deleted_at = now() WHERE machine_number = 2',
    );
    const first = await request({stream: 'machines'});
    await endSweep(world.pool, await claim(first.sweepId), {state: 'failed', error: 'x'});
    const second = await request({stream: 'machines'});
    const window = await request({stream: 'machines', mode: 'window', windowName: 'today'});
    expect(await countRows(world.pool, machines, accountId)).toBe(2);
    expect(await readStreamNotes(world.pool, accountId, ['machines'])).toEqual([
      {stream: 'machines', sweeps: [second, window], quarantined: 0},
    ]);
    expect(await listLatestSweeps(world.pool, '999')).toEqual([]);
  });
});

describe('an approval', () => {
  async function stop(): Promise<string> {
    const {sweepId} = await request();
    await endSweep(world.pool, await claim(sweepId), {
      state: 'stopped',
      reasons: ['too much is gone'],
    });
    return sweepId;
  }

  test('makes a stopped sweep due again, and records its time', async () => {
    const sweepId = await stop();
    expect(await approveSweep(world.pool, sweepId)).toMatchObject({
      state: 'due',
      stage: 'approved',
      reasons: [],
      endedAt: null,
      approvedAt: expect.stringMatching(/Z$/),
    });
    expect(await listDue()).toMatchObject([{sweepId}]);
  });

  test('is refused for a sweep that is not stopped, or has a later one', async () => {
    const sweepId = await stop();
    const later = await request();
    expect(await approveSweep(world.pool, later.sweepId)).toBeNull();
    await endSweep(world.pool, await claim(later.sweepId), {state: 'certified'});
    expect(await approveSweep(world.pool, sweepId)).toBeNull();
  });
});
