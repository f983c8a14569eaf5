// A warehouse for each test of a file that uses it, and a folder for its files of settings.

import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterEach, beforeEach, inject} from 'vitest';
import {programLine, runCommand, startProgram} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

export let database: TestDatabase;
export let client: pg.Client;
export let folder: string;

/** Makes the place for each test of the file that calls this. */
export function useConfigPlace(): void {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldmirror-config-'));
    database = await createDatabase(inject('warehouseTemplate'));
    client = new pg.Client({connectionString: database.url});
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
    await rm(folder, {recursive: true});
  });
}

/** Two accounts, for a file of settings. */
export const accounts = `accounts:
  north: {url: https://app.example.com/north, time_zone: America/Chicago}
  south: {url: https://app.example.com/south, time_zone: UTC}
`;

/** Runs a verb of `config` on a file that says this. @param verb - with its options */
export async function config(
  verb: string,
  text: string,
  more: Readonly<Record<string, string>> = {},
) {
  const [name = '', ...options] = verb.split(' ');
  const file = join(folder, 'fieldmirror.yaml');
  await writeFile(file, text);
  return await runCommand(['config', name, file, ...options], {
    DATABASE_URL: database.url,
    ...more,
  });
}

/** Runs a verb in the folder, where the last file of `config` lies. */
export async function runThere(args: readonly string[], env: Readonly<Record<string, string>>) {
  const line = ['sh', '-c', 'cd "$1"; shift; exec "$@"', 'sh', folder, ...programLine(...args)];
  return await startProgram(line, env).ended;
}

export const apply = (text: string, more: Readonly<Record<string, string>> = {}) =>
  config('apply', text, more);

export const query = async (sql: string) => (await client.query(sql)).rows;

export const schedules = () =>
  query(`SELECT account.name AS account, held.name, every_ms::int AS every
    FROM sync.schedules AS held
           JOIN sync.accounts AS account USING (account_id) ORDER BY 1, 2`);
