// Sweeps of one account, none at the start of each test of a file that uses it, and short
// functions to work with them.

import {afterAll, beforeAll, beforeEach} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {
  type Claim,
  claimSweep,
  listDueSweeps,
  requestSweep,
  type Sweep,
  type SweepCounts,
  type SweepRequest,
  saveCheckpoint,
} from '../../src/sweeps/sweeps.ts';
import {openWorld, type World} from '../support/sample.ts';

export let world: World;
/** Makes the place for each test of the file that calls this. */
export function useSweepsPlace(): void {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.close());
  beforeEach(() => world.pool.query('TRUNCATE sync.sweeps, warehouse.machines CASCADE'));
}

export const leaseMs = 60_000;
export const counts: SweepCounts = {
  requests: 2,
  pages: 1,
  bytes: 5_000_000_000,
  records: 30,
  known: 7,
  asked: 6,
  inserted: 10,
  updated: 5,
  unchanged: 14,
  revived: 1,
  tombstoned: 2,
  vanished: 3,
  quarantined: 4,
};

export const request = (more: Partial<SweepRequest> = {}) => {
  const {accountId} = world.account;
  return requestSweep(world.pool, {
    accountId,
    stream: 'jobs',
    mode: 'full',
    requestedBy: 'command',
    ...more,
  });
};
export const checkpoint = (claim: Claim, nextPage = 5) =>
  inTransaction(world.pool, (client) => saveCheckpoint(client, claim, {nextPage, counts}));

export const listDue = (perAccount = 2) =>
  listDueSweeps(world.pool, [world.account.accountId], perAccount);

export async function claim(sweepId: string): Promise<Sweep> {
  const sweep = await claimSweep(world.pool, sweepId, leaseMs);
  if (sweep === null) throw new Error('expected to get the sweep');
  return sweep;
}

/** Acts as if the sweep's worker had been silent for longer than the lease. */
export async function expire(sweepId: string): Promise<void> {
  await world.pool.query(
    `UPDATE sync.sweeps SET lease_until = now() - interval '1 second' WHERE sweep_id = $1`,
    [sweepId],
  );
}
