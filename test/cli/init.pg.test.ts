// An account is set up: each answer is tried, what is kept is enough for a start, and the token is
// seen nowhere else.

import {existsSync} from 'node:fs';
import {mkdtemp, readdir, readFile, rm, stat} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {parseKeys} from '../../src/core/secret.ts';
import {type Ended, main, programLine, startProgram} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {type Answer, enter, typeAtTerminal} from '../support/typed-terminal.ts';
import {openService, type TestService, timeZone} from '../support/world.ts';

let service: TestService;
let database: TestDatabase;
let folder: string;
let env: Readonly<Record<string, string>>;

beforeEach(async () => {
  service = await openService();
  database = await createDatabase(inject('warehouseTemplate'));
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-init-'));
  env = {FIELDMIRROR_ENV_FILE: '.env', TZ: 'UTC'};
});
afterEach(async () => {
  await service.close();
  await database.drop();
  await rm(folder, {recursive: true});
});

/** Runs a verb in the folder, with a line for its standard input. */
async function run(
  args: readonly string[],
  line: string,
  more: Record<string, string> = {},
): Promise<Ended> {
  const shell = `cd "$1"; line=$2; shift 2; printf '%s\\n' "$line" | exec "$@"`;
  const command = ['sh', '-c', shell, 'sh', folder, line, ...programLine(...args)];
  return await startProgram(command, {...env, ...more}).ended;
}

async function select(statement: string) {
  const client = new pg.Client(database.url);
  await client.connect();
  const {rows} = await client.query(statement);
  await client.end();
  return rows;
}

test('without a terminal, init reads the token from standard input and finds a zone', async () => {
  const args = ['init', '--url', service.url, '--name', 'acme'];
  const ended = await run(args, service.token, {DATABASE_URL: database.url});
  expect(ended).toMatchObject({code: 0, stderr: ''});
  expect(ended.stdout).toMatch(/^account acme \(http:.*\) answers, and the warehouse is ready/);
  expect(ended.stdout + (await readFile(join(folder, 'fieldmirror.yaml'), 'utf8'))).not.toContain(
    service.token,
  );
  expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
  expect(await select('SELECT name, api_url, time_zone FROM sync.accounts')).toEqual([
    {name: 'acme', api_url: service.url, time_zone: timeZone},
  ]);
  expect(await run(['config', 'plan', '--check'], '')).toMatchObject({code: 0});
  const swept = await run(['start', '--once'], '');
  expect(swept, swept.stderr).toMatchObject({code: 0});
  expect(swept.stdout).toMatch(
    /\nWhat next:\n {2}fieldmirror status +# .*\n {2}fieldmirror start +# /,
  );
  const examined = (await run(['doctor'], '')).stdout;
  expect(examined).toMatch(/FIELDMIRROR_API_TOKEN +│ \[secret\] +│ \.env/);
  expect(examined).toMatch(/jobs nightly \/ at +│ \d\d:\d\d:\d\dZ +│ fieldmirror\.yaml/);
  expect(examined).toMatch(/settings are at their defaults, \d+ of them as fieldmirror\.yaml says/);
  expect(examined.split('\n').filter((line) => line.includes(' │ ')).length).toBeLessThan(16);
});

