// A worker is stopped by SIGSTOP at any step, until its lease is over and another has carried its
// changes, and wakes as a zombie: its later requests and writes are refused.

import type {ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {pushSteps} from '../../src/push/run.ts';
import {carryElsewhere} from '../labs/push/killed-push.ts';
import {openRecordingProxy, type RecordingProxy} from '../support/recording-proxy.ts';
import {
  openService,
  openWorld,
  type TestService,
  type TestWorld,
  timeZone,
} from '../support/world.ts';

let service: TestService;
let proxy: RecordingProxy;
let world: TestWorld;

beforeAll(async () => {
  service = await openService();
  proxy = await openRecordingProxy(service.url);
  world = await openWorld({...service, url: proxy.url});
  await world.sweep('customers');
});

afterAll(async () => {
  await world.close();
  await proxy.close();
  await service.close();
});

/** `checked` is a step of a change that is already in doubt. */
const steps = pushSteps.filter((step) => step !== 'checked');
const settle = {checkDelaysMs: [100], arrivalLimitMs: 500};

test.each(steps)('a worker stopped at %s repeats no request', {timeout: 120_000}, async (step) => {
  const number = steps.indexOf(step) + 1;
  await world.pool.query(`INSERT INTO warehouse.customers (name) VALUES ('Stopped at ${step}')`);
  await world.pool.query(
    `UPDATE warehouse.customers SET fax = '555-${step}' WHERE customer_number = ${number}`,
  );
  const zombie = carryElsewhere({
    databaseUrl: world.databaseUrl,
    accountId: world.account.accountId,
    service: {url: proxy.url, token: service.token},
    timeZone,
    diesAt: step,
    signal: 'SIGSTOP',
    leaseMs: 1_000,
  });
  const ended = once(zombie, 'exit');
  try {
    await expect.poll(() => isStopped(zombie), {timeout: 60_000}).toBe(true);
    await endIdleTransactions();
    await expect.poll(carryHere, {timeout: 60_000, interval: 200}).toBe(0);
  } finally {
    zombie.kill('SIGCONT');
  }
  expect(await ended).toEqual([0, null]);
  expect(await carryHere()).toBe(0);
  const writes = proxy.takeWrites().map(({method, path}) => `${method} ${path}`);
  expect(writes.toSorted()).toEqual(['POST /customers.xml', `PUT /customers/${number}.xml`]);
});

/**
 * Ends idle transactions as the server does after two minutes, lest a stopped worker lock a row
 * longer.
 */
async function endIdleTransactions(): Promise<void> {
  await world.pool.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'push worker'
      AND state LIKE 'idle in transaction%'`,
  );
}

function isStopped({pid}: ChildProcess): boolean {
  return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** @returns how many changes are still open */
async function carryHere(): Promise<number> {
  const {pool, account} = world;
  await pushAccount(
    {...world, settle, leaseMs: 1_000},
    account.accountId,
    new AbortController().signal,
  );
  const {rows} = await pool.query(
    `SELECT count(*)::int AS open FROM sync.changes WHERE state <> 'done'`,
  );
  return rows[0].open;
}
