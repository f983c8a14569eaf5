// The demo has a past: its business was played from night to night, and what the sweeps saw is
// dated back. The last day is left to the sweep that a user sees.

import {randomBytes} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {type EmbeddedPostgres, openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {startService} from '../../src/service/server.ts';
import {runCommand} from '../support/command.ts';

const nights = 3;
let home: string;
let env: Record<string, string>;
let postgres: EmbeddedPostgres;
let pool: pg.Pool;
let printed: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'fieldmirror-demo-'));
  env = {FIELDMIRROR_HOME: home, FIELDMIRROR_DEMO_NIGHTS: String(nights)};
  const {code, stdout, stderr} = await runCommand(['start', '--once'], env);
  expect({code, stderr}).toMatchObject({code: 0});
  printed = stdout + stderr;
  postgres = await openEmbeddedPostgres(home);
  pool = openPool(await postgres.url('warehouse'), {max: 2, applicationName: 'test'});
}, 120_000);
afterAll(async () => {
  await pool?.end();
  await postgres?.leave();
  await rm(home, {recursive: true, force: true});
});

async function read<T extends pg.QueryResultRow>(text: string): Promise<T[]> {
  return (await pool.query<T>(text)).rows;
}

describe('the history of the demo', () => {
  test('is announced while it is created', () => {
    expect(printed).toContain(`living through ${nights} days …`);
  });

  test('has nightly sweeps at 02:30 before the latest one', async () => {
    // Until half past two the latest night is that of the day before.
    const seen = await read<{night: string; at: string}>(
      `SELECT DISTINCT ((now() AT TIME ZONE 'America/New_York' - interval
        '2 hours 30 minutes')::date
                        - local::date) AS night, to_char(local, 'HH24:MI') AS at
         FROM sync.sweeps
        CROSS JOIN LATERAL (VALUES (started_at AT TIME ZONE 'America/New_York')) AS held (local)
        WHERE requested_by = 'schedule' ORDER BY 1`,
    );
    const [first, ...others] = seen.toReversed();
    expect(first).toMatchObject({night: nights});
    expect(others).toEqual([2, 1].map((night) => ({night, at: '02:30'})));
  });

  test('leaves the changes since the last nightly run to the sweep of the first start', () => {
    const counts = [...printed.matchAll(/certified: .* (\d+) new, (\d+) changed/g)];
    expect(counts).toHaveLength(4);
    const loaded = counts.reduce(
      (sum, [, added, changed]) => sum + Number(added) + Number(changed),
      0,
    );
    expect(loaded).toBeGreaterThan(0);
  });

  test('has the time when each full sweep had read its list', async () => {
    const [sweeps] = await read(
      `SELECT count(*) > 8 AS many, bool_and((evidence->>'readAt')::timestamptz BETWEEN started_at
        AND ended_at) AS "areBetween"
         FROM sync.sweeps WHERE mode = 'full'`,
    );
    expect(sweeps).toEqual({many: true, areBetween: true});
  });

  test('has versions in order of time, and none from the future', async () => {
    const [versions] = await read(
      `SELECT count(*) > 20 AS many, bool_and(valid_from < coalesce(valid_to,
        now() + interval '1 day')) AS ordered, bool_and(valid_from <= now()) AS past
         FROM history.jobs`,
    );
    expect(versions).toEqual({many: true, ordered: true, past: true});
    const days = await read(`SELECT DISTINCT valid_from::date FROM history.jobs`);
    expect(days.length).toBeGreaterThanOrEqual(nights);
  });

  test('can be queried as of a day in it, but not as of a day before it', async () => {
    const [day] = await read<{known: string; before: string}>(
      `SELECT (local - 1)::text AS known, (local - 30)::text AS before
         FROM (VALUES ((now() AT TIME ZONE 'America/New_York')::date)) AS today (local)`,
    );
    expect(await runCommand(['ask', 'open-jobs', '--as-of', day?.known ?? ''], env)).toMatchObject({
      code: 0,
    });
    const early = await runCommand(['ask', 'open-jobs', '--as-of', day?.before ?? ''], env);
    expect(early).toMatchObject({code: 2, stderr: expect.stringContaining('knows')});
  });

  test('ties out', async () => {
    expect(await runCommand(['check'], env)).toMatchObject({code: 0});
  });
});

test('a second run finds no new and no changed records', async () => {
  const {code, stdout} = await runCommand(['start', '--once'], env);
  expect(code).toBe(0);
  expect(stdout.match(/certified: .* 0 new, 0 changed/g)).toHaveLength(4);
});

test('an account keeps the address of a demo service as long as that service runs', async () => {
  // The server stopped when the run above left it.
  await pool.end();
  postgres = await openEmbeddedPostgres(home);
  pool = openPool(await postgres.url('warehouse'), {max: 2, applicationName: 'test'});
  const running = await startService({
    databaseUrl: await postgres.url('service'),
    port: 0,
    timeZone: 'America/New_York',
    dialect: 'observed',
  });
  const sync = async () => {
    expect(await runCommand(['sync', 'employees'], env)).toMatchObject({code: 0});
    return (await read<{api_url: string}>('SELECT api_url FROM sync.accounts')).map(
      ({api_url}) => api_url,
    );
  };
  try {
    await pool.query('UPDATE sync.accounts SET api_url = $1', [running.url]);
    expect(await sync()).toEqual([running.url]);
  } finally {
    await running.close();
  }
  expect(await sync()).not.toEqual([running.url]);
});

test('the demo continues if the person has set a key since, as hooks and alerts need', async () => {
  const key = randomBytes(32).toString('base64');
  const {code, stdout} = await runCommand(['start', '--once'], {...env, FIELDMIRROR_KEY: key});
  expect(stdout).toContain('the reference service at');
  expect(stdout).toMatch(/^jobs {7}certified: /m);
  expect(code).toBe(0);
});

test('whichever command makes the demo, full sweeps of its last day are due', async () => {
  const newHome = await mkdtemp(join(tmpdir(), 'fieldmirror-demo-'));
  const newEnv = {FIELDMIRROR_HOME: newHome, FIELDMIRROR_DEMO_NIGHTS: '1'};
  expect(await runCommand(['sync', 'employees'], newEnv)).toMatchObject({code: 0});
  const newPostgres = await openEmbeddedPostgres(newHome);
  const newPool = openPool(await newPostgres.url('warehouse'), {max: 1, applicationName: 'test'});
  try {
    const {rows} = await newPool.query(
      `SELECT stream, mode, state FROM sync.sweeps WHERE requested_by = 'command' ORDER BY stream`,
    );
    expect(rows).toEqual([
      {stream: 'customers', mode: 'full', state: 'due'},
      {stream: 'employees', mode: 'full', state: 'certified'},
      {stream: 'jobs', mode: 'full', state: 'due'},
      {stream: 'tasks', mode: 'full', state: 'due'},
    ]);
  } finally {
    await newPool.end();
    await newPostgres.leave();
    await rm(newHome, {recursive: true, force: true});
  }
});
