// A person keeps the settings in a file, and applies it: all of it, or nothing.

import {describe, expect, test} from 'vitest';
import {beginAccount} from '../../src/sweeps/schedules.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {
  accounts,
  apply,
  client,
  config,
  database,
  query,
  schedules,
  useConfigPlace,
} from './config-place.ts';

useConfigPlace();

/** Each account has an employee 7. */
const addEmployees = () =>
  client.query(`SET fieldmirror.writer = 'repair';
    INSERT INTO warehouse.employees (account_id, employee_number, name)
    SELECT account_id, 7, 'Ann' FROM sync.accounts`);

describe('config apply', () => {
  test('creates accounts without a token, each with its own settings', async () => {
    const ended = await apply(`${accounts}schedules:
  north: {jobs fast: {stream: jobs, window: today, every: 60s}}
  south: {jobs fast: {stream: jobs, every: 2d, at: 04:30:00}}
insight:
  south: {currency: EUR}
`);
    expect(ended, ended.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('changed:'),
    });
    expect(
      await query('SELECT name, time_zone, state, key_id FROM sync.accounts ORDER BY name'),
    ).toEqual([
      {name: 'north', time_zone: 'America/Chicago', state: 'active', key_id: null},
      {name: 'south', time_zone: 'UTC', state: 'active', key_id: null},
    ]);
    expect(await schedules()).toEqual([
      {account: 'north', name: 'jobs fast', every: 60_000},
      {account: 'south', name: 'jobs fast', every: 172_800_000},
    ]);
    expect(
      await query(`SELECT to_char(next_due_at, 'HH24:MI:SS') AS at, next_due_at > now()
        AND next_due_at < now() + interval '1 day' AS soon
                          FROM sync.schedules WHERE every_ms > 60000`),
    ).toEqual([{at: '04:30:00', soon: true}]);
    expect(
      await config(
        'plan --check',
        'schedules: {south: {jobs fast: {stream: jobs, every: 48h, at: 04:30:00Z}}}',
      ),
    ).toMatchObject({code: 0});
    expect(
      await query(
        'SELECT currency FROM mart.settings JOIN sync.accounts ON account_id = account_key',
      ),
    ).toEqual([{currency: 'EUR'}]);
  });

  test('run a second time changes nothing and writes nothing', async () => {
    const text = `${accounts}closed_days: {north: {2026-12-25: Christmas}}
write_rules: {jobs: {name: service}}
retention: {quiet_sweeps: 7d}
insight: {south: {}}
`;
    await apply(text);
    const written = `SELECT 'account' AS place, xmin, name FROM sync.accounts
      UNION ALL SELECT 'rule', xmin, field FROM sync.write_rules
      UNION ALL SELECT 'kept', xmin, kind FROM sync.retention
      UNION ALL SELECT 'told', xmin, currency FROM mart.settings
      UNION ALL SELECT 'closed', xmin, name FROM mart.closed_days ORDER BY 1, 3`;
    const before = await query(written);
    expect(await apply(text)).toMatchObject({code: 0, stdout: 'nothing to change\n'});
    expect(await query(written)).toEqual(before);
    expect(before.length).toBeGreaterThan(4);
    expect(before.filter(({place}) => place === 'told')).toEqual([]);
  });

  test('does not change entries that the file does not name, and lists them', async () => {
    await apply(`${accounts}schedules:
  north: {one: {stream: jobs, every: 1h}, two: {stream: tasks, every: 1h}}
labels: {south: {task_type: {1: Call}}}
write_rules: {customers: {fax: newest}}
`);
    const {stdout, code} = await apply(
      'schedules: {north: {one: {stream: jobs, every: 30m}}}\n' +
        'write_rules: {jobs: {name: service}}\n',
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/north \/ one \/ every +│ 1h +│ 30m/);
    expect(stdout).not.toContain('one / stream');
    expect(stdout).toMatch(
      /does not name it: schedules \/ north \/ two, write_rules \/ customers \/ fax$/m,
    );
    expect(await schedules()).toMatchObject([
      {name: 'one', every: 1_800_000},
      {name: 'two', every: 3_600_000},
    ]);
    expect(await query('SELECT label FROM mart.labels')).toEqual([{label: 'Call'}]);
    expect(
      await query(`SELECT field, rule FROM sync.write_rules WHERE rule <> 'ask' ORDER BY field`),
    ).toEqual([
      {field: 'fax', rule: 'newest'},
      {field: 'name', rule: 'service'},
    ]);
    expect(await query('SELECT name FROM sync.accounts')).toHaveLength(2);
  });

  test('removes the entries marked remove: true, and only from the named account', async () => {
    const both = (text: string) => `{north: ${text}, south: ${text}}`;
    await apply(accounts);
    await addEmployees();
    await apply(`${accounts}schedules: ${both('{one: {stream: jobs, every: 1h}}')}
labels: ${both('{task_type: {1: Call}}')}
closed_days: ${both('{2026-12-25: Christmas}')}
capacity: ${both('{7: [8, 8, 8, 8, 8, 0, 0]}')}
insight: ${both('{currency: EUR, repeat_visit_days: 7}')}
promoted_fields: ${both('{jobs: {brand: {name: brand, types: [text]}}}')}
write_rules: {customers: {fax: newest, name: service}}
`);
    const gone = '{remove: true}';
    const text = `schedules: {north: {one: ${gone}}}
labels: {north: {task_type: {1: ${gone}}}}
closed_days: {north: {2026-12-25: ${gone}}}
capacity: {north: {7: ${gone}}}
insight: {north: {repeat_visit_days: 7}}
promoted_fields: {north: {jobs: {brand: ${gone}}}}
write_rules: {customers: {fax: ask}}
`;
    expect((await config('plan', text)).stdout).toMatch(/north \/ one \/ every +│ 1h +│ \(none\)/);
    const ended = await apply(text);
    expect(ended, ended.stderr).toMatchObject({code: 0});
    const south = {account: 'south', name: 'one'};
    expect(await schedules()).toMatchObject([south]);
    for (const table of ['mart.labels', 'mart.closed_days'])
      expect(
        await query(
          `SELECT a.name FROM ${table} AS held
             JOIN sync.accounts AS a ON account_id = account_key`,
        ),
      ).toEqual([{name: 'south'}]);
    for (const table of [
      'mart.capacity JOIN warehouse.employees ON row_id = employee_key',
      'sync.fields',
    ])
      expect(
        await query(`SELECT a.name FROM ${table} JOIN sync.accounts AS a USING (account_id)`),
      ).toEqual([{name: 'south'}]);
    expect(
      await query(
        'SELECT currency, repeat_visit_days AS days FROM mart.settings ORDER BY account_key',
      ),
    ).toEqual([
      {currency: null, days: 7},
      {currency: 'EUR', days: 7},
    ]);
    expect(await apply(text)).toMatchObject({code: 0, stdout: expect.stringMatching(/^nothing/)});
    expect((await apply(`insight: {north: ${gone}}`)).code).toBe(0);
    expect(await query('SELECT currency FROM mart.settings')).toEqual([{currency: 'EUR'}]);
    expect(await query(`SELECT field, rule FROM sync.write_rules WHERE rule <> 'ask'`)).toEqual([
      {field: 'name', rule: 'service'},
    ]);
  });

  test('pauses an account with its reason; a reason without a pause is an error', async () => {
    await apply(accounts);
    const state = () => query(`SELECT state, state_reason FROM sync.accounts WHERE name = 'north'`);
    const north = (more: string) =>
      apply(accounts.replace('America/Chicago', `America/Chicago, ${more}`));
    await north('paused: true, paused_because: moves house');
    expect(await state()).toEqual([{state: 'paused', state_reason: 'moves house'}]);
    await apply(accounts);
    expect(await state()).toEqual([{state: 'active', state_reason: null}]);
    expect(await north('paused_because: x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected it beside paused: true alone'),
    });
  });

  test.each([
    [
      'an account that is not there',
      'insight: {nort: {currency: EUR}}',
      /insight \/ nort: .*did you mean north\?\); there are north, south/,
    ],
    [
      'an address of another service',
      'accounts: {north: {url: https://app.example.com/west, time_zone: UTC}}',
      inSequence(
        /url: expected app\.example\.com\/north, .*would be mixed; /,
        /.*fieldmirror accounts move north --url https:\/\/app\.example\.com\/west/,
      ),
    ],
    [
      'the address of another account',
      'accounts: {west: {url: https://app.example.com/north/, time_zone: UTC}}',
      /west \/ url: expected another address than that of north/,
    ],
    [
      'the address of an account that has another name',
      'accounts: {acme: {url: https://app.example.com/north, time_zone: UTC}}',
      /mirrored twice; if it is the same account, first: fieldmirror accounts rename north acme/,
    ],
    [
      'a new account without a zone',
      'accounts: {west: {url: https://app.example.com/west}}',
      /west \/ time_zone: expected an IANA zone, .*, got nothing/,
    ],
    [
      'a new schedule without an interval',
      'schedules: {north: {x: {stream: jobs}}}',
      /x \/ every: expected an interval .*, got nothing/,
    ],
    [
      'a nightly schedule without a time',
      'schedules: {north: {x: {stream: jobs, every: 1d}}}',
      /x: expected at, a time of day in UTC/,
    ],
    [
      'a time of day of an hourly one',
      'schedules: {north: {x: {stream: jobs, every: 1h, at: 03:00:00}}}',
      /at: expected it with whole days alone.* got every: 1h/,
    ],
    [
      'an unknown window',
      'schedules: {north: {x: {stream: jobs, every: 1h, window: todey}}}',
      /window: jobs has no window "todey" \(did you mean today\?\)/,
    ],
    [
      'a window of another stream',
      'schedules: {north: {x: {stream: customers, every: 1h, window: today}}}',
      /customers has no window/,
    ],
    [
      'the name of a column',
      'promoted_fields: {north: {jobs: {f: {name: total}}}}',
      /free, got total, which a column of jobs has/,
    ],
    [
      'a name twice',
      'promoted_fields: {north: {jobs: {f: {name: x}, g: {name: x}}}}',
      /g \/ name: expected a name that is free/,
    ],
    [
      'a name that only the database refuses',
      'promoted_fields: {north: {jobs: {f: {name: row_id}}}}',
      /'row_id' is a column of jobs already/,
    ],
    [
      'a field without a name',
      'promoted_fields: {north: {jobs: {f: {types: [text]}}}}',
      /f \/ name: expected a name .*, got nothing/,
    ],
  ])('with %s changes nothing at all', async (_, text, words) => {
    await apply(accounts);
    const ended = await apply(`write_rules: {customers: {fax: service}}\n${text}`);
    expect(ended).toMatchObject({code: 2, stdout: '', stderr: expect.stringMatching(words)});
    expect(await query(`SELECT FROM sync.write_rules WHERE rule <> 'ask'`)).toEqual([]);
  });

  test('rejects an unknown employee, and an unknown field once sweeps saw others', async () => {
    await apply(accounts);
    await client.query(
      `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id)
        SELECT account_id, 'jobs', 'custom_text1', 'jobs', '{text}', 1 FROM sync.accounts
        WHERE name = 'north'`,
    );
    const early = await apply('capacity: {north: {7: [8, 8, 8, 8, 8, 0, 0]}}');
    expect(early).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/an employee of north, got 7; none is mirrored yet: leave/),
    });
    await addEmployees();
    const wrong = await apply(`capacity: {north: {8: [8, 8, 8, 8, 8, 0, 0]}}
promoted_fields: {north: {jobs: {custom_txt1: {name: brand}}}}`);
    expect(wrong.stderr).toMatch(
      /capacity \/ north \/ 8: expected the number of an employee of north, got 8/,
    );
    expect(wrong.stderr).toMatch(/got custom_txt1 \(did you mean custom_text1\?\)/);
    const right =
      await apply(`capacity: {north: {7: [8, 8, 8, 8, 8, 0, 0]}, south: {7: [1, 1, 1, 1, 1, 1, 1]}}
promoted_fields: {north: {jobs: {custom_text1: {name: brand, types: [integer]}}}}`);
    expect(right, right.stderr).toMatchObject({code: 0});
    expect(
      await query(
        `SELECT employee_number::int AS n, working_hours[1]::int AS h FROM mart.capacity
           JOIN warehouse.employees ON row_id = employee_key ORDER BY h`,
      ),
    ).toEqual([
      {n: 7, h: 1},
      {n: 7, h: 8},
    ]);
    expect(await query('SELECT types, promoted_as FROM sync.fields')).toEqual([
      {types: ['text'], promoted_as: 'brand'},
    ]);
  });
});

