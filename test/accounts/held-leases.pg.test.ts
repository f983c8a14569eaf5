// What another process holds, or a dead one held, is waited for with a word: who has it, and how
// long that can last at most.

import pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {nameThisProcess} from '../../src/core/lease.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {type HoldingProxy, openHoldingProxy} from '../support/holding-proxy.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';

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
  warehouse = new pg.Pool({connectionString: place.databaseUrl, max: 1});
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

test.each([
  ['with lines', []],
  ['with JSON', ['--json']],
])(
  'after kill -9 sync says at once that the process is gone, and how long its lease lasts: %s',
  async (_, more) => {
    await hold(/^GET \/tasks\.xml/);
    const first = await beginSweep();
    first.process.kill('SIGKILL');
    await first.ended;
    proxy.letThrough();
    const begunAt = performance.now();
    const second = startCommand(['sync', 'tasks', ...more], env);
    await second.prints(/tasks: sweep \d+ was begun by a process that is gone/);
    expect(performance.now() - begunAt).toBeLessThan(13_000);
    // The lease ends now, and not only in fourteen seconds.
    await warehouse.query(`UPDATE sync.sweeps SET lease_until = now() WHERE state = 'running'`);
    const {code, stderr} = await second.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      new RegExp(
        '^tasks: sweep \\d+ was begun by a process that is gone ' +
          `\\(.+, pid ${first.process.pid}\\); it goes on here in \\d+ s at most …$`,
        'm',
      ),
    );
    expect(stderr.match(/process that is gone/g)).toHaveLength(1);
  },
);

test('a sweep of a process that lives is waited for, with its name', async () => {
  await hold(/^GET \/tasks\.xml/);
  const first = await beginSweep();
  const second = startCommand(['sync', 'tasks'], env);
  await second.prints(
    new RegExp(
      `tasks: waiting for another process \\(.+, pid ${first.process.pid}\\), ` +
        'which has sweep \\d+ under way; if that process is gone, ' +
        'the sweep goes on here in \\d+ s at most',
    ),
  );
  proxy.letThrough();
  expect(await first.ended).toMatchObject({code: 0});
  expect(await second.ended).toMatchObject({code: 0});
});

test('the same of start --once', async () => {
  await hold(/^nothing/);
  await warehouse.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone) VALUES ('a', $1, 'America/New_York')`,
    [new URL(proxy.url).href.replace(/\/$/, '')],
  );
  await warehouse.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
      lease_until, claimed_by)
     VALUES (1, 'tasks', 'full', 'command', 'running', now(), now() + interval '1 hour', $1)`,
    [nameThisProcess().replace(/\d+$/, '999999999')],
  );
  const running = startCommand(['start', '--once'], env);
  await running.prints(
    inSequence(
      /tasks: sweep 1 was begun by a process that is gone \(.+, pid 999999999\); /,
      /it goes on here in 59 min/,
    ),
  );
  await warehouse.query(
    'UPDATE sync.sweeps SET lease_until = now() WHERE sweep_id = 1 AND fence = 0',
  );
  expect(await running.ended).toMatchObject({code: 0});
});

test('push says how many changes another process has in hand, and how long', async () => {
  await hold(/^nothing/);
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
  await warehouse.query(`INSERT INTO warehouse.tasks (name) VALUES ('Roof')`);
  await warehouse.query(`UPDATE sync.changes SET lease_until = now() + interval '14 seconds'`);
  const {code, stdout} = await runCommand(['push'], env);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    inSequence(
      /nothing was due; still open: 1 pending; another process has 1 in hand; /,
      /if that process is gone, fieldmirror push carries them in 1\d s at most/,
    ),
  );
  expect(code).toBe(0);
});

test('prune says for how long another process can hold it up', async () => {
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

test('each lease is told to those who wait for it, or nobody waits', async () => {
  await hold(/^nothing/);
  const {rows} = await warehouse.query(
    `SELECT table_name AS name FROM information_schema.columns
      WHERE table_schema = 'sync' AND column_name = 'lease_until' ORDER BY table_name`,
  );
  expect(rows.map(({name}) => name)).toEqual([
    // Workers alone take these, and look again within seconds; alerts-failing and hook-failing tell
    // of what stays.
    ...['alert_deliveries', 'alert_looks'],
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
