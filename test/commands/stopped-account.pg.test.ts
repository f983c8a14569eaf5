// An account that is stopped in the middle of what a verb waits for: the verb comes to its end, and says why.

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

/** The token is taken until employees are asked for, and refused from the second question on. */
function refuseAfterTheCheck(): void {
  const before = async ({path}: {readonly path: string}) => {
    if (path.endsWith('/employees.xml')) server.manners.set('a', {isRefusing: true});
  };
  server.manners.set('a', {before});
}

test.each([[['sync']], [['start', '--once']]])(
  '%j ends with 3 when the token is refused after the check at its start, and no sweep is left behind',
  async (args) => {
    refuseAfterTheCheck();
    const ended = await runCommand([...args, '--json'], env);
    expect(ended, ended.stderr).toMatchObject({code: 3});
    const {streams} = JSON.parse(ended.stdout);
    expect(streams).toHaveLength(4);
    for (const stream of streams)
      expect(stream).toMatchObject({state: 'failed', error: expect.stringMatching(/401 .*check the token/)});
    expect((await client.query('SELECT 1 FROM sync.sweeps WHERE ended_at IS NULL')).rowCount).toBe(0);
    const status = await runCommand(['status', '--check', '--json'], env);
    expect(status).toMatchObject({code: 1, stdout: expect.stringContaining('"stopped-account"')});
  },
);

test('sync ends when its account is stopped while a worker that died still holds the sweep', async () => {
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
    `WITH stopped AS (UPDATE sync.accounts SET state = 'stopped', state_reason = 'the token is refused')
     UPDATE sync.sweeps SET fence = fence + 1, lease_until = now() - interval '1 second'`,
  );
  gate.resolve();
  const ended = await running.ended;
  expect(ended).toMatchObject({code: 3, stdout: expect.stringContaining('the token is refused')});
});
