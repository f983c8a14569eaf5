// A line that carries 32 kB a second is slow, not broken: the sweep takes its time, its lease is
// renewed meanwhile, and no page is read twice out of impatience.

import {afterEach, expect, test} from 'vitest';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {requestSweep, type SweepStep} from '../../src/sweeps/sweeps.ts';
import {openFaultyLine} from '../support/faulty-line.ts';
import {openService, openWorld} from '../support/world.ts';

const bytesASecond = 32_000;
/** Less than one page takes. */
const leaseMs = 100;
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test('a sweep over a connection of 32 kB a second keeps its lease and is certified', async () => {
  const service = await openService({compress: false});
  const line = await openFaultyLine(Number(new URL(service.url).port), () => ({
    kind: 'slow',
    bytesASecond,
  }));
  const world = await openWorld({url: `http://127.0.0.1:${line.port}`, token: service.token});
  closers.push(service.close, () => line.close(), world.close);
  const {sweepId} = await requestSweep(world.pool, {
    accountId: world.account.accountId,
    stream: 'employees',
    mode: 'full',
    requestedBy: 'command',
  });
  const wasRenewed: boolean[] = [];
  const onSweepStep = async (step: SweepStep) => {
    if (step !== 'batch-read') return;
    const {rows} = await world.pool.query(
      `SELECT lease_until > started_at + $1 * interval '1 millisecond' AS "isLater"
         FROM sync.sweeps`,
      [leaseMs],
    );
    wasRenewed.push(rows[0].isLater);
  };
  const sweep = runSweep({...world, leaseMs, onSweepStep}, sweepId, new AbortController().signal);
  expect(await sweep).toMatchObject({outcome: 'ended', state: 'certified'});
  expect(wasRenewed).toEqual([true]);
  const {rows} = await world.pool.query('SELECT fence, failures FROM sync.sweeps');
  expect(rows).toEqual([{fence: 1, failures: 0}]);
  expect(line.struck.slow).toBeGreaterThan(0);
});
