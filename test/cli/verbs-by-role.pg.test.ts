// Every verb, as the login of a worker: it works, or it is the owner's and says so. A verb that is
// added must be added here.

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {buildProgram} from '../../src/cli/program.ts';
import {openHttpReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {programLine, runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const login = `mirror_${randomBytes(4).toString('hex')}`;
let place: Place;
let receiver: TestReceiver;
let folder: string;
let env: Readonly<Record<string, string>>;
let owner: pg.Client;

beforeAll(async () => {
  place = await openPlace();
  receiver = await openHttpReceiver();
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-verbs-'));
  owner = new pg.Client({connectionString: place.databaseUrl});
  await owner.connect();
  await makeRole(login, `LOGIN PASSWORD 'made-up'`);
  expect(await runCommand(['migrate'], place.env)).toMatchObject({code: 0});
  await owner.query(`GRANT fieldmirror_worker TO ${login}`);
  await writeFile(join(folder, 'parties.csv'), 'key,name\nP-1,Nobody\n');
  await owner.query('INSERT INTO sync.delivery_targets (name, place) VALUES ($1, $2)', [
    ...['lake', join(folder, 'lake')],
  ]);
  const url = Object.assign(new URL(place.databaseUrl), {username: login, password: 'made-up'});
  env = {...place.env, DATABASE_URL: url.href, FIELDMIRROR_KEY: randomBytes(32).toString('base64')};
});

afterAll(async () => {
  await owner?.end();
  await receiver?.close();
  await dropRoles(login);
  await place?.close();
  await rm(folder, {recursive: true, force: true});
});

/**
 * In an order in which each finds what it is about: `FOLDER`, `URL`, and `CHANGE`, the newest
 * change, are filled in.
 */
const asWorker = [
  'migrate',
  'start --once',
  'sync tasks',
  'push --dry-run',
  'status',
  'doctor --all',
  'ask debtors',
  'check',
  'report',
  'export csv FOLDER/csv',
  'export parquet FOLDER/parquet',
  'export dbt FOLDER/dbt',
  'deliver',
  'explain customers 1',
  'changes list',
  'changes show CHANGE',
  'changes hold CHANGE',
  'changes release CHANGE',
  'changes retry CHANGE',
  'changes accept --state altered --all',
  'changes resolve --state conflict --all --take service',
  'changes cancel CHANGE --reason tried',
  'changes undo CHANGE --dry-run',
  'feed',
  'alerts add ops --webhook URL/ops',
  'alerts list',
  'alerts test ops',
  'alerts remove ops',
  'hooks add erp --url URL/erp',
  'hooks list',
  'hooks retry erp',
  'hooks remove erp',
  'sweeps list',
  'sweeps show 1',
  'quarantine list',
  'schedules list',
  'schedules set nightly --stream jobs --every 1h',
  'schedules run nightly',
  'schedules remove nightly',
  'accounts list',
  'accounts check',
  'accounts pause ACCOUNT --reason tried',
  'accounts resume ACCOUNT',
  'accounts rename ACCOUNT acme',
  'accounts add acme --url URL --time-zone America/New_York',
  'keys add erp --role viewer --all-accounts',
  'keys list',
  'links set customers 1 P-1 --system tryton',
  'links list customers --system tryton',
  'links remove customers 1 --system tryton',
  'match customers --from FOLDER/parties.csv --system tryton --apply',
  'keys revoke erp',
  'config export FOLDER/all.yaml',
  'config plan FOLDER/all.yaml',
  'config schema FOLDER/schema.json',
  'installation show',
  'installation reseal',
  'url',
  'psql -c SELECT',
  'open --at http://127.0.0.1:8086',
  'prune --dry-run',
  'prune',
  'mcp',
] as const;

/** Refused in a sentence, because there is nothing to do. */
const asPerson = [
  'sweeps approve 1',
  'quarantine show 1',
  'quarantine retry 1',
  'hooks skip erp',
  'accounts move acme --url URL',
  'employees login acme 1 --username ada',
  'installation claim',
] as const;

/** Refused in a sentence that names the owner. */
const asOwner = [
  'config apply FOLDER/changed.yaml',
  'forget customers 1',
  'accounts remove acme',
  'reset',
] as const;

/** Left out here, each with its reason. */
const elsewhere: Readonly<Record<string, string>> = {
  init: 'makes an installation, as the owner: init.pg.test.ts',
  service: 'has no warehouse: service.pg.test.ts',
  rehearse: 'stays; as a worker: rehearse.pg.test.ts',
  http: 'stays; what it serves is served by start, too: worker-role.pg.test.ts',
};

const refusal = /permission denied|must be owner|lacks a permission|This is a bug/i;

test('each verb of the program is in one of the lists', () => {
  const {commands} = buildProgram(new AbortController().signal);
  const verbs = commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((verb) => `${command.name()} ${verb.name()}`),
  );
  const listed = [...asWorker, ...asPerson, ...asOwner, ...Object.keys(elsewhere)];
  expect(verbs.filter((verb) => !listed.some((line) => `${line} `.startsWith(`${verb} `)))).toEqual(
    [],
  );
});

async function run(line: string) {
  await owner.query(
    `UPDATE warehouse.customers SET fax = (random() * 1000)::int WHERE customer_number = 1
        AND NOT EXISTS (SELECT FROM sync.changes WHERE state IN ('pending', 'held'))`,
  );
  const {rows} = await owner.query<{change: string; account: string}>(
    `SELECT (SELECT max(change_id) FROM sync.changes) AS change,
      (SELECT min(name) FROM sync.accounts) AS account`,
  );
  const {change = '', account = ''} = rows[0] ?? {};
  return await runCommand(fill(line, {change, account}), env);
}

function fill(
  line: string,
  {change, account}: {readonly change: string; readonly account: string},
): string[] {
  return line
    .replace('CHANGE', change)
    .replace('FOLDER', folder)
    .replace('ACCOUNT', account)
    .replace('URL', line.startsWith('accounts') ? place.service.url : receiver.url)
    .split(' ');
}

test.each(asWorker)('a worker may call %s', async (line) => {
  const {code, stdout, stderr} = await run(line);
  expect(`${stdout}${stderr}`).not.toMatch(refusal);
  expect([0, 1], `${stdout}${stderr}`).toContain(code);
});

test.each(asPerson)('a worker is not denied %s for a missing right', async (line) => {
  const {code, stdout, stderr} = await run(line);
  expect(`${stdout}${stderr}`).not.toMatch(refusal);
  expect([0, 2], stderr).toContain(code);
});

test.each(asOwner)('a worker may not run %s, and the error names the owner', async (line) => {
  await runCommand(['accounts', 'pause', 'acme'], env);
  const settings = {schedules: {acme: {nightly: {stream: 'jobs', every: '1h'}}}};
  await writeFile(join(folder, 'changed.yaml'), JSON.stringify(settings));
  const {pathname} = new URL(place.databaseUrl);
  const typed = line === 'reset' ? pathname.slice(1) : line.split(' ').at(-1);
  const [program = '', ...args] = programLine(...line.replace('FOLDER', folder).split(' '));
  const {status: code, stderr} = spawnSync(program, args, {
    env: {...env, PATH: process.env.PATH, FIELDMIRROR_ENV_FILE: '/dev/null'},
    input: `${typed}\n`,
    encoding: 'utf8',
  });
  expect(stderr).toMatch(/owner/);
  expect([2, 3]).toContain(code);
});

/** Verbs at once: each waits for as long as it takes until it says for whom. */
const atOnce = 6;
const patienceMs = 15_000;

test('each verb ends or names the session that locks every table, within seconds', async () => {
  const {rows: tables} = await owner.query<{name: string}>(
    `SELECT schemaname || '.' || tablename AS name FROM pg_catalog.pg_tables
      WHERE schemaname IN ('warehouse', 'history', 'mart', 'sync')`,
  );
  const lines = [...asWorker, ...asPerson, ...asOwner].map((line) =>
    fill(line, {change: '1', account: 'acme'}),
  );
  const silent: string[] = [];
  const nextLine = async () => {
    for (let args = lines.shift(); args !== undefined; args = lines.shift()) {
      const running = startCommand(args, env);
      const late = AbortSignal.timeout(patienceMs);
      const ends = once(late, 'abort').then(() => null);
      const said = await Promise.race([
        running.prints(/DBeaver, pid \d+/).catch(() => running.ended),
        ends,
      ]);
      running.process.kill('SIGKILL');
      const isMute = typeof said === 'object' && said !== null && /55P03/.test(said.stderr);
      if (said === null || isMute) silent.push(args.join(' '));
    }
  };
  await owner.query(`SET application_name = 'DBeaver'; BEGIN`);
  try {
    for (const {name} of tables) await owner.query(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
    await Promise.all(Array.from({length: atOnce}, nextLine));
  } finally {
    await owner.query('ROLLBACK; RESET application_name');
  }
  expect(silent).toEqual([]);
}, 180_000);
