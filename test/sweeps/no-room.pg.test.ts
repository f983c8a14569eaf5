// A warehouse whose disk is full: work under way waits as long as it takes, says so, and then goes
// on.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {findAccountProblems} from '../../src/alerts/account-problems.ts';
import {readAccounts} from '../../src/health/account-status.ts';
import {pushAccount} from '../../src/push/push.ts';
import type {Sweep} from '../../src/sweeps/sweeps.ts';
import {openSmallDisk} from '../support/small-disk.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;

beforeEach(async () => {
  service = await openService();
  world = await openWorld(service);
});

afterEach(async () => {
  await world.close();
  await service.close();
});

/** Fails as Postgres itself does when it cannot make a file larger. */
async function fillDisk(table: string, sqlState: string): Promise<void> {
  await world.pool.query(`
    CREATE FUNCTION public.find_no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'
      USING ERRCODE = '${sqlState}'; END $$;
    CREATE TRIGGER find_no_room BEFORE INSERT ON ${table} FOR EACH STATEMENT
      EXECUTE FUNCTION public.find_no_room()`);
}

async function makeRoom(): Promise<void> {
  await world.pool.query('DROP FUNCTION public.find_no_room() CASCADE');
}

async function readSweeps(): Promise<Pick<Sweep, 'state' | 'failures' | 'error'>[]> {
  return (await world.pool.query('SELECT state, failures, error FROM sync.sweeps')).rows;
}

test.each([
  ['53100', /its disk is full.*continues automatically/],
  ['53400', /a limit .* temp_file_limit.*continues automatically/],
])(
  'a sweep that finds no disk space (%s) never fails, and continues when there is space',
  async (sqlState, words) => {
    await fillDisk('warehouse.customers', sqlState);
    for (let attempt = 1; attempt <= 7; attempt++) {
      const result = await world.sweep('customers');
      expect(result, `attempt ${attempt}`).toMatchObject({outcome: 'postponed'});
      if (result.outcome === 'postponed') expect(result.delayMs).toBeLessThanOrEqual(60_000);
    }
    expect(await readSweeps()).toMatchObject([
      {state: 'due', failures: 0, error: expect.stringMatching(words)},
    ]);
    await makeRoom();
    expect(await world.sweep('customers')).toMatchObject({outcome: 'ended', state: 'certified'});
    expect(await readSweeps()).toMatchObject([{state: 'certified', error: null}]);
  },
);

test('a sweep that cannot record its delay either continues after its lease expires', async () => {
  await fillDisk('warehouse.customers', '53100');
  await world.pool.query(`
    CREATE TRIGGER find_no_room BEFORE UPDATE ON sync.sweeps FOR EACH ROW
      WHEN (OLD.state = 'running')
    EXECUTE FUNCTION public.find_no_room()`);
  expect(await world.sweep('customers')).toMatchObject({
    outcome: 'postponed',
    error: {message: expect.stringContaining('its disk is full')},
  });
  expect(await readSweeps()).toMatchObject([{state: 'running'}]);
  await makeRoom();
  await world.pool.query(`UPDATE sync.sweeps SET lease_until = now() - interval '1 second'`);
  expect(await world.sweep('customers')).toMatchObject({outcome: 'ended', state: 'certified'});
});

test('status reports a sweep that waits for disk space as a problem', async () => {
  await fillDisk('warehouse.customers', '53100');
  await world.sweep('customers');
  const {now, accounts} = await readAccounts(world.pool, [world.account]);
  expect(findAccountProblems(accounts, now)).toMatchObject([
    {kind: 'no-room', stream: 'customers', text: expect.stringMatching(/waits.*its disk is full/)},
  ]);
});

test('a change that finds no disk space waits, and is sent when there is space', async () => {
  await world.sweep('customers');
  await world.pool.query(
    `UPDATE warehouse.customers SET fax = '555-0199' WHERE customer_number = 5`,
  );
  await fillDisk('sync.attempts', '53100');
  const push = () => pushAccount(world, world.account.accountId, new AbortController().signal);
  expect(await push()).toMatchObject({done: 0, rejected: 0, conflict: 0});
  await makeRoom();
  await world.pool.query(`UPDATE sync.changes SET due_at = now() WHERE state = 'pending'`);
  expect(await push()).toMatchObject({done: 1});
});

test('on a real full disk a sweep is postponed, and ends when there is space', async (context) => {
  const disk = await openSmallDisk();
  if (disk === null) return context.skip();
  const small = await openWorld(service, disk.database);
  try {
    disk.fill(64 * 1024);
    const full = await small.sweep('jobs');
    expect(full).toMatchObject({
      outcome: 'postponed',
      error: {message: expect.stringContaining('its disk is full')},
    });
    disk.empty();
    // The lease runs out where even the delay could not be noted.
    await small.pool.query(
      `UPDATE sync.sweeps SET lease_until = now() - interval '1 second' WHERE state = 'running'`,
    );
    expect(await small.sweep('jobs')).toMatchObject({outcome: 'ended', state: 'certified'});
  } finally {
    await small.close();
  }
});