test('schedules set changes one value of a schedule and keeps the others', async () => {
  await apply(`${accounts}schedules:
  north:
    jobs: {stream: jobs, window: today, every: 1h}
    all: {stream: tasks, every: 1d, at: 03:00:00}
`);
  const set = (...args: string[]) =>
    runCommand(['schedules', 'set', ...args, '--account', 'north'], {DATABASE_URL: database.url});
  expect(await set('jobs', '--every', '5m')).toMatchObject({code: 0});
  expect(await set('all', '--every', '6h')).toMatchObject({code: 0, stderr: ''});
  expect(
    await query('SELECT name, stream, window_name, every_ms::int FROM sync.schedules ORDER BY 1'),
  ).toEqual([
    {name: 'all', stream: 'tasks', window_name: null, every_ms: 21_600_000},
    {name: 'jobs', stream: 'jobs', window_name: 'today', every_ms: 300_000},
  ]);
  expect(await set('new', '--every', '5m')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--stream: expected one of .*jobs.*nothing was set/),
  });
});

test('an unknown account name is one error, however many entries are under it', async () => {
  await apply(accounts);
  const hours = '{stream: jobs, every: 1h}';
  const {stderr} = await apply(`schedules: {nort: {one: ${hours}, two: ${hours}}}`);
  expect(stderr.match(/did you mean north/g)).toHaveLength(1);
});

test('a removed schedule does not come back when its account starts again', async () => {
  await apply(accounts);
  const [north] = await query(
    `SELECT account_id AS "accountId", time_zone AS "timeZone" FROM sync.accounts
     WHERE name = 'north'`,
  );
  await beginAccount(client, north, []);
  const all = (await schedules()).length;
  await apply('schedules: {north: {jobs tomorrow: {remove: true}}}');
  await beginAccount(client, north, []);
  expect(all).toBeGreaterThan(5);
  expect(await schedules()).toHaveLength(all - 1);
});
