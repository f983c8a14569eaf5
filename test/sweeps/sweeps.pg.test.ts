import {describe, expect, test} from 'vitest';
import {RetryableError} from '../../src/core/errors.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {loadRows} from '../../src/rows/load.ts';
import {countRows} from '../../src/sweeps/story.ts';
import {
  claimSweep,
  endSweep,
  listDueSweeps,
  postponeSweep,
  readSweep,
  renewLease,
  type SweepRequest,
  saveCheckpoint,
} from '../../src/sweeps/sweeps.ts';
import {machines, rowOf} from '../support/sample.ts';
import {
  checkpoint,
  claim,
  counts,
  expire,
  leaseMs,
  listDue,
  request,
  useSweepsPlace,
  world,
} from './sweeps-place.ts';

useSweepsPlace();

describe('a request for a sweep', () => {
  test('creates a sweep that is due at once', async () => {
    const sweep = await request({mode: 'window', windowName: 'today', requestedBy: 'schedule'});
    expect(sweep).toMatchObject({
      accountId: world.account.accountId,
      stream: 'jobs',
      mode: 'window',
      windowName: 'today',
      recordNumber: null,
      state: 'due',
      requestedBy: 'schedule',
      startedAt: null,
      endedAt: null,
      nextPage: 1,
      fence: 0,
      leaseUntil: null,
      failures: 0,
      counts: {records: 0, bytes: 0},
      reasons: [],
      error: null,
      stage: 'read',
      evidence: {},
      approvedAt: null,
    });
    expect(await listDue()).toEqual([{...sweep, accountName: 'acme'}]);
    expect(await readSweep(world.pool, sweep.sweepId)).toEqual(sweep);
  });

  test('returns an unfinished sweep, due or running, and creates no second one', async () => {
    const first = await request();
    expect(await request({requestedBy: 'schedule'})).toEqual(first);
    await claim(first.sweepId);
    expect(await request()).toMatchObject({sweepId: first.sweepId, state: 'running'});
  });

  test('makes a sweep that waits for a retry due at once', async () => {
    const {sweepId} = await request();
    await postponeSweep(world.pool, await claim(sweepId), {
      delayMs: 3_600_000,
      isFailure: true,
      error: 'x',
    });
    expect(await claimSweep(world.pool, sweepId, leaseMs)).toBeNull();
    await request();
    expect(await claimSweep(world.pool, sweepId, leaseMs)).not.toBeNull();
  });

  test('with another stream, mode, window or record creates another sweep', async () => {
    const asked: Partial<SweepRequest>[] = [
      {},
      {stream: 'tasks'},
      {mode: 'window', windowName: 'today'},
      {mode: 'window', windowName: 'tomorrow'},
      {mode: 'record', recordNumber: '7'},
      {mode: 'record', recordNumber: '8'},
    ];
    const ids = new Set<string>();
    for (const more of [...asked, ...asked]) ids.add((await request(more)).sweepId);
    expect(ids.size).toBe(asked.length);
  });

  test('creates a new sweep after the last one ended', async () => {
    const first = await request();
    await endSweep(world.pool, await claim(first.sweepId), {state: 'certified'});
    expect((await request()).sweepId).not.toBe(first.sweepId);
  });

  test('sent twenty times at once creates one sweep', async () => {
    const sweeps = await Promise.all(Array.from({length: 20}, () => request()));
    expect(new Set(sweeps.map((sweep) => sweep.sweepId)).size).toBe(1);
  });

  test.each<Partial<SweepRequest>>([
    {mode: 'window'},
    {mode: 'record'},
    {mode: 'full', windowName: 'today'},
    {mode: 'full', recordNumber: '7'},
  ])('that contradicts itself is rejected by a check constraint: %o', async (more) => {
    await expect(request(more)).rejects.toThrow(/check constraint/);
  });
});

