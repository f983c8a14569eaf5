// A warehouse that takes no writes, as a standby or after a failover: each verb that writes says
// so, and leaves nothing half done.

import {afterEach, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;

afterEach(() => place.close());

async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'failover'});
  const name = new URL(place.databaseUrl).pathname.slice(1);
  await pool.query('SET default_transaction_read_only = off');
  await pool.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly}`);
  // Sessions from before do not know of the setting.
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND usename = current_user
        AND pid <> pg_backend_pid()`,
  );
  await pool.end();
}

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'test'});
  const {rows} = await pool.query(sql);
  await pool.end();
  return rows;
}

const words =
  /it is read-only, most likely a standby; promote it, or point DATABASE_URL at the primary/;
const open = `SELECT count(*)::int FROM sync.changes WHERE state = 'pending' AND sends = 0`;

test('verbs that write exit with 3 on a read-only warehouse, print a fix, and continue later', {
  timeout: 180_000,
}, async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  await ask(`UPDATE warehouse.customers SET fax = '555' WHERE customer_number <= 3`);
  const sweeps = await ask('SELECT count(*)::int FROM sync.sweeps');
  await setReadOnly(true);
  for (const verb of [['sync'], ['push'], ['start'], ['changes', 'retry', '1']]) {
    const ended = await runCommand(verb, place.env);
    expect(ended, `${verb}: ${ended.stdout} ${ended.stderr}`).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(words),
    });
  }
  const doctor = await runCommand(['doctor'], place.env);
  expect(doctor.stdout).toMatch(/warning +Postgres: version [^ ]+.*, and read-only: default_tr/);
  const status = await runCommand(['status'], place.env);
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/workers cannot write: Postgres is read-only: default_tr/),
  });
  expect(status.stdout).not.toMatch(/no worker is alive/);
  expect(await ask('SELECT count(*)::int FROM sync.sweeps')).toEqual(sweeps);
  expect(await ask(open)).toEqual([{count: 3}]);
  await setReadOnly(false);
  expect(await runCommand(['push'], place.env)).toMatchObject({code: 0});
  expect(await ask(`SELECT DISTINCT state FROM sync.changes`)).toEqual([{state: 'done'}]);
});

test('a running start continues automatically after the warehouse was read-only', {
  timeout: 180_000,
}, async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  const running = startCommand(['start'], place.env);
  try {
    await running.prints(/Running\. Ctrl-C/);
    await setReadOnly(true);
    await running.prints(/read-only/);
    await setReadOnly(false);
    await ask(`UPDATE warehouse.customers SET fax = '555' WHERE customer_number <= 3`);
    const states = () => ask(`SELECT DISTINCT state FROM sync.changes`);
    await expect.poll(states, {timeout: 40_000}).toEqual([{state: 'done'}]);
  } finally {
    running.process.kill('SIGTERM');
    await running.ended;
  }
});
