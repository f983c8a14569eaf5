import pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {readWorkInProgress} from '../../src/health/account-status.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let client: pg.Client;
let accountId: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  client = new pg.Client({connectionString: database.url});
  await client.connect();
  const {rows} = await client.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id AS id`,
  );
  accountId = rows[0].id;
  await client.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records)
     VALUES ($1, 'jobs', 'full', 'schedule', 'certified', now() - interval '2 days',
       now() - interval '1 day', 3000),
            ($1, 'tasks', 'full', 'schedule', 'certified', now() - interval '2 days',
              now() - interval '1 day', 70)`,
    [accountId],
  );
  await client.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
      lease_until, records)
     VALUES ($1, 'jobs', 'full', 'schedule', 'running', now() - interval '100 seconds',
       now() + interval '1 hour', 1000)`,
    [accountId],
  );
  await client.query(
    `INSERT INTO warehouse.customers (account_id, name) SELECT $1, 'Made up ' || n
      FROM generate_series(1, 400) AS n`,
    [accountId],
  );
  await client.query(`SET session_replication_role = replica`);
  await client.query(
    // The last hundred were given up.
    `UPDATE sync.changes SET state = CASE WHEN change_id <= 240 THEN 'done' ELSE 'cancelled' END,
      number = change_id, lease_until = NULL, reason = CASE WHEN change_id > 300 THEN 'by hand' END,
      settled_at = now() - CASE WHEN change_id <= 120 THEN interval '1 hour'
      ELSE interval '10 seconds' END
      WHERE change_id NOT BETWEEN 241 AND 300`,
  );
  await client.query(`SET session_replication_role = origin`);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

test('sweep progress is based on the last sweep, change progress on the last minute', async () => {
  const told = await readWorkInProgress(client, [{accountId, name: 'acme'}]);
  expect(told.map(({text}) => text)).toEqual([
    expect.stringMatching(
      /^sweep 3 of jobs \(acme\): 1,000 of about 3,000 records, 10 a second, 3 min 2\d s left$/,
    ),
    'acme: 60 changes to carry, 2 a second, 30 s to go',
  ]);
});

test('status prints the running work; an idle account has none', async () => {
  const {stdout} = await runCommand(['status'], {DATABASE_URL: database.url});
  expect(stdout).toMatch(
    /\nIn progress:\n {2}sweep 3 of jobs \(acme\): 1,000 of about 3,000 records/,
  );
  expect(await readWorkInProgress(client, [{accountId: '999', name: 'other'}])).toEqual([]);
});
