// Bad input gets an exit code of its own and a clear error that names the problem, its place and
// the mend.

import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {buildProgram} from '../../src/cli/program.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';
import {createDatabase} from '../support/postgres.ts';

let place: Place;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  env = place.env;
});

afterAll(() => place.close());

describe('wrong input', () => {
  test.each([
    [['strat'], /unknown command 'strat'[\s\S]*start/],
    [['start', '--onec'], /unknown option '--onec'[\s\S]*--once/],
    [['sync', 'job'], /no stream "job" \(did you mean jobs\?\)/],
    [['explain', 'job', '4711'], /no stream "job" \(did you mean jobs\?\)/],
    [['sync', 'jobs', '--window', 'todya'], /jobs has no window "todya" \(did you mean today\?\)/],
    [
      ['sync', 'employees', '--window', 'today'],
      /employees has no window "today"; there is whole_list/,
    ],
    [['sync', 'jobs', '--record', 'x'], /--record: expected a number, got "x"/],
    [['sync', '--record', '4'], /--record needs one stream, got 0/],
    [['sweeps', 'show', '999'], /no sweep "999"; fieldmirror sweeps list/],
    [['sweeps', 'approve', 'x'], /no sweep "x"/],
    [['sweeps', 'list', 'job'], /no stream "job" \(did you mean jobs\?\)/],
    [['service', '--port', '70000'], /expected a port/],
    [['service', '--dialect', 'klingon'], /observed, documented/],
  ])('%j is rejected with exit code 2 and an error that names the problem', async (args, words) => {
    expect(await runCommand(args, env)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(words),
    });
  });

  test('a wrong zone and a wrong address are reported together', async () => {
    const ended = await runCommand(['status'], {
      ...env,
      FIELDMIRROR_TIME_ZONE: 'Mars/Olympus',
      DATABASE_URL: 'x',
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/FIELDMIRROR_TIME_ZONE: expected an IANA zone/);
    expect(ended.stderr).toMatch(/DATABASE_URL: expected an address/);
  });

  test('help names every verb and the exit codes', async () => {
    const {code, stdout} = await runCommand(['--help'], {});
    expect(code).toBe(0);
    const {commands} = buildProgram(new AbortController().signal);
    const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: .*)?$/gm)].map(([, verb]) => verb);
    expect(listed).toEqual(expect.arrayContaining(commands.map((command) => command.name())));
    expect(stdout).toContain('Exit codes');
  });
});

describe('exit code 3 is returned for', () => {
  test.each([
    ['an unreachable host', {FIELDMIRROR_API_URL: 'http://127.0.0.1:1'}, /127\.0\.0\.1:1/],
    ['a refused token', {FIELDMIRROR_API_TOKEN: 'canary-wrong'}, /401.*token/s],
    [
      'Postgres down',
      {DATABASE_URL: 'postgres://u:canary-word@127.0.0.1:1/d'},
      /127\.0\.0\.1:1.*DATABASE_URL/s,
    ],
  ])('%s', async (_, changed, words) => {
    const ended = await runCommand(['start', '--once'], {...env, ...changed});
    expect(ended).toMatchObject({code: 3, stderr: expect.stringMatching(words)});
    expect(ended.stderr + ended.stdout).not.toContain('canary');
  });

  test('a port in use', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const empty = await createDatabase();
    const ended = await runCommand(
      ['service', '--port', String(port), '--customers', '5', '--database', empty.url],
      {},
    );
    taken.close();
    await empty.drop();
    expect(ended).toMatchObject({code: 3, stderr: expect.stringContaining(String(port))});
  });
});

test('a data folder that cannot be written is reported with exit code 2', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-locked-'));
  // A file where the folder should be: even root cannot make a folder there.
  await writeFile(join(folder, 'home'), '');
  const ended = await runCommand(['migrate'], {FIELDMIRROR_HOME: join(folder, 'home')});
  await rm(folder, {recursive: true});
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/data folder .*home: expected.*FIELDMIRROR_HOME/),
  });
});

test.each([
  ['status'],
  ['ask', 'debtors'],
  ['psql', '-c', 'SELECT 1'],
  ['config', 'export'],
  ['changes', 'list'],
])('%s %s creates no Postgres if none exists, and prints which commands do', async (...args) => {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-new-'));
  const ended = await runCommand(args, {FIELDMIRROR_HOME: home});
  const made = await readdir(home);
  await rm(home, {recursive: true});
  expect(ended).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      inSequence(
        /^warehouse: expected a Postgres in .*, got none: nothing is mirrored yet; /,
        /fieldmirror start .*fieldmirror init .*\nsee: fieldmirror explain E02\n$/,
      ),
    ),
  });
  expect(made).toEqual([]);
});

test.each([
  [['strat'], 'fieldmirror --help lists the verbs'],
  [['hooks', 'add', 'erp'], 'fieldmirror hooks add --help lists its options'],
  [['changes', 'undoo'], 'fieldmirror changes --help lists its verbs'],
  [['start', '--onec'], 'fieldmirror start --help lists its options'],
])('the error for %j names the --help that lists the right word', async (args, help) => {
  const {stderr} = await runCommand(args, {});
  expect(stderr).toMatch(new RegExp(`\\n\\(${help}\\)\\nsee: fieldmirror explain E17\\n$`));
});
