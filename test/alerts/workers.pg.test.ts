// Whether work is done at all: start, status and doctor report a worker that is away or cannot open
// an account.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test} from 'vitest';
import {saveSealedToken, upsertAccount} from '../../src/accounts/accounts.ts';
import {parseKeys, Secret, seal} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {allStreams} from '../../src/streams/all.ts';
import {beginAccount} from '../../src/sweeps/schedules.ts';
import {type AccountServer, serveAccounts} from '../jobs/account-server.ts';
import {type Running, runCommand, startCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

const [FIELDMIRROR_KEY = '', otherKey = ''] = [1, 2].map(() => randomBytes(32).toString('base64'));
let server: AccountServer;
let database: TestDatabase;
let client: pg.Pool;
let env: Readonly<Record<string, string>>;
let running: Running | null = null;

beforeAll(async () => {
  server = await serveAccounts();
});
afterAll(() => server.close());

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  client = openPool(database.url, {max: 2, applicationName: 'test'});
  env = {DATABASE_URL: database.url, FIELDMIRROR_KEY};
});

afterEach(async () => {
  running?.process.kill('SIGKILL');
  await running?.ended;
  running = null;
  await client.end();
  await database.drop();
});

/** Adds an account as `accounts add` does. */
async function add(name: string): Promise<void> {
  const account = await upsertAccount(client, {name, apiUrl: server.urlOf(name), timeZone: 'UTC'});
  const {accountId} = account;
  for (const key of parseKeys(FIELDMIRROR_KEY))
    await saveSealedToken(
      client,
      accountId,
      seal(new Secret(server.tokenOf(name)), key, accountId),
    );
  await beginAccount(
    client,
    account,
    allStreams.map((stream) => stream.name),
  );
}

const ownOf = (name: string) => ({
  DATABASE_URL: database.url,
  FIELDMIRROR_API_URL: server.urlOf(name),
  FIELDMIRROR_API_TOKEN: server.tokenOf(name),
  FIELDMIRROR_TIME_ZONE: 'UTC',
});

/** Starts a worker, and waits until its row is there. */
async function work(changed: Readonly<Record<string, string>> = env): Promise<Running> {
  running = startCommand(['start'], changed);
  await running.prints(/Running\. Ctrl-C/);
  await expect.poll(async () => (await readRows()).length, {timeout: 20_000}).toBe(1);
  return running;
}

async function readRows(): Promise<Record<string, unknown>[]> {
  return (await client.query('SELECT * FROM sync.workers')).rows;
}

async function check(changed: Readonly<Record<string, string>> = env) {
  const {code, stdout} = await runCommand(['status', '--json'], changed);
  const {problems, workers} = JSON.parse(stdout);
  const about = problems.filter(
    ({kind}: {kind: string}) => kind === 'no-worker' || kind === 'unserved',
  );
  return {code, workers, about};
}

async function examine() {
  const {findings} = JSON.parse((await runCommand(['doctor', '--json'], env)).stdout);
  return findings.filter(({what}: {what: string}) => what === 'worker');
}

describe('a worker', () => {
  test('is listed as alive while it runs, and leaves no row when it stops', async () => {
    await add('a');
    const {process: worker, ended} = await work();
    const [row] = await readRows();
    expect(row).toMatchObject({
      pid: worker.pid,
      host: expect.any(String),
      version: expect.stringMatching(/^\d/),
    });
    expect((await check()).workers).toMatchObject([
      {isAlive: true, accountIds: ['1'], pid: worker.pid},
    ]);
    expect((await check()).about).toEqual([]);
    expect(await examine()).toMatchObject([
      {
        state: 'good',
        found: expect.stringMatching(new RegExp(`pid ${worker.pid}, .*: 1 account$`)),
      },
    ]);
    worker.kill('SIGINT');
    expect(await ended).toMatchObject({code: 0});
    expect(await readRows()).toEqual([]);
    expect((await runCommand(['status'], env)).stdout).toContain(
      'worker    none is alive; fieldmirror start is one\n',
    );
  });

  test('that was killed gets an alert from the next one, which is alive by then', async () => {
    await add('a');
    const rule = ['alerts', 'add', 'ops', '--webhook', 'https://receiver.example/alerts'];
    expect(await runCommand(rule, env)).toMatchObject({code: 0});
    const {process: worker, ended} = await work();
    worker.kill('SIGKILL');
    await ended;
    await client.query(`UPDATE sync.workers SET seen_at = now() - interval '5 minutes'`);
    await client.query(
      `UPDATE sync.alert_checks SET checked_at = now() - interval '5 minutes', lease_until = NULL`,
    );
    const listed = (await runCommand(['alerts', 'list'], env)).stdout;
    expect(listed).toContain('The last check was 5 min');
    expect(listed).not.toContain('Nothing is wrong');
    running = startCommand(['start'], env);
    await expect.poll(async () => (await readRows()).length, {timeout: 20_000}).toBe(2);
    const {rows} = await client.query(`SELECT text FROM sync.alerts WHERE cause = 'no-worker'`);
    expect(rows).toEqual([
      {text: expect.stringContaining(`pid ${worker.pid}, was last seen 5 min`)},
    ]);
  });

  test('that was killed is reported with its process ID until another one is alive', async () => {
    await add('a');
    const {process: worker, ended} = await work();
    worker.kill('SIGKILL');
    await ended;
    await client.query(`UPDATE sync.workers SET seen_at = now() - interval '5 minutes'`);
    const {code, about} = await check();
    expect(code).toBe(1);
    expect(about).toMatchObject([
      {
        kind: 'no-worker',
        text: expect.stringMatching(
          new RegExp(`no worker is alive: .*, pid ${worker.pid}, was last seen 5 min`),
        ),
        next: 'fieldmirror start',
      },
    ]);
    expect(await examine()).toMatchObject([
      {state: 'warning', found: expect.stringContaining('no worker')},
    ]);
    await client.query(
      `INSERT INTO sync.workers SELECT gen_random_uuid(), host, pid + 1, version,
         now(), now(), account_ids, key_ids FROM sync.workers`,
    );
    expect((await check()).about).toEqual([]);
  });

  test('is reported as missing if a schedule is due and none is running', async () => {
    await add('a');
    expect((await check()).about).toEqual([]);
    await client.query(
      `UPDATE sync.schedules SET next_due_at = now() - interval '2 minutes'
        WHERE name LIKE '%open'`,
    );
    expect(await check()).toMatchObject({
      code: 1,
      about: [
        {kind: 'no-worker', text: expect.stringMatching(/1 schedule is due, the first for 2 min/)},
      ],
    });
  });

  test('that was last seen over a day ago is removed when the next one starts', async () => {
    await add('a');
    await client.query(
      `INSERT INTO sync.workers (worker_id, host, pid, version, seen_at, account_ids, key_ids)
       VALUES (gen_random_uuid(), 'gone', 1, '0', now() - interval '25 hours', '{}', '{}')`,
    );
    await add('b');
    running = startCommand(['start'], env);
    await running.prints(/Running\. Ctrl-C/);
    await expect
      .poll(async () => (await readRows()).map(({host}) => host === 'gone'), {timeout: 20_000})
      .toEqual([false]);
  });
});

