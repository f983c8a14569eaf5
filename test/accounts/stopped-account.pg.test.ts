// An account stops while a verb waits for its work: the verb comes to its end, and says why.

import pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, expect, inject, test} from 'vitest';
import {type AccountServer, serveAccounts} from '../jobs/account-server.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let server: AccountServer;
let database: TestDatabase;
let client: pg.Client;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await serveAccounts();
});
afterAll(() => server.close());

beforeEach(async () => {
  server.manners.clear();
  database = await createDatabase(inject('warehouseTemplate'));
  client = new pg.Client(database.url);
  await client.connect();
  env = {
    DATABASE_URL: database.url,
    FIELDMIRROR_API_URL: server.urlOf('a'),
    FIELDMIRROR_API_TOKEN: server.tokenOf('a'),
    FIELDMIRROR_TIME_ZONE: 'UTC',
  };
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

/** The token is valid until employees are requested, and refused from the second request on. */
function refuseAfterTheCheck(): void {
  const before = async ({path}: {readonly path: string}) => {
    if (path.endsWith('/employees.xml')) server.manners.set('a', {isRefusing: true});
  };
  server.manners.set('a', {before});
}

test.each([[['sync']], [['start', '--once']]])(
  '%j exits with 3 if the token is rejected after its check, and leaves no open sweep',
  async (args) => {
    refuseAfterTheCheck();
    const ended = await runCommand([...args, '--json'], env);
    expect(ended, ended.stderr).toMatchObject({code: 3});
    const {streams} = JSON.parse(ended.stdout);
    expect(streams).toHaveLength(4);
    for (const stream of streams)
      expect(stream).toMatchObject({
        state: 'failed',
        error: expect.stringMatching(/401 .*check the token/),
      });
    expect((await client.query('SELECT 1 FROM sync.sweeps WHERE ended_at IS NULL')).rowCount).toBe(
      0,
    );
    const status = await runCommand(['status', '--json'], env);
    expect(status).toMatchObject({code: 1, stdout: expect.stringContaining('"stopped-account"')});
  },
);

test('sync ends when its account is stopped while a dead worker holds the sweep', async () => {
  const gate = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  server.manners.set('a', {
    before: async ({path}) => {
      if (!path.endsWith('/employees.xml')) return;
      isAsked.resolve();
      await gate.promise;
    },
  });
  const running = startCommand(['sync', 'employees', '--json'], env);
  await isAsked.promise;
  // As if another worker had taken the sweep over and died.
  await client.query(
    `WITH stopped AS (UPDATE sync.accounts SET state = 'stopped',
      state_reason = 'the token is refused')
     UPDATE sync.sweeps SET fence = fence + 1, lease_until = now() - interval '1 second'`,
  );
  gate.resolve();
  const ended = await running.ended;
  expect(ended).toMatchObject({code: 3, stdout: expect.stringContaining('the token is refused')});
});

async function isStopped(): Promise<string | null> {
  const {rows} = await client.query(
    `SELECT state_reason FROM sync.accounts WHERE state = 'stopped'`,
  );
  return rows[0]?.state_reason ?? null;
}

test('status reports a token that sync found rejected; a valid one leaves no stop', async () => {
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
  const wrong = await runCommand(['sync', 'tasks'], {...env, FIELDMIRROR_API_TOKEN: 'mistyped'});
  expect(wrong).toMatchObject({code: 3, stderr: expect.stringContaining('401')});
  const status = await runCommand(['status'], env);
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/FIELDMIRROR_API_TOKEN has it/),
  });
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
  expect(await isStopped()).toBeNull();
});

test('a mistyped token of sync stops nothing while a worker serves the account', async () => {
  const worker = startCommand(['start'], env);
  await worker.prints(/Running\. Ctrl-C/);
  const countWorkers = async () => (await client.query('SELECT FROM sync.workers')).rowCount;
  await expect.poll(countWorkers, {timeout: 20_000}).toBe(1);
  expect(
    await runCommand(['sync', 'tasks'], {...env, FIELDMIRROR_API_TOKEN: 'mistyped'}),
  ).toMatchObject({
    code: 3,
  });
  expect(await isStopped()).toBeNull();
  const countUnfinished = async () =>
    (await client.query('SELECT FROM sync.sweeps WHERE ended_at IS NULL')).rowCount;
  await expect.poll(countUnfinished, {timeout: 20_000}).toBe(0);
  // The token is replaced at the service; the worker meets it with the next sweep.
  server.manners.set('a', {token: 'the-new-one'});
  await client.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by)
      VALUES (1, 'tasks', 'full', 'command')`,
  );
  await expect
    .poll(isStopped, {timeout: 20_000})
    .toMatch(/401.*FIELDMIRROR_API_TOKEN has it: restart with/);
  const renewed = {...env, FIELDMIRROR_API_TOKEN: 'the-new-one'};
  const beside = await runCommand(['accounts', 'check'], renewed);
  expect(beside.stdout).toMatch(
    new RegExp(
      `^other token .*the worker on .*, pid ${worker.process.pid}, ` +
        'was started with another one.*restart it',
    ),
  );
  expect(beside.code).toBe(3);
  expect(await isStopped()).not.toBeNull();
  worker.process.kill('SIGINT');
  await worker.ended;
  expect(await runCommand(['accounts', 'check'], renewed)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^good .*it continues/),
  });
  expect(await isStopped()).toBeNull();
});
