// The origin of a value, told by the command that a user types.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let accountId: string;

/** The instant of each step, by the database. */
const at: Record<string, string> = {};

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  // Edits here repair rows of this warehouse only: changes on their way have their own tests.
  pool = openPool(asRepair(database.url), {max: 2, applicationName: 'erp'});
  await writeHistory();
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const env = () => ({DATABASE_URL: database.url, FIELDMIRROR_TIME_ZONE: 'UTC'});
const explain = (...args: string[]) => runCommand(['explain', ...args], env());

async function explainJson(...args: string[]) {
  const ended = await explain(...args, '--json');
  expect(ended.stderr).toBe('');
  return JSON.parse(ended.stdout);
}

async function addSweep(fields: Readonly<Record<string, unknown>>): Promise<string> {
  const row = {
    account_id: accountId,
    stream: 'jobs',
    mode: 'full',
    requested_by: 'command',
    ...fields,
  };
  const names = Object.keys(row);
  const {rows} = await pool.query(
    `INSERT INTO sync.sweeps (${names.join(', ')}, started_at, ended_at)
     VALUES (${names.map((_, place) => `$${place + 1}`).join(', ')}, clock_timestamp(),
       clock_timestamp()) RETURNING sweep_id`,
    Object.values(row),
  );
  return rows[0].sweep_id;
}

/** Writes as a sweep does. */
async function sweep(step: string, statement: string, values: unknown[]): Promise<void> {
  const client = await pool.connect();
  await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
  await client.query(statement, values);
  const {rows} = await client
    .query('COMMIT; SELECT max(_changed_at) AS at FROM warehouse.jobs')
    .then((results) => (results as unknown as {rows: {at: string}[]}[])[1] ?? {rows: []});
  at[step] = rows[0]?.at ?? '';
  client.release();
}

async function writeHistory(): Promise<void> {
  const account = await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id`,
  );
  accountId = account.rows[0].account_id;
  const update = `UPDATE warehouse.jobs SET name = $2, extra = $3, _sweep_id = $1, _page = $4,
    _hash = '\\x01', _deleted_at = NULL`;
  const first = await addSweep({state: 'certified'});
  await sweep(
    'first',
    `INSERT INTO warehouse.jobs (account_id, job_number, name, extra, _sweep_id, _page, _hash)
     VALUES ($2, 4711, 'Roof', '{"custom_1":"old"}', $1, 3, '\\x00')`,
    [first, accountId],
  );
  await pool.query(`UPDATE warehouse.jobs SET name = 'Edited roof'`);
  const second = await addSweep({
    state: 'refreshed',
    mode: 'window',
    window_name: 'today',
  });
  await sweep('second', update, [second, 'Roof', {custom_1: 'new'}, 1]);
  const gone = await addSweep({state: 'certified'});
  await sweep(
    'gone',
    `UPDATE warehouse.jobs SET _deleted_at = now(), _sweep_id = $1, _page = NULL`,
    [gone],
  );
  await pool.query(
    `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream, status, message,
       requested_at,
      written_at)
     VALUES ($1, 4711, $2, 'jobs', 404, 'Invalid job.', now(), now())`,
    [gone, accountId],
  );
  const back = await addSweep({state: 'certified', mode: 'record', record_number: 4711});
  await sweep('back', update, [back, 'Roof', {custom_1: 'new'}, null]);
  const last = await addSweep({state: 'certified'});
  const {rows} = await pool.query('SELECT started_at FROM sync.sweeps WHERE sweep_id = $1', [last]);
  at.last = rows[0].started_at;
  // None of these sweeps tells anything of 4711.
  await addSweep({state: 'certified', mode: 'record', record_number: 6});
  await addSweep({state: 'certified', stream: 'tasks'});
  const insert = `INSERT INTO warehouse.jobs (account_id, job_number, name, _sweep_id, _page, _hash)
    VALUES ($2, 6, 'New', $1, 1, '\\x00')`;
  await sweep('window', insert, [second, accountId]);
  await pool.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms, next_due_at)
     VALUES ($1, 'jobs', 'jobs', 'full', NULL, 1000, '2030-01-02'),
       ($1, 'today', 'jobs', 'window', 'today', 1000, '2030-01-01'),
            ($1, 'tasks', 'tasks', 'full', NULL, 1000, '2029-01-01')`,
    [accountId],
  );
}

