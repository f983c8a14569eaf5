// A database may have a schema of another program under one of our names: it is never mixed with
// ours, and never removed.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';
import {typeInto} from './warehouse-place.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database?.drop());

test.each(['mart', 'sync'])('a schema %s of another program is refused, and kept', async (name) => {
  const env = {DATABASE_URL: database.url};
  const typed = new URL(database.url).pathname.slice(1);
  await withClient(database.url, (client) =>
    client.query(`CREATE SCHEMA ${name}; CREATE TABLE ${name}.sales AS SELECT 7 AS total`),
  );
  const migrated = await runCommand(['migrate'], env);
  expect(migrated, migrated.stderr).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      new RegExp(`got ${name}, which another program has made; .*explain E02`, 's'),
    ),
  });
  const reset = await typeInto(['reset'], typed, env);
  expect(reset).toMatchObject({code: 0, stdout: expect.stringMatching(/^nothing to remove/)});
  const {rows} = await withClient(database.url, (client) =>
    client.query(`SELECT total, to_regclass('sync.migrations') AS ours FROM ${name}.sales`),
  );
  expect(rows).toEqual([{total: 7, ours: null}]);
});
