// Ctrl-C at a prompt ends the command at once, and nothing is done.

import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {programLine} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {type Answer, ctrlC, enter, typeAtTerminal} from '../support/typed-terminal.ts';
import {listSchemas} from './warehouse-place.ts';

let database: TestDatabase;
let client: pg.Client;
let folder: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  client = new pg.Client(database.url);
  await client.connect();
  await client.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone, state)
      VALUES ('north', 'https://app.example.com/north', 'UTC', 'paused')`,
  );
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-prompts-'));
});
afterAll(async () => {
  await client.end();
  await database.drop();
  await rm(folder, {recursive: true});
});

async function interrupt(args: readonly string[], answers: readonly Answer[]) {
  const shell = `cd ${folder}; exec ${programLine(...args).join(' ')}`;
  return await typeAtTerminal(shell, answers, {
    FIELDMIRROR_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATABASE_URL: database.url,
  });
}

/** What the commands would change. */
async function readState() {
  const {rows} = await client.query(
    `SELECT (SELECT jsonb_agg(account) FROM sync.accounts AS account) AS accounts,
            (SELECT jsonb_agg(installation) FROM sync.installation) AS installation`,
  );
  return {rows, schemas: await listSchemas(client), files: await readdir(folder)};
}

describe('Ctrl-C at a prompt ends with 130, and does nothing', () => {
  test.each([
    [['reset'], /Type \S+ to remove it: /],
    [['installation', 'claim'], /Type \S+ to let it work: /],
    [['accounts', 'remove', 'north'], /Type north to remove account north from here: /],
    [['accounts', 'add', 'north'], /API token of north/],
  ])('%j', async (args, prompt) => {
    const before = await readState();
    const ended = await interrupt(args, [[prompt, ctrlC]]);
    expect(ended, ended.all).toMatchObject({
      code: 130,
      left: 0,
      all: expect.stringContaining('Nothing was done.'),
    });
    expect(await readState()).toEqual(before);
  });

  test.each([
    ['its first', []],
    [
      'its hidden',
      [
        [/base address/, enter],
        [/A name/, enter],
      ] as const,
    ],
  ])('init, at %s question', async (_, answers) => {
    const before = await readState();
    const question = answers.length === 0 ? /base address/ : /API token/;
    const typed = answers.map(
      ([seen, keys], at): Answer => [
        seen,
        at === 0 ? `https://app.example.com/south${keys}` : keys,
      ],
    );
    const ended = await interrupt(['init'], [...typed, [question, ctrlC]]);
    expect(ended, ended.all).toMatchObject({
      code: 130,
      left: 0,
      all: expect.stringContaining('No file was written.'),
    });
    expect(await readState()).toEqual(before);
  });
});
