// The refresh that follows a first load: two sessions fill the empty star, and Postgres gathers its
// statistics.

import type pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {isTimeZone} from '../../src/core/names.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 4, applicationName: 'test'});
  const account = {name: 'made up', apiUrl: 'https://example.com', timeZone: 'America/New_York'};
  const {accountId} = await upsertAccount(pool, account);
  await inSweepTransaction(pool, async (client) => {
    for (const [table, columns, values] of [
      ['jobs', 'created_at, updated_at, status', "'2026-07-15', '2026-07-15', 'scheduled'"],
      ['time_entries', 'started_on, ended_on', "'2026-07-15T10:00Z', '2026-07-15T11:00Z'"],
    ] as const)
      await client.query(
        `INSERT INTO warehouse.${table} (account_id, id, job_number, ${columns}, _hash, _sweep_id)
         SELECT $1, id, id, ${values}, '\\x00', 1
           FROM generate_series(1, 2000) AS id`,
        [accountId],
      );
  });
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function countFilled() {
  const {rows} = await pool.query(
    `SELECT (SELECT count(*)::int FROM mart.fct_job) AS jobs,
      (SELECT count(*)::int FROM mart.fct_time_entry) AS "timeEntries",
            (SELECT count(*) > 0 FROM sync.stale_jobs) AS "isStale"`,
  );
  return rows[0];
}

const whole = {jobs: 2000, timeEntries: 2000, isStale: false};

test('after the first refresh, the statistics of Postgres have the number of jobs', async () => {
  await refreshStar(pool);
  const {rows} = await pool.query(
    `SELECT oid::regclass::text AS place, reltuples FROM pg_class
     WHERE oid IN ('warehouse.jobs'::regclass, 'mart.fct_job'::regclass) ORDER BY 1`,
  );
  expect(rows).toEqual([
    {place: 'mart.fct_job', reltuples: 2000},
    {place: 'warehouse.jobs', reltuples: 2000},
  ]);
});

test('dates use the time zone of each account, and the session keeps its own zone', async () => {
  const account = {
    name: 'far away',
    apiUrl: 'https://example.com',
    timeZone: 'Australia/Lord_Howe',
  };
  const {accountId} = await upsertAccount(pool, account);
  const zone = await inSweepTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO warehouse.jobs (account_id, id, job_number, created_at, _hash, _sweep_id)
        VALUES ($1, 1, 1, '2026-07-15T13:45Z', '\\x00', 1)`,
      [accountId],
    );
    await client.query(`SET LOCAL timezone = 'Asia/Tokyo'; SELECT sync.fill_star('{fct_job}')`);
    return (await client.query('SHOW timezone')).rows;
  });
  expect(zone).toEqual([{TimeZone: 'Asia/Tokyo'}]);
  const {rows} = await pool.query(
    `SELECT account_key::int AS account, booked_date::text AS date, count(*)::int AS jobs
       FROM mart.fct_job GROUP BY 1, 2 ORDER BY 1`,
  );
  expect(rows).toEqual([
    {account: 1, date: '2026-07-14', jobs: 2000},
    {account: 2, date: '2026-07-16', jobs: 1},
  ]);
});

test('in every time zone, a cast in a session gives the same date as AT TIME ZONE', async () => {
  const {rows: zones} = await pool.query<{name: string}>('SELECT name FROM pg_timezone_names');
  const apart = await inSweepTransaction(pool, async (client) => {
    const found: string[] = [];
    for (const {name} of zones.filter((zone) => isTimeZone(zone.name))) {
      await client.query(`SELECT set_config('timezone', $1, true)`, [name]);
      const {rows} = await client.query(
        `SELECT FROM generate_series(timestamptz '2025-01-01Z', '2027-01-01Z', '7 hours 13 minutes')
          AS at WHERE at::date <> (at AT TIME ZONE $1)::date LIMIT 1`,
        [name],
      );
      if (rows.length > 0) found.push(name);
    }
    return found;
  });
  expect(zones.length).toBeGreaterThan(400);
  expect(apart).toEqual([]);
});

test.each([
  ['of the jobs', 'fct_job'],
  ['of the parts', 'fct_time_entry'],
])('if the session %s fails, the next refresh fills every table', async (_session, table) => {
  await pool.query(`ALTER TABLE mart.${table} ADD CONSTRAINT broken CHECK (job_key IS NULL)`);
  await expect(refreshStar(pool)).rejects.toThrow('broken');
  // Whether the parts are there depends on which of the two was quicker.
  expect(await countFilled()).toMatchObject({jobs: 0, isStale: true});
  await pool.query(`ALTER TABLE mart.${table} DROP CONSTRAINT broken`);
  expect(await refreshStar(pool)).toBe(2000);
  expect(await countFilled()).toEqual(whole);
});

test.each([1, 2, 4])('two refreshes at once over a pool of %i fill the star once', async (max) => {
  const few = openPool(database.url, {max, applicationName: 'test'});
  try {
    const written = await Promise.all([refreshStar(few), refreshStar(few)]);
    expect(written.toSorted()).toEqual([0, 2000]);
  } finally {
    await few.end();
  }
  expect(await countFilled()).toEqual(whole);
});
