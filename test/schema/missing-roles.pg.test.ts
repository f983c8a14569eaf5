// An owner who may not create roles, as some managed servers give one: the roles of an
// administrator, made before or after.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {startPostgres} from '../support/own-postgres.ts';
import {SetUp} from '../support/set-up.ts';
import {withClient} from '../support/with-client.ts';

const roles = ['reader', 'author', 'worker', 'assistant'].map((name) => `fieldmirror_${name}`);
const setUp = new SetUp();
let adminUrl: string;
let home: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  home = await setUp.step(
    'making a folder for the reference service',
    () => mkdtemp(join(tmpdir(), 'fieldmirror-roles-home-')),
    (folder) => rm(folder, {recursive: true, force: true}),
  );
  const {postgres} = await startPostgres(setUp, 'roles');
  adminUrl = await postgres.url('postgres');
  await withClient(adminUrl, (admin) =>
    admin.query(`CREATE ROLE "Plain owner" LOGIN PASSWORD 'made-up'`),
  );
});
afterAll(() => setUp.end());

beforeEach(async () => {
  await withClient(adminUrl, async (admin) => {
    await admin.query('DROP DATABASE IF EXISTS plain WITH (FORCE)');
    for (const role of roles) await admin.query(`DROP ROLE IF EXISTS ${role}`);
    await admin.query(
      `CREATE DATABASE plain OWNER "Plain owner" ENCODING 'UTF8' TEMPLATE template0`,
    );
  });
  const url = Object.assign(new URL(adminUrl), {
    username: 'Plain owner',
    password: 'made-up',
    pathname: '/plain',
  });
  env = {DATABASE_URL: url.href, FIELDMIRROR_HOME: home};
});

/** What the roles may do with one thing of each kind. */
async function listRights(): Promise<readonly (boolean | null)[]> {
  return await withClient(
    Object.assign(new URL(adminUrl), {pathname: '/plain'}).href,
    async (admin) => {
      const {rows} = await admin.query<{rights: (boolean | null)[]}>(`SELECT ARRAY[
      has_table_privilege(to_regrole('fieldmirror_reader')::oid, 'mart.customers', 'SELECT'),
      has_table_privilege(to_regrole('fieldmirror_author')::oid, 'warehouse.customers', 'UPDATE'),
      has_table_privilege(to_regrole('fieldmirror_worker')::oid, 'sync.sweeps', 'INSERT'),
      has_table_privilege(to_regrole('fieldmirror_assistant')::oid, 'masked.dim_customer',
        'SELECT')] AS rights`);
      return rows[0]?.rights ?? [];
    },
  );
}

/**
 * Runs what a message tells an administrator to run: everything that begins like a statement and
 * ends like one.
 */
async function obey(text: string): Promise<string[]> {
  const statements = text.replaceAll(/\s+/g, ' ').match(/\b(?:CREATE|GRANT) [^;]+;/g) ?? [];
  await withClient(adminUrl, async (admin) => {
    for (const statement of statements) await admin.query(statement);
  });
  return statements;
}

test('migrate prints the missing roles and the statements for an administrator', async () => {
  const first = await runCommand(['migrate'], env);
  expect(first.code, first.stderr).toBe(0);
  for (const role of roles) expect(first.stdout).toContain(role);
  expect(await listRights()).toEqual([null, null, null, null]);
  expect(await obey(first.stdout)).toHaveLength(5);
  const second = await runCommand(['migrate'], env);
  // It has given the roles their rights, so it does not say that there was nothing to do.
  expect(second).toMatchObject({code: 0, stdout: expect.stringMatching(/^[^\n]+: up to date\n$/)});
  expect(await listRights()).toEqual([true, true, true, true]);
});

test('doctor warns until the roles have their rights, which start also grants', async () => {
  await runCommand(['migrate', '--json'], env);
  const look = async () => {
    const {code, stdout} = await runCommand(['doctor', '--json'], env);
    const {findings} = JSON.parse(stdout) as {
      findings: {what: string; state: string; found: string}[];
    };
    return {code, ...findings.find(({what}) => what === 'roles')};
  };
  const missing = await look();
  expect(missing).toMatchObject({
    code: 1,
    state: 'warning',
    found: expect.stringContaining(roles.join(', ')),
  });
  await obey(missing.found ?? '');
  expect(await look()).toMatchObject({
    state: 'warning',
    found: expect.stringContaining('without rights'),
  });
  const {code, stderr} = await runCommand(['start', '--once', '--json'], {
    ...env,
    FIELDMIRROR_DEMO_NIGHTS: '0',
  });
  expect(code, stderr).toBe(0);
  expect(await listRights()).toEqual([true, true, true, true]);
  expect(await look()).toMatchObject({state: 'good'});
});

test('migrate prints the missing membership if an administrator made the roles', async () => {
  await withClient(adminUrl, async (admin) => {
    for (const role of roles) await admin.query(`CREATE ROLE ${role} NOLOGIN`);
  });
  const first = await runCommand(['migrate'], env);
  expect(first.code, first.stderr).toBe(0);
  expect(await obey(first.stdout)).toEqual(['GRANT fieldmirror_assistant TO "Plain owner";']);
  expect(await runCommand(['migrate'], env)).toMatchObject({
    stdout: expect.not.stringContaining('roles'),
  });
});

test('a migration that fails at its end leaves no table, and the next one succeeds', async () => {
  const client = new pg.Client({
    connectionString: Object.assign(new URL(adminUrl), {pathname: '/plain'}).href,
  });
  await client.connect();
  try {
    // The last thing that a migration makes is a comment on a view; a trigger on commands refuses
    // it.
    await client.query(`CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'refused by the test'; END $$;
      CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('GRANT')
        EXECUTE FUNCTION public.refuse()`);
    const failed = await runCommand(['migrate'], env);
    expect(failed).toMatchObject({
      code: expect.not.stringMatching(/^0$/),
      stderr: expect.stringContaining('refused by the test'),
    });
    const {rows} = await client.query(
      `SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
        AND relkind IN ('r', 'v', 'p')`,
    );
    expect(rows).toEqual([{relname: 'migrations'}]);
    await client.query('DROP EVENT TRIGGER refuse');
  } finally {
    await client.end();
  }
  expect(await runCommand(['migrate'], env)).toMatchObject({code: 0});
});
