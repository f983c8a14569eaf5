// An operator chooses how fresh a stream is: its cost in requests is shown, then it is set, kept
// and told.

import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {add, client, env, useAccountsPlace} from '../accounts/accounts-place.ts';
import {runCommand, startCommand} from '../support/command.ts';

useAccountsPlace();

const run = (...args: string[]) => runCommand(args, env);
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);

const fresh = async () =>
  (
    await client.query(
      `SELECT name, mode, window_name, every_ms::int AS every, next_due_at <= now() AS is_due
       FROM sync.schedules WHERE window_name = 'whole_list'`,
    )
  ).rows;

/** A full sweep of 20 pages, half of whose 400 seconds was its first pass. */
const addSweep = `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state,
  started_at, ended_at, requests, pages)
  SELECT account_id, 'customers', 'full', 'schedule', 'certified', now() - interval '400 seconds',
    now(), 40, 20 FROM sync.accounts`;

/** The last sweep of a kind: its requests, its pages, its end. */
const last = async (mode: string) =>
  (
    await client.query(
      `SELECT requests::int, pages::int, state FROM sync.sweeps WHERE stream = 'customers'
       AND mode = $1 ORDER BY sweep_id DESC LIMIT 1`,
      [mode],
    )
  ).rows[0];

test('set --fresh shows its cost from earlier sweeps; a pass costs at most half a full sweep', {
  timeout: 120_000,
}, async () => {
  expect(await add('north')).toMatchObject({code: 0});
  const unknown = await run('schedules', 'set', 'customers', '--fresh', '1h');
  expect(unknown).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /a request a page each time; the stream was never\s+swept.*--fresh 1h --yes/s,
    ),
  });

  expect(await run('sync', 'customers')).toMatchObject({code: 0});
  const full = await last('full');
  const shown = await json('schedules', 'set', 'customers', '--fresh', '1h');
  expect(shown).toMatchObject({
    isSet: false,
    every: '1h',
    cost: {requestsEach: full.pages, requestsADay: 24 * full.pages, share: expect.any(Number)},
  });
  const {allADay} = shown.cost;
  expect(allADay.withThis - allADay.now).toBe(24 * full.pages);
  expect(await fresh()).toEqual([]);

  expect(await run('schedules', 'set', 'customers', '--fresh', '1h', '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/requests each\s+time, .* a day, .* at the pace.*set for north/s),
  });
  expect(await fresh()).toEqual([
    {
      name: 'customers fresh',
      mode: 'window',
      window_name: 'whole_list',
      every: 3_600_000,
      is_due: true,
    },
  ]);

  expect(await run('sync', 'customers', '--window', 'whole_list')).toMatchObject({code: 0});
  const pass = await last('window');
  expect(pass).toEqual({requests: full.pages, pages: full.pages, state: 'refreshed'});
  expect(pass.requests * 2).toBeLessThanOrEqual(full.requests);
  const listed = await run('schedules', 'list');
  expect(listed.stdout).toMatch(/customers fresh +│ customers, whole_list +│ 1h [^\n]*│ +72 /);
  expect(listed.stdout).toMatch(
    /requests a day in all, by what the last sweeps took; \d+ not counted/,
  );
});

test('a worker keeps a stream fresh, status reports it, and its schedule is removed by name', {
  timeout: 120_000,
}, async () => {
  expect(await add('north')).toMatchObject({code: 0});
  await run('schedules', 'set', 'customers', '--fresh', '1h', '--yes');
  const running = startCommand(['start', '--no-http'], env);
  try {
    await expect.poll(() => last('window'), {timeout: 60_000}).toMatchObject({state: 'refreshed'});
  } finally {
    running.process.kill('SIGINT');
    await running.ended;
  }
  // The account has the schedules that every account begins with, beside its freshness.
  const {schedules} = await json('schedules', 'list');
  expect(schedules.map(({name}: {name: string}) => name)).toContain('customers nightly');
  expect((await run('status')).stdout).toMatch(
    /customers: read as a whole \d+ s ago, 1 h is promised: kept/,
  );
  await client.query(
    `UPDATE sync.sweeps SET started_at = started_at - interval '3 hours',
      due_at = due_at - interval '3 hours' WHERE stream = 'customers'`,
  );
  const late = await run('status');
  expect(late).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /north, customers: .*read as a whole 3 h .*1 h is promised: not kept/,
    ),
  });
  expect(await run('schedules', 'remove', 'customers fresh')).toMatchObject({code: 0});
  expect(await fresh()).toEqual([]);
  expect((await run('status')).stdout).not.toContain('promised');
});

test('a settings file has a separate section for freshness, and config plan prints its cost', {
  timeout: 120_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-freshness-'));
  const file = join(folder, 'fieldmirror.yaml');
  try {
    expect(await add('north')).toMatchObject({code: 0});
    await client.query(addSweep);
    await writeFile(file, 'freshness:\n  north:\n    customers: 30m\n    tasks: 60m\n');
    const cost =
      /north: the whole list of customers every 30 min: 20 requests\s+each time, 960 a day/;
    expect(await run('config', 'plan', file)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(cost),
    });
    expect(await fresh()).toEqual([]);
    expect(await run('config', 'apply', file)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(cost),
    });
    expect(await fresh()).toMatchObject([
      {name: 'customers fresh', every: 1_800_000},
      {name: 'tasks fresh'},
    ]);
    const {settings} = await json('config', 'export');
    expect(settings.freshness).toEqual({north: {customers: '30m', tasks: '1h'}});
    expect(Object.keys(settings.schedules.north)).not.toContain('customers fresh');
    await writeFile(file, 'freshness:\n  north:\n    customers: {remove: true}\n');
    await run('config', 'apply', file);
    expect(await fresh()).toMatchObject([{name: 'tasks fresh'}]);
  } finally {
    await rm(folder, {recursive: true});
  }
});

const mistakes: readonly (readonly [args: readonly string[], words: RegExp])[] = [
  [['set', 'customer', '--fresh', '1h', '--yes'], /customer.*customers/],
  [
    ['set', 'customers', '--fresh', '30s', '--yes'],
    /--fresh: expected an interval of a minute or more/,
  ],
  [
    ['set', 'customers', '--fresh', '2m', '--yes'],
    /expected 7m or more, for one pass over customers takes/,
  ],
  [['set', 'customers', '--fresh', '1h', '--every', '1h'], /cannot be used with option '--every/],
  [
    ['set', 'customers fresh', '--every', '1h'],
    /freshness sets this one: fieldmirror schedules set customers/,
  ],
  [
    ['set', 'customers', '--yes'],
    /--yes: .*: fieldmirror schedules set customers --fresh 1h --yes/,
  ],
  [
    ['set', 'jobs by hand', '--stream', 'jobs', '--every', '1h', '--yes'],
    /schedules set STREAM --fresh 1h --yes, .*leave --yes out; nothing was set/,
  ],
];

test('a wrong schedules command sets nothing and exits with 2', {timeout: 120_000}, async () => {
  expect(await add('north')).toMatchObject({code: 0});
  await client.query(addSweep);
  for (const [args, words] of mistakes)
    expect(await run('schedules', ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(words),
    });
  expect(await fresh()).toEqual([]);
  expect((await run('schedules', 'list')).stdout).not.toContain('jobs by hand');
});
