import pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let client: pg.Client;
let accountId: string;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  client = new pg.Client({connectionString: database.url});
  await client.connect();
  accountId = await addAccount('acme');
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

async function addAccount(name: string): Promise<string> {
  const {rows} = await client.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone, created_at)
     VALUES ($1, 'https://example.com/' || $1, 'UTC', now() - interval '90 days')
       RETURNING account_id AS id`,
    [name],
  );
  return rows[0].id;
}

/** A full sweep of jobs that began some hours ago and took one. */
async function addSweep(state: string, hours: number, account = accountId): Promise<string> {
  const {rows} = await client.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      reasons, error)
     VALUES ($1, 'jobs', 'full', 'schedule', $2, now() - $3 * interval '1 hour',
       now() - ($3 - 1) * interval '1 hour',
             CASE WHEN $2 IN ('uncertified', 'stopped') THEN ARRAY['a reason'] ELSE '{}' END,
             CASE WHEN $2 = 'failed' THEN 'an error' END)
     RETURNING sweep_id AS id`,
    [account, state, hours],
  );
  return rows[0].id;
}

async function addSchedule(dueInHours: number) {
  await client.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
     VALUES ($1, 'jobs nightly', 'jobs', 'full', 86400000, now() + $2 * interval '1 hour')`,
    [accountId, dueInHours],
  );
}

async function status(...args: string[]) {
  const ended = await runCommand(['status', '--json', ...args], {DATABASE_URL: database.url});
  expect(ended.stderr).toBe('');
  const told = JSON.parse(ended.stdout);
  const jobs = told.accounts[0]?.streams.find((each: {stream: string}) => each.stream === 'jobs');
  return {code: ended.code, told, jobs, kinds: told.problems.map(({kind}: {kind: string}) => kind)};
}

describe('status', () => {
  test('shows since when each stream is proven, by its last certified sweep', async () => {
    await addSweep('certified', 30);
    await addSweep('certified', 6);
    await addSweep('uncertified', 2);
    const {code, told, jobs} = await status();
    expect(code).toBe(0);
    expect(jobs).toMatchObject({lastEnded: {state: 'uncertified', reasons: ['a reason']}});
    expect(Math.round((Date.parse(told.now) - Date.parse(jobs.provenAt)) / 3_600_000)).toBe(6);
    expect(
      told.accounts[0].streams.find((each: {stream: string}) => each.stream === 'tasks'),
    ).toMatchObject({
      provenAt: null,
      lastEnded: null,
    });
  });

  test('shows only the account that --account names', async () => {
    const other = await addAccount('other');
    await addSweep('certified', 6, other);
    await addSweep('stopped', 3, other);
    const {told, jobs} = await status('--account', 'acme');
    expect(told.accounts).toHaveLength(1);
    expect(jobs).toMatchObject({provenAt: null, lastEnded: null});
    expect(told.accounts[0].waiting).toEqual([]);
    expect(
      await runCommand(['status', '--account', 'acmee'], {DATABASE_URL: database.url}),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean acme?'),
    });
  });

  test('exits with 1 if the last full sweep failed, or records are in quarantine', async () => {
    await addSweep('failed', 2);
    expect(await status()).toMatchObject({code: 1, kinds: ['failed']});
    await addSweep('certified', 1);
    expect(await status()).toMatchObject({code: 0, kinds: []});
    await client.query(
      `INSERT INTO sync.quarantine (account_id, stream, reason, xml, xml_hash)
        VALUES ($1, 'jobs', 'x', '<job/>', 'x')`,
      [accountId],
    );
    expect(await status()).toMatchObject({code: 1, kinds: ['quarantine']});
  });
});

describe('the exit code of status', () => {
  test('is 0 if nothing needs a person', async () => {
    await addSweep('certified', 2);
    await addSchedule(3);
    expect(await status()).toMatchObject({code: 0, kinds: []});
  });

  test('is 1 for a sweep that waits for approval, until a later one is certified', async () => {
    await addSweep('certified', 9);
    const id = await addSweep('stopped', 5);
    await client.query(
      `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream) SELECT $1, n, $2, 'jobs'
        FROM generate_series(1, 60) AS n`,
      [id, accountId],
    );
    const {code, told} = await status();
    expect(code).toBe(1);
    expect(told.accounts[0].waiting).toMatchObject([{sweepId: id, rows: 60}]);
    expect(told.problems[0].next).toContain(`fieldmirror sweeps approve ${id}`);
    await addSweep('failed', 4);
    expect((await status()).kinds).toEqual(['failed', 'approval']);
    await addSweep('certified', 3);
    expect(await status()).toMatchObject({code: 0, kinds: []});
  });

  test('is 1 for a stopped account', async () => {
    await client.query(
      `UPDATE sync.accounts SET state = 'stopped', state_reason = 'its token is refused'`,
    );
    expect(await status()).toMatchObject({code: 1, kinds: ['stopped-account']});
  });

  test('is 1 for a proof that is too old, and for overdue schedules', async () => {
    await addSweep('certified', 60);
    await addSchedule(-30);
    expect(await status()).toMatchObject({code: 1, kinds: ['unproven', 'overdue']});
  });

  test('is 1 for the text as well, which lists only field events of seven days', async () => {
    await addSweep('stopped', 5);
    await client.query(
      `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id, at)
       VALUES ($1, 'jobs', 'colour', 'new', 'sent as text; kept in extra', 1, now()),
              ($1, 'jobs', 'older', 'new', 'x', 1, now() - interval '8 days')`,
      [accountId],
    );
    const plain = await runCommand(['status'], {DATABASE_URL: database.url});
    expect(plain).toMatchObject({code: 1, stderr: ''});
    expect(plain.stdout).toContain('\nNeeds a person:\n');
    expect(plain.stdout).toMatch(/stopped 4 h ago/);
    expect(plain.stdout).toMatch(/jobs\.colour new: sent as text/);
    expect(plain.stdout).not.toContain('older');
  });
});
