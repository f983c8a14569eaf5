// What another process holds is waited for with a word: who has it, and how long that can last at
// most. What a dead one of this machine held is taken up at once.

import type pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {leasedTables} from '../../src/accounts/workers.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {type HoldingProxy, openHoldingProxy} from '../support/holding-proxy.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';
import {openPlainPool} from '../support/with-client.ts';

let place: Place;
let proxy: HoldingProxy;
let warehouse: pg.Pool;
let env: Readonly<Record<string, string>>;

async function hold(isHeld: RegExp): Promise<void> {
  proxy = await openHoldingProxy(place.service.url, isHeld);
  env = {...place.env, FIELDMIRROR_API_URL: proxy.url};
}

beforeEach(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  warehouse = openPlainPool(place.databaseUrl, {max: 1});
});

afterEach(async () => {
  proxy.letThrough();
  await warehouse.end();
  await proxy.close();
  await place.close();
});

/** A sweep in a process of its own, which waits for the service. */
async function beginSweep() {
  const running = startCommand(['sync', 'tasks'], env);
  await proxy.held;
  return running;
}

/** The lease as if it had just been taken for an hour. */
async function stretchLease(): Promise<void> {
  const {rowCount} = await warehouse.query(
    `UPDATE sync.sweeps SET lease_until = now() + interval '1 hour' WHERE state = 'running'`,
  );
  expect(rowCount).toBe(1);
}

async function readSweep() {
  const {rows} = await warehouse.query(
    `SELECT state, fence FROM sync.sweeps WHERE stream = 'tasks'`,
  );
  return rows;
}

/** A sweep whose process was killed with -9 while it held the sweep. */
async function killInSweep(): Promise<void> {
  await hold(/^GET \/tasks\.xml/);
  const first = await beginSweep();
  first.process.kill('SIGKILL');
  await first.ended;
  proxy.letThrough();
  await stretchLease();
}

test.each([
  ['sync', ['sync', 'tasks']],
  ['sync --json', ['sync', 'tasks', '--json']],
  ['start --once', ['start', '--once', '--json']],
])('after kill -9, %s resumes the sweep at once in spite of its lease', async (_, args) => {
  await killInSweep();
  const {code, stderr} = await runCommand(args, env);
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/waiting for/);
  expect(await readSweep()).toEqual([{state: 'certified', fence: 2}]);
});

test('a waiting sync resumes the sweep as soon as the process that held it is killed', async () => {
  await hold(/^GET \/tasks\.xml/);
  const first = await beginSweep();
  await stretchLease();
  const second = startCommand(['sync', 'tasks'], env);
  await second.prints(/tasks: waiting for another process/);
  first.process.kill('SIGSTOP');
  // Renewed by its process a moment before, perhaps.
  await stretchLease();
  expect(await readSweep()).toEqual([{state: 'running', fence: 1}]);
  first.process.kill('SIGKILL');
  proxy.letThrough();
  expect(await second.ended).toMatchObject({code: 0});
  expect(await readSweep()).toEqual([{state: 'certified', fence: 2}]);
});

test.each([
  ['of another machine or boot', `translate(left(holder, 1), 'A', 'B') || 'A' || holder`],
  ['without a mark', 'NULL'],
])('sync waits, with a message, for the lease of a killed process %s', async (_, holder) => {
  await killInSweep();
  await warehouse.query(`UPDATE sync.sweeps SET holder = ${holder}`);
  const second = startCommand(['sync', 'tasks'], env);
  await second.prints(
    new RegExp(
      'tasks: waiting for another process \\(.+, pid \\d+\\), which has sweep \\d+ in progress; ' +
        'if that process has ended, the sweep continues here in 59 min',
    ),
  );
  expect(await readSweep()).toEqual([{state: 'running', fence: 1}]);
  await warehouse.query(`UPDATE sync.sweeps SET lease_until = now()`);
  expect(await second.ended).toMatchObject({code: 0});
});

test('sync waits for the sweep of a running process, and prints the pid', async () => {
  await hold(/^GET \/tasks\.xml/);
  const first = await beginSweep();
  const second = startCommand(['sync', 'tasks'], env);
  await second.prints(
    new RegExp(
      `tasks: waiting for another process \\(.+, pid ${first.process.pid}\\), ` +
        'which has sweep \\d+ in progress; if that process has ended, ' +
        'the sweep continues here in \\d+ s at most',
    ),
  );
  proxy.letThrough();
  expect(await first.ended).toMatchObject({code: 0});
  expect(await second.ended).toMatchObject({code: 0});
});

test('push prints how many changes another process holds, and for how long', async () => {
  await hold(/^nothing/);
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
  await warehouse.query(`INSERT INTO warehouse.tasks (name) VALUES ('Roof')`);
  await warehouse.query(`UPDATE sync.changes SET lease_until = now() + interval '50 min'`);
  const {code, stdout} = await runCommand(['push'], env);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    inSequence(
      /nothing was due; still open: 1 pending; another process has 1 in hand; /,
      /if that process has ended, fieldmirror push carries them in (49|50) min/,
    ),
  );
  expect(code).toBe(0);
});

test('after kill -9, push completes the change of the killed process at once', async () => {
  await hold(/^GET \/tasks\/\d+\.xml/);
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
  await warehouse.query(
    `UPDATE warehouse.tasks SET name = 'Roof' WHERE row_id = (SELECT min(row_id) FROM
      warehouse.tasks)`,
  );
  const first = startCommand(['push'], env);
  await proxy.held;
  first.process.kill('SIGKILL');
  await first.ended;
  proxy.letThrough();
  const {rowCount} = await warehouse.query(
    `UPDATE sync.changes SET lease_until = now() + interval '1 hour' WHERE lease_until > now()`,
  );
  expect(rowCount).toBe(1);
  const {code, stdout} = await runCommand(['push'], env);
  expect(stdout).toMatch(/1 done/);
  expect(code).toBe(0);
});

test('after kill -9, prune starts at once', async () => {
  await killInSweep();
  await warehouse.query(
    `INSERT INTO sync.prunings (lease_until, holder)
     SELECT lease_until, holder FROM sync.sweeps`,
  );
  expect(await runCommand(['prune'], env)).toMatchObject({code: 0});
});

test('prune prints how long another process can block it', async () => {
  await hold(/^nothing/);
  await warehouse.query(
    `INSERT INTO sync.prunings (lease_until) VALUES (now() + interval '290 seconds')`,
  );
  const {code, stdout} = await runCommand(['prune'], env);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /another process is pruning.*the next one may begin in 4 min \d+ s at most/,
  );
  expect(code).toBe(1);
});

test('the list of leased tables holds every table that has a lease', async () => {
  await hold(/^nothing/);
  const {rows} = await warehouse.query(
    `SELECT table_name AS name FROM information_schema.columns
      WHERE table_schema = 'sync' AND column_name = 'lease_until' ORDER BY table_name`,
  );
  const names = rows.map(({name}) => name);
  expect(leasedTables).toEqual(names);
  expect(names).toEqual([
    // Workers alone take these, and look again within seconds; alerts-failing and hook-failing tell
    // of what stays.
    'alert_checks',
    'alert_deliveries',
    // push
    'changes',
    // deliver
    'delivery_targets',
    'feed_hooks',
    // prune
    'prunings',
    // Workers alone, as above; report-unsent tells of what stays.
    'report_mails',
    // sync, start --once, quarantine retry
    'sweeps',
  ]);
});