describe('a claim', () => {
  test('succeeds for one of twenty workers', async () => {
    const {sweepId} = await request();
    const claims = await Promise.all(
      Array.from({length: 20}, () => claimSweep(world.pool, sweepId, leaseMs)),
    );
    expect(claims.filter((sweep) => sweep !== null)).toMatchObject([{state: 'running', fence: 1}]);
  });

  test('is refused while the lease lasts, and the sweep is not listed as due', async () => {
    const {sweepId} = await request();
    await claim(sweepId);
    expect(await claimSweep(world.pool, sweepId, leaseMs)).toBeNull();
    expect(await listDue()).toEqual([]);
  });

  test('succeeds when the lease ran out; the old worker can no longer write', async () => {
    const {sweepId} = await request();
    const old = await claim(sweepId);
    await expire(sweepId);
    expect(await listDue()).toHaveLength(1);
    const taken = await claim(sweepId);
    expect(taken).toMatchObject({fence: 2, startedAt: old.startedAt});
    expect(await renewLease(world.pool, {...old, leaseMs})).toBe(false);
    expect(await postponeSweep(world.pool, old, {delayMs: 0, isFailure: false, error: null})).toBe(
      false,
    );
    await expect(checkpoint(old)).rejects.toThrow(RetryableError);
    await expect(endSweep(world.pool, old, {state: 'certified'})).rejects.toThrow(/fence 1/);
    expect(taken).toEqual({
      ...(await readSweep(world.pool, sweepId)),
      accountName: 'acme',
      isFirstLoad: expect.any(Boolean),
    });
    expect(await renewLease(world.pool, {...taken, leaseMs})).toBe(true);
  });

  test('of a sweep that ended, or does not exist, returns null', async () => {
    const {sweepId} = await request();
    await endSweep(world.pool, await claim(sweepId), {state: 'certified'});
    expect(await claimSweep(world.pool, sweepId, leaseMs)).toBeNull();
    expect(await claimSweep(world.pool, '999999', leaseMs)).toBeNull();
    expect(await readSweep(world.pool, '999999')).toBeNull();
  });

  test('is renewed according to the clock of the database', async () => {
    const sweep = await claim((await request()).sweepId);
    await renewLease(world.pool, {...sweep, leaseMs: 3_600_000});
    const {rows} = await world.pool.query(
      `SELECT lease_until - now() > interval '59 minutes' AS long FROM sync.sweeps`,
    );
    expect(rows).toEqual([{long: true}]);
  });
});

describe('a checkpoint', () => {
  test('keeps page and counts, and resets earlier failures', async () => {
    const {sweepId} = await request();
    await postponeSweep(world.pool, await claim(sweepId), {
      delayMs: 0,
      isFailure: true,
      error: 'broken',
    });
    expect(await readSweep(world.pool, sweepId)).toMatchObject({
      state: 'due',
      failures: 1,
      error: 'broken',
      leaseUntil: null,
    });
    const sweep = await claim(sweepId);
    await checkpoint(sweep, 12);
    expect(await readSweep(world.pool, sweepId)).toMatchObject({
      nextPage: 12,
      counts,
      failures: 0,
      state: 'running',
    });
  });

  test('with a lost fence rolls the whole batch back', async () => {
    const {sweepId} = await request();
    const old = await claim(sweepId);
    await expire(sweepId);
    await claim(sweepId);
    const {accountId} = world.account;
    const batch = inTransaction(world.pool, async (client) => {
      await loadRows(client, machines, [rowOf(machines, {machine_number: '1'})], {
        accountId,
        sweepId,
      });
      await saveCheckpoint(client, old, {nextPage: 2, counts});
    });
    await expect(batch).rejects.toThrow(/another worker/);
    expect(await countRows(world.pool, machines, accountId)).toBe(0);
    expect(await readSweep(world.pool, sweepId)).toMatchObject({nextPage: 1});
  });
});

describe('the due sweeps', () => {
  const windows = ['today', 'tomorrow', 'this_week', 'in_progress'];

  test('of one account are limited to its share, windows before full sweeps', async () => {
    await request();
    for (const windowName of windows) await request({mode: 'window', windowName});
    expect((await listDue(3)).map(({windowName}) => windowName)).toEqual(windows.slice(0, 3));
    const [first] = await listDue(3);
    await claim(first?.sweepId ?? '');
    expect(await listDue(3)).toHaveLength(2);
    expect((await listDue(9)).at(-1)).toMatchObject({mode: 'full'});
  });

  test('of several accounts are listed in turn', async () => {
    const {rows} = await world.pool.query<{id: string}>(
      `INSERT INTO sync.accounts (name, api_url, time_zone) VALUES ('other', 'http://other', 'UTC')
        RETURNING account_id AS id`,
    );
    const other = rows[0]?.id ?? '';
    for (const windowName of windows) await request({mode: 'window', windowName});
    await request({accountId: other});
    const due = await listDueSweeps(world.pool, [world.account.accountId, other], 2);
    expect(due.map(({accountId}) => accountId === other)).toEqual([false, true, false]);
  });

  test('of a paused account are not listed, and cannot be claimed', async () => {
    const {sweepId} = await request();
    const set = (state: string) => world.pool.query('UPDATE sync.accounts SET state = $1', [state]);
    await set('paused');
    expect(await listDue()).toEqual([]);
    expect(await claimSweep(world.pool, sweepId, leaseMs)).toBeNull();
    await set('active');
    expect(await listDue()).toHaveLength(1);
  });
});
