import {afterAll, beforeAll, expect, test} from 'vitest';
import {claimChanges} from '../../src/changes/claim-changes.ts';
import {beginSending} from '../../src/changes/move-changes.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;

beforeAll(async () => {
  world = await openCaptureWorld();
});

afterAll(async () => await world.close());

test('a process that slept may send a change only under its later claim', async () => {
  await world.author("INSERT INTO warehouse.customers (name) VALUES ('Ada Example')");
  const {pool, accountId} = world;
  const claimOnce = async () =>
    (await claimChanges(pool, accountId, {limit: 1, leaseMs: 30_000}))[0];
  const before = await claimOnce();
  await pool.query("UPDATE sync.changes SET lease_until = lease_until - interval '1 minute'");
  const after = await claimOnce();
  if (before === undefined || after === undefined) throw new Error('expected a change to claim');
  const request = {
    narrowed: null,
    readAt: null,
    method: 'POST',
    path: '/customers.xml',
    request: '<customer/>',
    conflicts: [],
    kinds: [],
  } as const;
  const begun = await inTransaction(pool, (client) =>
    beginSending(client, [
      {...request, claim: before},
      {...request, claim: after},
    ]),
  );
  expect(begun).toEqual([null, expect.objectContaining({fence: after.fence})]);
});
