// Accounts at one server and, for each test of a file that uses it, an empty warehouse and
// the commands about them.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, inject} from 'vitest';
import {type AccountServer, serveAccounts} from '../jobs/account-server.ts';
import {type Ended, runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

const keys = [1, 2].map(() => randomBytes(32).toString('base64'));
export const [FIELDMIRROR_KEY = '', otherKey = ''] = keys;
export const timeZone = 'Europe/Berlin';
export let server: AccountServer;
export let database: TestDatabase;
export let client: pg.Client;
export let env: Readonly<Record<string, string>>;

/** Makes the place for each test of the file that calls this. */
export function useAccountsPlace(): void {
  beforeAll(async () => {
    server = await serveAccounts();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    server.manners.clear();
    database = await createDatabase(inject('warehouseTemplate'));
    client = new pg.Client(database.url);
    await client.connect();
    env = {DATABASE_URL: database.url, FIELDMIRROR_KEY};
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });
}

export async function add(
  name: string,
  changed: Record<string, string> = {},
  token = server.tokenOf(name),
) {
  const args = ['accounts', 'add', name, '--url', server.urlOf(name), '--time-zone', timeZone];
  return await runCommand(args, {...env, FIELDMIRROR_API_TOKEN: token, ...changed});
}

export async function run(...args: string[]): Promise<Ended> {
  return await runCommand(['accounts', ...args], env);
}

export async function rowOf(name: string): Promise<Record<string, unknown>> {
  const {rows} = await client.query('SELECT * FROM sync.accounts WHERE name = $1', [name]);
  return rows[0];
}

export async function stop(name: string): Promise<void> {
  await client.query(
    `UPDATE sync.accounts SET state = 'stopped', state_reason = 'refused' WHERE name = $1`,
    [name],
  );
}