describe('explain STREAM NUMBER FIELD', () => {
  test('prints which sweep wrote a value, since when, and when it was last true', async () => {
    expect(await explainJson('jobs', '4711', 'name')).toMatchObject({
      account: 'acme',
      stream: 'jobs',
      number: '4711',
      field: 'name',
      value: 'Roof',
      isDeleted: false,
      since: at.back,
      writer: {kind: 'sweep', mode: 'record', state: 'certified', page: null},
      lastKnownTrue: {at: at.last, by: {mode: 'full'}},
      nextReads: [
        {name: 'today', mode: 'window', windowName: 'today', nextDueAt: '2030-01-01T00:00:00Z'},
        {name: 'jobs', mode: 'full', windowName: null, nextDueAt: '2030-01-02T00:00:00Z'},
      ],
    });
  });

  test('prints that a value newer than the last proof was true when it was read', async () => {
    const {lastKnownTrue} = await explainJson('jobs', '6', 'name');
    expect(lastKnownTrue).toMatchObject({at: at.window, by: {kind: 'sweep', mode: 'window'}});
  });

  test('treats a value that no edit touched as true, and an edited one as unproven', async () => {
    await pool.query(`UPDATE warehouse.jobs SET external_key = 'ERP-6' WHERE job_number = 6`);
    const left = await explainJson('jobs', '6', 'name');
    expect(left).toMatchObject({since: at.window, lastKnownTrue: {at: at.window}, earlier: []});
    expect(await explainJson('jobs', '6', 'external_key')).toMatchObject({
      writer: {kind: 'edit'},
      lastKnownTrue: null,
    });
  });

  test('lists earlier values with times and writers, the newest first', async () => {
    const {earlier} = await explainJson('jobs', '4711', 'name');
    const user = new URL(database.url).username;
    expect(earlier).toMatchObject([
      {
        value: 'Roof',
        isDeleted: true,
        from: at.gone,
        to: at.back,
        writer: {kind: 'sweep', mode: 'full'},
      },
      {
        value: 'Roof',
        isDeleted: false,
        from: at.second,
        to: at.gone,
        writer: {mode: 'window', windowName: 'today', page: 1},
      },
      {
        value: 'Edited roof',
        to: at.second,
        writer: {kind: 'edit', writtenBy: user, application: 'erp'},
      },
      {value: 'Roof', from: at.first, writer: {kind: 'sweep', mode: 'full', page: 3}},
    ]);
  });

  test('finds a field kept in extra by its spelling with a hyphen', async () => {
    const {value, earlier} = await explainJson('jobs', '4711', 'custom-1');
    expect(value).toBe('new');
    expect(earlier.map((run: {value: string; from: string}) => [run.value, run.from])).toEqual([
      ['new', at.gone],
      ['new', at.second],
      ['old', at.first],
    ]);
  });

  test('prints the same as text', async () => {
    const {code, stdout} = await explain('jobs', '4711', 'name', '--account', 'acme');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^jobs 4711 of account acme, name\n {2}value +"Roof"\n/);
    expect(stdout).toMatch(/written by +sweep \d+ \(record, requested by number, certified\)/);
    expect(stdout).toMatch(/last true +\S+Z \(.* ago\), when sweep \d+ \(full, certified\) began/);
    expect(stdout).toMatch(
      /next read +2030-01-01T00:00:00Z: window today, if the record falls in it\n +2030-01-02/,
    );
    expect(stdout).toMatch(/: "Edited roof", by an edit by \w+ \(erp\)/);
  });
});

describe('explain STREAM NUMBER', () => {
  test('lists what happened to the row from the start, with evidence', async () => {
    const {events} = await explainJson('jobs', '4711');
    expect(events.map((event: {what: string}) => event.what)).toEqual([
      'appeared',
      'changed',
      'changed',
      'deleted',
      'returned',
    ]);
    expect(events[1].changes).toEqual([{field: 'name', from: 'Roof', to: 'Edited roof'}]);
    expect(events[2].changes).toEqual([
      {field: 'name', from: 'Edited roof', to: 'Roof'},
      {field: 'custom_1', from: 'old', to: 'new'},
    ]);
    expect(events[3]).toMatchObject({
      at: at.gone,
      changes: [],
      evidence: {status: 404, message: 'Invalid job.'},
    });
  });

  test('prints the same as text', async () => {
    const {stdout} = await explain('jobs', '4711');
    expect(stdout).toMatch(/appeared, with 3 fields, by sweep \d+ \(full, page 3, certified\)/);
    expect(stdout).toContain('    name: "Roof" → "Edited roof"\n');
    expect(stdout).toMatch(
      /marked deleted, by sweep .*\n {4}requested at \S+, the service said 404: Invalid job\./,
    );
    expect(stdout).toContain('came back, by sweep');
  });

  test('shows that a row was removed, and later inserted again as another row', async () => {
    const insert = 'INSERT INTO warehouse.jobs (account_id, job_number, name) VALUES ($1, 5, $2)';
    await pool.query(insert, [accountId, 'mine']);
    await pool.query('DELETE FROM warehouse.jobs WHERE job_number = 5');
    const removed = await explainJson('jobs', '5', 'name');
    expect(removed).toMatchObject({
      value: 'mine',
      removedAt: expect.any(String),
      lastKnownTrue: null,
    });
    await pool.query(insert, [accountId, 'mine']);
    const {events} = await explainJson('jobs', '5');
    expect(events.map((event: {what: string}) => event.what)).toEqual([
      'appeared',
      'removed',
      'appeared',
    ]);
    expect(events[1].writer).toMatchObject({kind: 'edit', application: 'erp'});
    const again = await explainJson('jobs', '5', 'name');
    expect(again).toMatchObject({removedAt: null, lastKnownTrue: null, earlier: [{value: 'mine'}]});
  });
});

test.each([
  [
    ['job', '1'],
    /no stream "job" \(did you mean jobs\?\); there are employees, customers, jobs, tasks/,
  ],
  [['jobs', 'x'], /explain: expected the number of one of the jobs, got "x"/],
  [['jobs', '99'], /explain: no row jobs 99 in account acme; .*fieldmirror sync jobs --record 99/],
  [['jobs', '4711', 'nmae'], /explain: jobs have no field "nmae" \(did you mean name\?\)/],
  [
    ['jobs', '4711', '--account', 'acne'],
    /no account "acne" \(did you mean acme\?\); there are acme/,
  ],
])('explain %j exits with 2 and prints what to do', async (args, words) => {
  expect(await explain(...args)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(words),
  });
});

test('explain uses the account of the environment, even with a slash after its URL', async () => {
  await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('other', 'https://example.com/other', 'UTC')`,
  );
  expect(await explain('jobs', '4711')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('which account? --account NAME; there are acme, other'),
  });
  const account = {
    FIELDMIRROR_API_URL: 'https://example.com/acme/',
    FIELDMIRROR_API_TOKEN: 'made-up-token-of-nobody',
  };
  const {code, stdout} = await runCommand(['explain', 'jobs', '4711'], {...env(), ...account});
  expect(code).toBe(0);
  expect(stdout).toContain('jobs 4711 of account acme');
});
