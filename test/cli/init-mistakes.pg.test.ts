// Mistakes while an account is set up are told at once, with what was asked and what to do.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {main, runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {createDatabase} from '../support/postgres.ts';
import {openService, type TestService} from '../support/world.ts';
import {typeInto} from './warehouse-place.ts';

let service: TestService;
let folder: string;
let env: Readonly<Record<string, string>>;

beforeEach(async () => {
  service = await openService({basePath: '/acme'});
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-newcomer-'));
  env = {
    FIELDMIRROR_ENV_FILE: join(folder, '.env'),
    FIELDMIRROR_HOME: join(folder, 'home'),
    TZ: 'UTC',
  };
});
afterEach(async () => {
  await service.close();
  await rm(folder, {recursive: true});
});

test('init reports a wrong path in the address, and proposes the right name', async () => {
  const wrong = service.url.replace(/acme$/, 'amce');
  const told = `GET /customers.xml at ${new URL(wrong).host}/amce: expected a list, got 404`;
  const ended = await typeInto(['init', '--url', wrong], service.token, env);
  expect(ended).toMatchObject({code: 3, stderr: expect.stringContaining(told)});
  const database = await createDatabase(inject('warehouseTemplate'));
  const {code, shown} = await answer(
    [
      [/base address, such as/, wrong],
      [/A name for it here \[amce\]/, ''],
      [/API token of amce/, service.token],
      [/got 404[\s\S]*base address \[/, service.url],
      [/A name for it here \[acme\]/, ''],
      [/API token of acme/, service.token],
      [/time zone \[/, ''],
    ],
    {...env, DATABASE_URL: database.url},
  );
  await database.drop();
  expect(code, shown).toBe(0);
  expect(shown).toContain('account acme (');
  expect(await readFile(join(folder, 'fieldmirror.yaml'), 'utf8')).toMatch(
    /^accounts:\n {2}acme:$/m,
  );
});

test('init rejects a warehouse with the demo business before its first question', {
  timeout: 120_000,
}, async () => {
  const embedded = await openEmbeddedPostgres(join(folder, 'home'));
  const client = new pg.Client(await embedded.url('warehouse'));
  await client.connect();
  await client.query(`CREATE SCHEMA sync; CREATE TABLE sync.accounts AS SELECT 'demo' AS name`);
  await client.end();
  try {
    const {code, shown} = await answer([], env);
    // What is wider than the terminal is folded.
    expect(shown.replaceAll(/\s+/g, ' ')).toMatch(
      /^init: expected a warehouse without the made-up business.*fieldmirror reset/,
    );
    expect(code).toBe(3);
  } finally {
    await embedded.leave();
  }
});

test('config plan reports a missing settings file and the verb that writes one', async () => {
  const ended = await runCommand(['config', 'plan', join(folder, 'none.yaml')], {});
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      inSequence(
        /none\.yaml: expected a file of settings, got none of that name; /,
        /fieldmirror config export .*none\.yaml writes one/,
      ),
    ),
  });
  expect(await readdir(folder)).toEqual([]);
});

/** Answers each question of `init` at a terminal, once it is seen; `script` makes the terminal. */
async function answer(
  answers: (readonly [RegExp, string])[],
  given: Readonly<Record<string, string>>,
): Promise<{code: number; shown: string}> {
  const terminal = spawn(
    'script',
    ['-qec', `cd ${folder}; exec ${process.execPath} ${main} init`, '/dev/null'],
    {
      env: {PATH: process.env.PATH ?? '', ...given},
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  let seen = '';
  let shown = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    seen += chunk;
    shown += chunk;
    const [pattern, typed] = answers[0] ?? [];
    const match = pattern?.exec(seen);
    if (match === undefined || match === null) return;
    seen = seen.slice(match.index + match[0].length);
    answers.shift();
    terminal.stdin.write(`${typed}\r`);
  });
  const [code] = await once(terminal, 'close');
  return {code, shown};
}
