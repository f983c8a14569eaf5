// An administrator may forbid changes of tables by an event trigger: a verb that makes or removes
// some says who refused, and changes nothing.

import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {asSuperuser, createDatabase, type TestDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';
import {typeInto} from './warehouse-place.ts';

let empty: TestDatabase;
let filled: TestDatabase;

beforeEach(async () => {
  [empty, filled] = await Promise.all([
    createDatabase(),
    createDatabase(inject('warehouseTemplate')),
  ]);
  for (const {url} of [empty, filled])
    await withClient(asSuperuser(url), (admin) =>
      admin.query(
        `CREATE FUNCTION public."no changes"() RETURNS event_trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'only in the change window'; END $$;
         CREATE EVENT TRIGGER no_changes ON ddl_command_start
           EXECUTE FUNCTION public."no changes"();`,
      ),
    );
});

afterEach(async () => {
  await empty?.drop();
  await filled?.drop();
});

test('an event trigger that refuses is named with its words, and is no bug', async () => {
  const refused = {
    code: 3,
    stderr: expect.stringMatching(
      /the function public\."no changes", which is not of F.* refused .*: only in the change win/,
    ),
  };
  expect(await runCommand(['migrate'], {DATABASE_URL: empty.url})).toMatchObject(refused);
  const name = new URL(filled.url).pathname.slice(1);
  const reset = await typeInto(['reset'], name, {DATABASE_URL: filled.url});
  expect(reset).toMatchObject(refused);
  expect(reset.stderr).toContain('see: fieldmirror explain E01');
  expect(reset.stderr).not.toMatch(/bug| {4}at /);
});
