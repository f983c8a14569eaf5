import {execFile} from 'node:child_process';
import {chmod, mkdtemp, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import pg from 'pg';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {FatalError, UsageError} from '../../src/core/errors.ts';
import {openEmbeddedPostgres} from '../../src/postgres/embedded.ts';

const run = promisify(execFile);
const homes: string[] = [];

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-embedded-'));
  homes.push(home);
  return home;
}

async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  const {rows} = await client.query({text: sql, rowMode: 'array'});
  await client.end();
  return rows[0]?.[0];
}

afterEach(async () => {
  for (const home of homes.splice(0)) await rm(home, {recursive: true, force: true});
});

test('two users that start on one empty folder share one server', async () => {
  const home = await newHome();
  const [first, second] = await Promise.all([
    openEmbeddedPostgres(home),
    openEmbeddedPostgres(home),
  ]);
  const url = await first.url('warehouse');
  expect(await second.url('warehouse')).toBe(url);
  const user = new pg.Client({connectionString: url});
  await user.connect();
  await first.leave();
  expect(await ask(url, 'SELECT 1')).toBe(1);
  await user.end();
  await second.leave();
  await expect(ask(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
});

test('the server stops when two users leave it at the same time', async () => {
  const home = await newHome();
  for (let turn = 1; turn <= 3; turn++) {
    const [first, second] = await Promise.all([
      openEmbeddedPostgres(home),
      openEmbeddedPostgres(home),
    ]);
    const url = await first.url('warehouse');
    await Promise.all([first.leave(), second.leave()]);
    await expect(ask(url, 'SELECT 1'), `turn ${turn}`).rejects.toThrow(/ECONNREFUSED/);
  }
});

test('data survives a stop and a start of the server', async () => {
  const home = await newHome();
  const before = await openEmbeddedPostgres(home);
  await ask(await before.url('warehouse'), 'CREATE TABLE kept AS SELECT 42 AS n');
  await before.leave();
  const after = await openEmbeddedPostgres(home);
  expect(await ask(await after.url('warehouse'), 'SELECT n FROM kept')).toBe(42);
  await after.leave();
});

let pattern: string;

beforeAll(async () => {
  pattern = await mkdtemp(join(tmpdir(), 'fieldmirror-embedded-'));
  const postgres = await openEmbeddedPostgres(pattern);
  await ask(await postgres.url('warehouse'), 'CREATE TABLE kept AS SELECT 42 AS n');
  await postgres.leave();
});

afterAll(() => rm(pattern, {recursive: true}));

/** A home whose server has stopped, with a table in it that must be there afterwards. */
async function keptHome(): Promise<string> {
  const home = await newHome();
  await run('cp', ['-a', `${pattern}/.`, home]);
  return home;
}

async function failureOf(home: string): Promise<unknown> {
  const opened = openEmbeddedPostgres(home).then(async (postgres) => {
    await postgres.leave();
    return null;
  });
  return await opened.catch((error: unknown) => error);
}

async function expectKept(home: string): Promise<void> {
  const postgres = await openEmbeddedPostgres(home);
  expect(await ask(await postgres.url('warehouse'), 'SELECT n FROM kept')).toBe(42);
  await postgres.leave();
}

const isRoot = process.getuid?.() === 0;

describe('a server that does not start reports the cause, and starts once it is fixed', () => {
  test('the data was made by another major version', async () => {
    const home = await keptHome();
    const file = join(home, 'postgres', 'PG_VERSION');
    const version = await readFile(file, 'utf8');
    await writeFile(file, '15\n');
    expect(await failureOf(home)).toEqual(
      told(/by PostgreSQL version 15.*another version made it.*move .* away/),
    );
    await writeFile(file, version);
    await expectKept(home);
  });

  test('its pid file is empty', async () => {
    const home = await keptHome();
    const file = join(home, 'postgres', 'postmaster.pid');
    await writeFile(file, '');
    expect(await failureOf(home)).toEqual(
      told(/postmaster\.pid" is empty.*cut off.*rm .*postmaster\.pid/),
    );
    await rm(file);
    await expectKept(home);
  });

  test('other users may read its folder', async () => {
    const home = await keptHome();
    await chmod(join(home, 'postgres'), 0o755);
    expect(await failureOf(home)).toEqual(told(/invalid permissions.*chmod 700 .*postgres,/));
    await chmod(join(home, 'postgres'), 0o700);
    await expectKept(home);
  });

  test.runIf(isRoot)('its folder belongs to another user', async () => {
    const home = await keptHome();
    await run('chown', ['-R', 'root', join(home, 'postgres')]);
    const failure = await failureOf(home);
    expect(failure).toEqual(told(/wrong ownership.*chown -R (postgres|nobody) .*postgres,/));
    const [, user = ''] = /chown -R (\w+)/.exec(String(failure)) ?? [];
    await run('chown', ['-R', user, join(home, 'postgres')]);
    await expectKept(home);
  });

  test('its password is that of another folder', async () => {
    const home = await keptHome();
    const file = join(home, 'postgres.password');
    await rename(file, join(home, 'aside'));
    await writeFile(file, 'another', {mode: 0o600});
    expect(await failureOf(home)).toEqual(
      told(/password authentication failed.*put the right one back.*rm .*password/),
    );
    await rename(join(home, 'aside'), file);
    await expectKept(home);
  });
});

function told(words: RegExp): unknown {
  const whole = new RegExp(
    `embedded Postgres in .*: expected it to start, got .*${words.source}.*DATABASE_URL`,
  );
  return expect.objectContaining({constructor: FatalError, message: expect.stringMatching(whole)});
}

describe('the password file', () => {
  test('is refused if other users may read it', async () => {
    const home = await keptHome();
    await chmod(join(home, 'postgres.password'), 0o644);
    expect(await failureOf(home)).toEqual(
      expect.objectContaining({
        constructor: UsageError,
        message: expect.stringMatching(
          /only its owner can read, got mode 0644.*chmod 600 .*postgres\.password/,
        ),
      }),
    );
  });

  test('is created again if it is lost, and the data is unchanged', async () => {
    const home = await keptHome();
    await rm(join(home, 'postgres.password'));
    await expectKept(home);
    await expectKept(home);
  });

  test('lost while a server runs: an error names that server, which keeps running', async () => {
    const home = await keptHome();
    const running = await openEmbeddedPostgres(home);
    const url = await running.url('warehouse');
    const password = await readFile(join(home, 'postgres.password'));
    await rm(join(home, 'postgres.password'));
    expect(await failureOf(home)).toEqual(told(/already exists.*stop it \(kill/));
    expect(await ask(url, 'SELECT n FROM kept')).toBe(42);
    await writeFile(join(home, 'postgres.password'), password, {mode: 0o600});
    await running.leave();
    await expectKept(home);
  });
});

test('a killed server is restarted on its port, and stops when its user leaves', async () => {
  const home = await keptHome();
  const steps: string[] = [];
  const postgres = await openEmbeddedPostgres(home, (step) => steps.push(step));
  postgres.keepUp();
  const url = await postgres.url('warehouse');
  const [pid = ''] = (await readFile(join(home, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  await expect
    .poll(() => ask(url, 'SELECT n FROM kept').catch(() => null), {timeout: 30_000})
    .toBe(42);
  expect(steps.at(-1)).toMatch(/has ended; restarting it/);
  await postgres.leave();
  await expect(ask(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
});

test('a server that is kept running does not stop when another user leaves', async () => {
  const home = await newHome();
  const [kept, other] = [await openEmbeddedPostgres(home), await openEmbeddedPostgres(home)];
  const url = await kept.url('warehouse');
  kept.keepUp();
  await expect
    .poll(() =>
      ask(url, `SELECT count(*)::int FROM pg_stat_activity WHERE application_name ~ 'keeps'`),
    )
    .toBe(1);
  await other.leave();
  expect(await ask(url, 'SELECT 1')).toBe(1);
  await kept.leave();
});
