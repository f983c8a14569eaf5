import {expect, test} from 'vitest';
import {add, client, env, useAccountsPlace} from '../accounts/accounts-place.ts';
import {runCommand, startCommand} from '../support/command.ts';

useAccountsPlace();

const run = (...args: string[]) => runCommand(['schedules', ...args], env);

async function read(name: string, account = 'north'): Promise<Record<string, unknown> | undefined> {
  const {rows} = await client.query(
    `SELECT stream, mode, window_name, every_ms::int,
      to_char(next_due_at AT TIME ZONE 'UTC', 'HH24:MI:SS') AS at
       FROM sync.schedules JOIN sync.accounts AS account USING (account_id)
       WHERE account.name = $2 AND schedules.name = $1`,
    [name, account],
  );
  return rows[0];
}

test('schedules are listed, created, changed and removed, each for one account only', {
  timeout: 120_000,
}, async () => {
  for (const name of ['north', 'south']) expect(await add(name)).toMatchObject({code: 0});
  const {stdout} = await run('list', '--json');
  const {schedules} = JSON.parse(stdout);
  expect(new Set(schedules.map(({account}: {account: string}) => account))).toEqual(
    new Set(['north', 'south']),
  );
  const before = await read('jobs today', 'south');

  expect(await run('set', 'jobs today', '--account', 'north', '--every', '30m')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^schedule jobs today of north: every 30m, next due /),
  });
  expect(await read('jobs today')).toMatchObject({
    stream: 'jobs',
    mode: 'window',
    window_name: 'today',
    every_ms: 1_800_000,
  });
  expect(await read('jobs today', 'south')).toEqual(before);

  const nightly = [
    'set',
    'all tasks',
    '--account',
    'north',
    '--stream',
    'tasks',
    '--every',
    '1d',
    '--at',
    '03:30:00',
  ];
  expect(await run(...nightly)).toMatchObject({code: 0});
  expect(await read('all tasks')).toEqual({
    stream: 'tasks',
    mode: 'full',
    window_name: null,
    every_ms: 86_400_000,
    at: '03:30:00',
  });
  expect(await run('list', '--account', 'north')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/all tasks +│ all tasks +│ 1d +│ in .*│ never/),
  });
  expect(await run('remove', 'all tasks', '--account', 'north')).toMatchObject({code: 0});
  expect(await read('all tasks')).toBeUndefined();
});

test('no schedule of a paused account is listed as due', async () => {
  expect(await add('north')).toMatchObject({code: 0});
  expect(await runCommand(['accounts', 'pause', 'north'], env)).toMatchObject({code: 0});
  const {stdout} = await run('list');
  expect(stdout).toMatch(/jobs today +│ jobs, today +│ 5m +│ paused +│/);
  expect(stdout).not.toMatch(/│ (now|in \d)/);
});

test.each<[args: string[], words: RegExp]>([
  [['set', 'new', '--every', '5m'], /expected stream, for the schedule is new/],
  [['set', 'new', '--every', '5m', '--stream', 'job'], /--stream: expected one of .*jobs/],
  [['set', 'new', '--every', '5m', '--stream', 'jobs', '--window', 'todday'], /--window: .*today/],
  [['set', 'jobs today', '--at', '03:00:00'], /--at: expected it with whole days alone/],
  [['set', 'jobs today', '--every', '5 minutes'], /expected a span such as 30s/],
  [['set', 'jobs today'], /expected something to set/],
  [['remove', 'jobs tody'], /has no schedule "jobs tody".*jobs today/],
  [['run', 'jobs tody'], /has no schedule "jobs tody".*jobs today/],
])('a wrong command changes no schedule: %s', async (args, words) => {
  expect(await add('north')).toMatchObject({code: 0});
  const all =
    'SELECT name, stream, window_name, every_ms, next_due_at FROM sync.schedules ORDER BY name';
  const before = (await client.query(all)).rows;
  const ended = await run(...args);
  expect(ended).toMatchObject({code: 2, stderr: expect.stringMatching(words)});
  expect((await client.query(all)).rows).toEqual(before);
});

test('a worker runs the sweep of a schedule that was run before its time', {
  timeout: 120_000,
}, async () => {
  expect(await add('north')).toMatchObject({code: 0});
  expect(await run('run', 'jobs today')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^sweep \d+ of jobs is due; no worker serves the account now/),
  });
  const running = startCommand(['start', '--no-http'], env);
  try {
    const swept = async () =>
      (
        await client.query(
          `SELECT state FROM sync.sweeps WHERE window_name = 'today' AND requested_by = 'command'`,
        )
      ).rows;
    await expect.poll(swept, {timeout: 60_000}).toEqual([{state: 'refreshed'}]);
  } finally {
    running.process.kill('SIGINT');
    await running.ended;
  }
  expect(await run('run', 'jobs today')).toMatchObject({code: 0});
});