describe('a key that opens no account', () => {
  test.each([
    [['start']],
    [['start', '--once']],
    [['sync', '--account', 'a']],
    [['push']],
    [['push', '--account', 'a']],
  ])('makes %j exit with 2, name the accounts and start no sweep', async (args) => {
    for (const name of ['a', 'b']) await add(name);
    await client.query('DELETE FROM sync.sweeps');
    const ended = await runCommand(args, {...env, FIELDMIRROR_KEY: otherKey});
    const words = inSequence(
      /not served: account a: its token is sealed with key \w+, /,
      /the key given is \w+; give that key/,
    );
    expect(ended).toMatchObject({code: 2, stdout: '', stderr: expect.stringMatching(words)});
    if (!args.includes('a')) expect(ended.stderr).toContain('account b');
    expect((await client.query('SELECT FROM sync.sweeps')).rowCount).toBe(0);
  });

  test('is reported by status with the same key, while no worker is alive', async () => {
    await add('a');
    const {code, about} = await check({...env, FIELDMIRROR_KEY: otherKey});
    expect(code).toBe(1);
    expect(about).toMatchObject([
      {
        account: 'a',
        kind: 'unserved',
        text: expect.stringMatching(/sealed with key \w+, and the key given here is \w+/),
      },
    ]);
  });
});

describe('accounts that some worker cannot open', () => {
  test('are named by start, and by status while no worker serves them', async () => {
    for (const name of ['a', 'b']) await add(name);
    const {process: worker, ended} = await work(ownOf('a'));
    const {code, about} = await check({DATABASE_URL: database.url});
    expect(code).toBe(1);
    expect(about).toMatchObject([
      {
        account: 'b',
        kind: 'unserved',
        text: expect.stringMatching(/sealed with key \w+, and the workers have none/),
      },
    ]);
    worker.kill('SIGINT');
    expect((await ended).stdout).toMatch(/not served: account b: .*no key is given/);
  });

  test('make start --once exit with 3, but the other accounts are swept', async () => {
    for (const name of ['a', 'b']) await add(name);
    const ended = await runCommand(['start', '--once', '--json'], ownOf('a'));
    expect(ended).toMatchObject({code: 3});
    const {streams, unopened} = JSON.parse(ended.stdout);
    expect(unopened).toMatchObject([{account: 'b'}]);
    for (const stream of streams)
      expect(stream).toMatchObject({account: 'a', state: expect.stringMatching(/certified/)});
  });

  test('whose token was only in the environment keep start from using made-up data', async () => {
    expect(await runCommand(['start', '--once'], ownOf('a'))).toMatchObject({code: 0});
    expect(await runCommand(['start', '--once'], {DATABASE_URL: database.url})).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /FIELDMIRROR_API_URL, FIELDMIRROR_API_TOKEN: expected .* got nothing.*made-up data/,
      ),
    });
  });
});

describe('a clock that differs from the clock of Postgres', () => {
  const shifted = (ms: number) => {
    const clock = `const now = Date.now; Date.now = () => now() + ${ms};`;
    return {
      ...ownOf('a'),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}`,
    };
  };

  test.each([120_000, -120_000, 86_400_000, -86_400_000])(
    'by %i ms makes start fail before it creates an account',
    async (ms) => {
      const ended = await runCommand(['start', '--once'], shifted(ms));
      const words = /Postgres' clock: expected at most 60 s apart from ours, got .* NTP/;
      expect(ended).toMatchObject({code: 3, stdout: '', stderr: expect.stringMatching(words)});
      expect((await client.query('SELECT FROM sync.accounts')).rowCount).toBe(0);
    },
  );

  test('by 10 s does not stop start', async () => {
    expect(await runCommand(['start', '--once'], shifted(10_000))).toMatchObject({code: 0});
  });
});
