// Postgres logs the text of a failed statement. That of sync.set_employee_login bears a password, so it never
// fails.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {readPostgresLog} from '../support/postgres-log.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
let holder: pg.PoolClient;
beforeAll(async () => {
  world = await openCaptureWorld();
  await world.sent('employees', {employee_number: '7', id: '70'});
  holder = await world.pool.connect();
  await holder.query('BEGIN; SELECT FROM warehouse.employees FOR UPDATE');
});
afterAll(async () => {
  await holder?.query('ROLLBACK');
  holder?.release();
  await world?.close();
});

/** Sets a login of the employee whose row is locked, by a statement that has the password in its text. */
async function interrupt(settings: string, meanwhile: (pid: number) => Promise<unknown>) {
  const password = `made-up-${randomBytes(8).toString('hex')}`;
  const client = await world.pool.connect();
  try {
    const {rows: [own] = []} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
    await client.query(`SET log_min_error_statement = 'error'; ${settings}`);
    const set = client.query(`SELECT * FROM sync.set_employee_login(7, 'ada', '${password}', force => true)`);
    await meanwhile(own?.pid ?? 0);
    const {rows} = await set;
    return {rows, isLogged: (await readPostgresLog()).includes(password)};
  } finally {
    client.release(true);
  }
}

const isWaiting = async (pid: number) => {
  const waiting = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`;
  while ((await world.author(waiting, [pid])).length === 0);
};

test.each([
  ['its time is up', `SET statement_timeout = '200ms'`, async () => {}, 'statement timeout'],
  [
    'somebody cancels it',
    'SET statement_timeout = 0',
    async (pid: number) => {
      await isWaiting(pid);
      await world.author('SELECT pg_cancel_backend($1)', [pid]);
    },
    'user request',
  ],
  ['the row is locked for longer than it waits', 'SET statement_timeout = 0', async () => {}, 'lock timeout'],
] as const)(
  'where %s, it is refused in words, and its password is in no log',
  async (_, settings, meanwhile, why) => {
    const {rows, isLogged} = await interrupt(settings, meanwhile);
    expect(rows).toEqual([
      {change_id: null, refused: expect.stringMatching(`it failed, and nothing was changed: .*${why}`)},
    ]);
    expect(isLogged).toBe(false);
  },
);

test('the look at the log would see it', async () => {
  await world
    .author(
      `SET log_min_error_statement = 'error'; SELECT sync.set_employee_login(nothing => 'planted-password')`,
    )
    .catch(() => {});
  expect(await readPostgresLog()).toContain('planted-password');
});
