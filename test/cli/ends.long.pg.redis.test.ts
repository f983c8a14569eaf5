// The main job is told to stop, or dies, at the worst moment: its work under way is recorded, and
// the next start goes on with it. A record on its way to the service is there once.

import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import type pg from 'pg';
import {afterEach, describe, expect, inject, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import {type HoldingProxy, openHoldingProxy} from '../support/holding-proxy.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {openPlace, type Place} from '../support/place.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {openPlainPool} from '../support/with-client.ts';

const run = promisify(execFile);
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Held extends Place {
  readonly proxy: HoldingProxy;
  readonly warehouse: pg.Pool;
}

/** A service that keeps back its answers to some requests, and a warehouse for it. */
async function hold(isHeld: RegExp): Promise<Held> {
  const place = await openPlace({}, inject('warehouseTemplate'));
  const proxy = await openHoldingProxy(place.service.url, isHeld);
  const warehouse = openPlainPool(place.databaseUrl, {max: 1});
  closers.push(place.close, proxy.close, () => warehouse.end());
  const env = {...place.env, FIELDMIRROR_API_URL: proxy.url, FIELDMIRROR_LOG_LEVEL: 'info'};
  return {...place, env, proxy, warehouse};
}

function startMain(env: Readonly<Record<string, string>>) {
  const running = startCommand(['start'], env);
  closers.push(async () => running.process.kill('SIGKILL'));
  return running;
}

async function askOne(pool: pg.Pool, sql: string): Promise<unknown> {
  const {rows} = await pool.query({text: sql, rowMode: 'array'});
  return rows[0]?.[0];
}

/** Runs some harmful code on the signal. */
const onSignal = (deed: string) => {
  const script = encodeURIComponent(`process.on('SIGUSR2', () => { ${deed} })`);
  return {
    NODE_OPTIONS: `--max-old-space-size=96 --import=data:text/javascript,${script}`,
  };
};

describe('in the middle of a POST', () => {
  test.each([
    ['it is told to stop', 'SIGTERM', {}, {code: 0}],
    [
      'an error that nobody awaits',
      'SIGUSR2',
      onSignal(`Promise.reject(new Error('stray'))`),
      {code: 70, stderr: expect.stringMatching(/This is a bug[\s\S]*stray/)},
    ],
    [
      'it runs out of memory',
      'SIGUSR2',
      onSignal('const hoard = []; for (;;) hoard.push(new Array(1e6).fill(hoard.length + 0.5))'),
      {stderr: expect.stringMatching(/heap out of memory/)},
    ],
  ] as const)('%s: the record exists once after the next start', async (_, signal, env, ended) => {
    const {proxy, warehouse, ...place} = await hold(/^POST/);
    const first = startMain({...place.env, ...env});
    await first.prints(/Running\. Ctrl-C/);
    await warehouse.query(`INSERT INTO warehouse.customers (name) VALUES ('Sent once')`);
    await proxy.held;
    first.process.kill(signal);
    expect(await first.ended).toMatchObject(ended);
    expect(await askOne(warehouse, 'SELECT state FROM sync.changes')).toMatch(
      /^(sending|in_doubt)$/,
    );
    expect(await askOne(warehouse, 'SELECT count(*)::int FROM sync.attempts')).toBe(1);
    // A dead worker keeps its lease for a while.
    await warehouse.query(
      `UPDATE sync.changes SET lease_until = now() WHERE lease_until IS NOT NULL`,
    );
    proxy.letThrough();
    const second = startMain(place.env);
    await expect
      .poll(() => askOne(warehouse, 'SELECT state FROM sync.changes'), {timeout: 60_000})
      .toBe('done');
    second.process.kill('SIGTERM');
    expect(await second.ended).toMatchObject({code: 0});
    const service = openPlainPool(place.service.databaseUrl, {max: 1});
    closers.push(() => service.end());
    expect(
      await askOne(
        service,
        `SELECT count(*)::int FROM service.customers WHERE fields ->> 'name' = 'Sent once'`,
      ),
    ).toBe(1);
  });
}, 180_000);

test('stopped within a page, start releases its sweep, and the next start ends it', async () => {
  const {proxy, warehouse, env} = await hold(/^GET \/jobs\.xml/);
  const first = startMain(env);
  await proxy.held;
  first.process.kill('SIGTERM');
  expect(await first.ended).toMatchObject({code: 0});
  const jobs = `FROM sync.sweeps WHERE stream = 'jobs' AND mode = 'full'`;
  expect(await askOne(warehouse, `SELECT state || coalesce(lease_until::text, '') ${jobs}`)).toBe(
    'due',
  );
  proxy.letThrough();
  expect(await runCommand(['start', '--once'], env)).toMatchObject({code: 0});
  expect(await askOne(warehouse, `SELECT state ${jobs}`)).toBe('certified');
}, 120_000);

test.skipIf(!isInstalled())(
  'a stop signal ends start while Redis is down',
  async () => {
    const {env} = await hold(/^nothing/);
    const redis = await startServer();
    const running = startMain({...env, REDIS_URL: redis.url});
    await running.prints(/Running\. Ctrl-C/);
    await redis.stop();
    await running.prints(/out of reach/);
    running.process.kill('SIGTERM');
    expect(await running.ended).toMatchObject({code: 0});
  },
  120_000,
);

test('start without free file descriptors waits, and continues when it has some', async () => {
  const {warehouse, env} = await hold(/^nothing/);
  const running = startMain(env);
  await running.prints(/Running\. Ctrl-C/);
  await running.prints(/sweep\.ended[\s\S]*sweep\.ended[\s\S]*sweep\.ended[\s\S]*sweep\.ended/);
  const limit = (soft: string) =>
    run('prlimit', ['--pid', String(running.process.pid), `--nofile=${soft}:`]);
  await allowLargeEdits(warehouse);
  await limit('3');
  await warehouse.query(`UPDATE warehouse.customers SET fax = '555-' || customer_number`);
  await running.prints(/EMFILE|out of reach|waits and continues/);
  await limit('1024');
  const open = `SELECT count(*)::int FROM sync.changes WHERE state <> 'done'`;
  await expect.poll(() => askOne(warehouse, open), {timeout: 90_000}).toBe(0);
  running.process.kill('SIGTERM');
  expect(await running.ended).toMatchObject({code: 0});
}, 180_000);
