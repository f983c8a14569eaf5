// An installation begins anew: what Fieldmirror made goes, what others made stays, and nothing goes
// by a slip.

import {existsSync} from 'node:fs';
import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterAll, beforeAll, beforeEach, expect, inject, test} from 'vitest';
import {openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {listSchemas, typeInto} from './warehouse-place.ts';

let database: TestDatabase;
let client: pg.Client;
let env: Readonly<Record<string, string>>;
let name: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  client = new pg.Client(database.url);
  await client.connect();
  env = {DATABASE_URL: database.url};
  name = new URL(database.url).pathname.slice(1);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});
beforeEach(async () => {
  expect(await runCommand(['migrate'], env)).toMatchObject({code: 0});
});

test('reset removes our schemas after the database name is typed, and keeps others', async () => {
  await client.query('CREATE SCHEMA books; CREATE TABLE books.ledger AS SELECT 7 AS entry');
  const before = await listSchemas(client);
  expect(before).toEqual(
    expect.arrayContaining(['bullmq', 'history', 'mart', 'masked', 'sync', 'warehouse']),
  );
  expect(await typeInto(['reset'], 'warehouse', env)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/warehouse +│ +\d+[\s\S]*got "warehouse"; nothing was done/),
  });
  expect(await listSchemas(client)).toEqual(before);
  expect(await typeInto(['reset'], name, env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^the schemas are removed; fieldmirror start begins from scratch/,
    ),
  });
  expect(await listSchemas(client)).toEqual(['books', 'public']);
  expect((await client.query('SELECT entry FROM books.ledger')).rows).toEqual([{entry: 7}]);
  expect(await typeInto(['reset'], name, env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^nothing to remove/),
  });
  expect(await runCommand(['migrate'], env)).toMatchObject({code: 0});
  expect(await listSchemas(client)).toEqual(before);
});

test('reset fails if a worker runs or if user objects depend on ours, and names them', async () => {
  await client.query('CREATE VIEW public.late AS SELECT count(*) FROM mart.ask_debtors');
  await client.query(
    'CREATE TABLE public.notes (account_id bigint REFERENCES sync.accounts (account_id))',
  );
  expect(await typeInto(['reset'], name, env)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /expected none of your objects to depend on .*got public\.late, public\.notes;/,
    ),
  });
  await client.query('DROP VIEW public.late; DROP TABLE public.notes');
  await client.query(
    `INSERT INTO sync.workers (worker_id, host, pid, version, account_ids, key_ids)
      VALUES (gen_random_uuid(), 'office', 4711, '0.1.0', '{}', '{}')`,
  );
  expect(await typeInto(['reset'], name, env)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/expected no worker to run, got process 4711 on office; stop it/),
  });
  expect(await listSchemas(client)).toContain('warehouse');
  await client.query('DELETE FROM sync.workers');
});

test('reset deletes an embedded Postgres with its password, unless it is in use', {
  timeout: 120_000,
}, async () => {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-reset-'));
  try {
    const own = {FIELDMIRROR_HOME: home};
    const place = join(home, 'postgres');
    await writeFile(join(home, 'week.html'), 'a report');
    expect(await typeInto(['reset'], place, own)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^nothing to remove/),
    });
    const embedded = await openEmbeddedPostgres(home);
    const user = new pg.Client({
      connectionString: await embedded.url('warehouse'),
      application_name: 'a BI tool',
    });
    await user.connect();
    expect(await typeInto(['reset'], place, own)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/expected nothing to use it, got sessions of a BI tool; stop/),
    });
    await user.end();
    await embedded.leave();
    expect(await typeInto(['reset'], 'postgres', own)).toMatchObject({code: 2});
    expect(existsSync(place)).toBe(true);
    expect(await typeInto(['reset'], place, own)).toMatchObject({code: 0});
    expect(await readdir(home)).toEqual(['week.html']);
  } finally {
    await rm(home, {recursive: true, force: true});
  }
});
