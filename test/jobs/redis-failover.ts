// The claims of a queue that is on several servers of Redis, for each kind of them.

import {expect} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {createLogger} from '../../src/core/log.ts';
import {runCommand} from '../support/command.ts';
import {endSweeps} from '../support/end-sweeps.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import type {ManyRedises} from '../support/redis-access.ts';
import {openWork} from '../support/work-under-way.ts';
import {openService, openWorld, timeZone} from '../support/world.ts';

/** Words of the passwords, in the clear and as in an address. */
const secrets = /canary/;
const outOfReach = 'the queue or the warehouse is out of reach; nothing is lost, trying again';
const backAgain = 'the queue and the warehouse are within reach again; work continues';

/** Sweeps all, then carries a change, with all wake-ups on the given servers. */
export async function carryAll({url}: ManyRedises): Promise<void> {
  const service = await openService();
  const world = await openWorld(service);
  const {databaseUrl, log, account, pool} = world;
  const backend = await openQueueBackend({redisUrl: url, databaseUrl, log});
  const options = {accountIds: [account.accountId], keepsSchedules: true};
  const workers = await startWorkers(world, backend, options);
  try {
    const streams = ['employees', 'customers', 'jobs', 'tasks'];
    for (const sweep of await endSweeps(world, streams))
      expect(sweep).toMatchObject({failures: 0, fence: 1});
    await allowLargeEdits(pool);
    await pool.query(`UPDATE warehouse.customers SET fax = '555-' || customer_number`);
    const states = async () => (await pool.query('SELECT DISTINCT state FROM sync.changes')).rows;
    await expect.poll(states, {timeout: 30_000}).toEqual([{state: 'done'}]);
  } finally {
    await workers.stop();
    await world.close();
    await service.close();
  }
}

/**
 * The primary with our keys is struck while changes are carried; changes are written and sweeps are
 * asked for before, during and after that. A killed one has its replica held back until an operator
 * has read that the queue is away.
 */
export async function strikePrimary(
  redises: ManyRedises,
  blow: 'SIGKILL' | 'SIGSTOP',
): Promise<void> {
  const lines: {msg: string}[] = [];
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  const told = () =>
    lines.map(({msg}) => msg).filter((msg) => msg === outOfReach || msg === backAgain);
  const work = await openWork();
  try {
    await work.work(redises.url, {log: createLogger({level: 'warn', secrets: [], destination})});
    const before = endSweeps(work.world, ['employees']);
    await work.begin();
    const [struck = 0] = await redises.primaries();
    const replica = await redises.replica();
    if (blow === 'SIGKILL') redises.signal(replica, 'SIGSTOP');
    redises.signal(struck, blow);
    await work.add(10);
    const during = endSweeps(work.world, ['customers', 'tasks']);
    if (blow === 'SIGKILL') await expect.poll(told, {timeout: 45_000}).toEqual([outOfReach]);
    redises.signal(replica, 'SIGCONT');
    const primary = async () => (await redises.primaries())[0];
    await expect.poll(primary, {timeout: 60_000}).toBe(replica);
    await work.add(10);
    const after = endSweeps(work.world, ['jobs']);
    for (const sweeps of [before, during, after])
      for (const {state} of await sweeps) expect(state).toMatch(/certified/);
    await work.expectEachOnce();
    expect(new Set(told()).size).toBe(told().length);
    expect(JSON.stringify(lines)).not.toMatch(secrets);
  } finally {
    await work.close();
  }
}

/**
 * The findings of `doctor` about the queue, as lines; none of them, nor a setting, shows a
 * password.
 */
export async function examine(
  redisUrl: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const env = {
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    ...more,
  };
  const {stdout, stderr} = await runCommand(['doctor', '--json'], {...env, REDIS_URL: redisUrl});
  expect(stdout + stderr).not.toMatch(secrets);
  const {findings}: {findings: {what: string; state: string; found: string}[]} = JSON.parse(stdout);
  return findings
    .filter(({what}) => what === 'queue' || what === 'Redis')
    .map(({what, state, found}) => `${state} ${what}: ${found}`);
}