/** The line of `.env` with the sealing key. */
const keyLine = async () =>
  (await readFile(join(folder, '.env'), 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('FIELDMIRROR_KEY'));

async function addNorth(more: Record<string, string>): Promise<Ended> {
  const other = await openService();
  const args = ['accounts', 'add', 'north', '--url', other.url, '--time-zone', timeZone];
  const ended = await run(args, other.token, more);
  await other.close();
  return ended;
}

test('init generates one key and prints its fingerprint; it seals a second account', async () => {
  const args = ['init', '--url', service.url, '--name', 'acme'];
  const own = {DATABASE_URL: database.url};
  const made = await run(args, service.token, own);
  expect(made).toMatchObject({code: 0, stderr: ''});
  const [line = '', ...others] = await keyLine();
  expect([line, ...others]).toEqual([
    expect.stringMatching(/^FIELDMIRROR_KEY=[A-Za-z0-9+/]{43}=$/),
  ]);
  const [key] = parseKeys(line.slice('FIELDMIRROR_KEY='.length));
  expect(made.stdout).toContain(`FIELDMIRROR_KEY in .env is a new sealing key, key ${key?.id}:`);
  expect(made.stdout).toMatch(/Keep a copy apart from the dumps.*nothing else is lost/);
  expect(made.stdout).not.toContain(line.slice('FIELDMIRROR_KEY='.length));
  expect(await addNorth({})).toMatchObject({code: 0, stderr: ''});
  expect(await select('SELECT key_id FROM sync.accounts WHERE key_id IS NOT NULL')).toEqual([
    {key_id: key?.id},
  ]);

  const again = await run([...args, '--force', '--json'], service.token, own);
  expect(JSON.parse(again.stdout).key).toEqual({id: key?.id, isNew: false, missing: []});
  expect(await keyLine()).toEqual([line]);
});

test('init keeps a given key, and generates none if another key is needed', async () => {
  const args = ['init', '--url', service.url, '--name', 'acme', '--force', '--json'];
  const own = {DATABASE_URL: database.url};
  const FIELDMIRROR_KEY = Buffer.alloc(32, 7).toString('base64');
  const id = parseKeys(FIELDMIRROR_KEY)[0]?.id;
  const given = await run(args, service.token, {...own, FIELDMIRROR_KEY});
  expect(JSON.parse(given.stdout).key).toEqual({id, isNew: false, missing: []});
  expect(await keyLine()).toEqual([]);
  expect(await addNorth({FIELDMIRROR_KEY})).toMatchObject({code: 0});
  const bare = await run(args.slice(0, -1), service.token, own);
  expect(bare).toMatchObject({code: 0});
  expect(bare.stdout.replace(/\s+/g, ' ')).toContain(
    `sealed with key ${id}, and the key is not given here`,
  );
  expect(await keyLine()).toEqual([]);
});

test('init writes nothing if the token, address, zone or name is rejected', async () => {
  const own = {DATABASE_URL: database.url};
  const refused = async (args: readonly string[], token: string, code: number, words: RegExp) =>
    expect(await run(['init', ...args], token, own)).toEqual({
      code,
      stdout: '',
      stderr: expect.stringMatching(words),
    });
  await refused([], '', 2, /--url: expected the account's base address.*the answers are options/);
  await refused(['--url', service.url], '', 2, /expected the token on standard input/);
  await refused(['--url', service.url], 'wrong', 3, /expected access, got 401/);
  await refused(['--url', 'http://app.example.com'], 'x', 2, /expected https.*sent in the clear/);
  await refused(
    ['--url', service.url, '--time-zone', 'Asia/Tokyo'],
    service.token,
    2,
    /did you mean/,
  );
  await refused(
    ['--url', service.url, '--name', 'demo'],
    service.token,
    2,
    /the name of the made-up data/,
  );
  expect(await readdir(folder)).toEqual([]);
  expect(await select('SELECT FROM sync.accounts')).toEqual([]);
});

test('init changes files only with --force, and never beside the demo business', async () => {
  const args = ['init', '--url', service.url, '--name', 'acme'];
  const own = {DATABASE_URL: database.url};
  expect(await run(args, service.token, own)).toMatchObject({code: 0});
  const before = await readFile(join(folder, '.env'), 'utf8');
  // The old token is not taken for the new one.
  expect(await run([...args, '--force'], '', own)).toMatchObject({code: 2});
  expect(await run(args, service.token, own)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /expected no settings yet, got \.env and fieldmirror\.yaml; with --force/,
    ),
  });
  expect(
    await run(['init', '--url', service.url, '--name', 'other', '--force'], service.token, own),
  ).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/mirrored there already, as account acme; give --name acme/),
  });
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe(before);
  expect(await run([...args, '--force'], service.token, own)).toMatchObject({code: 0});
  await select(`UPDATE sync.accounts SET name = 'demo'`);
  expect(await run([...args, '--force'], service.token, own)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /expected a warehouse without the made-up business.*fieldmirror reset/,
    ),
  });
});

test('at a terminal, init repeats wrongly answered questions and shows no secret', async () => {
  const answers: [RegExp, string][] = [
    [/base address, such as/, 'ftp://acme'],
    [/base address, such as/, service.url],
    [/A name for it here \[127\.0\.0\.1\]/, 'acme'],
    [/API token of acme \(it is not shown\)/, 'wrong-token'],
    [/got 401[\s\S]*API token of acme/, service.token],
    [/answers, and takes the token[\s\S]*time zone \[/, 'Asia/Tokyo'],
    [/got Asia\/Tokyo, whose clock[\s\S]*time zone \[/, ''],
    [/The warehouse: /, 'postgres://nobody:hidden@127.0.0.1:1/x'],
    [/nothing listens there[\s\S]*The warehouse: /, database.url],
  ];
  const command = `cd ${folder}; exec ${process.execPath} ${main} init`;
  const typed = answers.map(([seen, line]): Answer => [seen, `${line}${enter}`]);
  const {code, all, left} = await typeAtTerminal(command, typed, env);
  expect({code, left}, all).toEqual({code: 0, left: 0});
  // What is wider than the terminal is folded.
  expect(all.replaceAll(/\s+/g, ' ')).toMatch(
    /--url: expected the account's base address.*got "ftp:\/\/acme"/,
  );
  for (const secret of ['wrong-token', service.token, 'hidden', new URL(database.url).password])
    expect(all).not.toContain(secret);
  expect(existsSync(join(folder, 'fieldmirror.yaml'))).toBe(true);
  expect(await readFile(join(folder, '.env'), 'utf8')).toContain(
    `FIELDMIRROR_TIME_ZONE=${timeZone}\n`,
  );
});
