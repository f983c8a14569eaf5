// What Postgres gives to every login and nobody needs there: temporary tables and large objects,
// with which any login can fill the disk. Whoever migrates takes back what it may; `doctor` names
// the rest, with the statement for whoever may.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {checkPublic, describeLargeObjects, describeTemporary} from '../../src/schema/checks.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {runCommand} from '../support/command.ts';
import {asSuperuser, createDatabase, type TestDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {withClient} from '../support/with-client.ts';

const suffix = randomBytes(4).toString('hex');
const members = ['reader', 'author', 'worker', 'assistant'];
const logins = ['stranger', ...members, 'tenant'].map((name) => ({
  name,
  login: `${name}_${suffix}`,
}));
const temporary = 'CREATE TEMPORARY TABLE mine (a integer)';
const large = 'SELECT lo_from_bytea(0, $$x$$), lo_create(0), lo_creat(-1)';
let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  for (const {name, login} of logins)
    await makeRole(
      login,
      `LOGIN PASSWORD 'made-up' ${members.includes(name) ? `IN ROLE fieldmirror_${name}` : ''}`,
    );
});
afterAll(() => dropRoles(...logins.map(({login}) => login)));
beforeEach(async () => {
  database = await createDatabase();
  pool = openPool(database.url, {max: 2, applicationName: 'test'});
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const addressOf = (name: string) =>
  Object.assign(new URL(database.url), {username: `${name}_${suffix}`, password: 'made-up'}).href;
const asAdministrator = (statement: string) =>
  withClient(asSuperuser(database.url), (admin) => admin.query(statement));

/** The logins, each of its own session, that may run a statement. */
async function whoMay(statement: string): Promise<string[]> {
  const able: string[] = [];
  for (const {name} of logins.filter((login) => login.name !== 'tenant'))
    await withClient(addressOf(name), async (client) => {
      await client.query('BEGIN');
      const refusal = await client.query(statement).then(
        () => null,
        (error: Error) => error.message,
      );
      await client.query('ROLLBACK');
      if (refusal === null) able.push(name);
      else expect(refusal).toContain('permission denied');
    });
  return able;
}

async function look(): Promise<{temporary: string | null; largeObjects: string}> {
  const rights = await checkPublic(pool);
  if (rights === null) throw new Error('expected a warehouse');
  return {temporary: describeTemporary(rights), largeObjects: describeLargeObjects(rights)};
}

test('migrate by a plain owner revokes temporary tables from all but worker logins', async () => {
  expect(await whoMay(temporary)).toEqual(['stranger', ...members]);
  await migrateSchema(pool, definitions);
  expect(await whoMay(temporary)).toEqual(['worker']);
  await withClient(database.url, (client) => client.query(temporary));
  expect((await look()).temporary).toBeNull();
});

test('doctor prints the statement with which a superuser revokes large objects', async () => {
  await migrateSchema(pool, definitions);
  expect(await whoMay(large)).toEqual(['stranger', ...members]);
  const {stdout} = await runCommand(['doctor', '--json'], {DATABASE_URL: database.url});
  const {findings} = JSON.parse(stdout) as {
    findings: {what: string; state: string; found: string}[];
  };
  const found = findings.find(({what}) => what === 'every login');
  expect(found?.state).toBe('good');
  const [statement = ''] = /REVOKE [^;]+;/.exec(found?.found ?? '') ?? [];
  await asAdministrator(statement);
  expect(await whoMay(large)).toEqual([]);
  expect((await look()).largeObjects).toBe('only a superuser makes large objects');
});

test('doctor warns if any login may create functions in the schema public', async () => {
  await migrateSchema(pool, definitions);
  const everyLogin = async () => {
    const {stdout} = await runCommand(['doctor', '--json'], {DATABASE_URL: database.url});
    const {findings} = JSON.parse(stdout) as {findings: {what: string; [fact: string]: string}[]};
    return findings.find(({what}) => what === 'every login');
  };
  await asAdministrator('GRANT CREATE ON SCHEMA public TO PUBLIC');
  const warned = await everyLogin();
  expect(warned?.state).toBe('warning');
  const [statement = ''] = /REVOKE [^;]+;/.exec(warned?.found ?? '') ?? [];
  await asAdministrator(statement);
  expect(await everyLogin()).toMatchObject({state: 'good'});
});

test('grant_roles by a superuser revokes large objects only if there are none', async () => {
  await migrateSchema(pool, definitions);
  await withClient(database.url, (client) => client.query('SELECT lo_create(77)'));
  await asAdministrator('SELECT sync.grant_roles()');
  expect(await whoMay(large)).toEqual(['stranger', ...members]);
  await withClient(database.url, (client) => client.query('SELECT lo_unlink(77)'));
  await asAdministrator('SELECT sync.grant_roles()');
  expect(await whoMay(large)).toEqual([]);
});

test('the next migrate fixes rights on temporary tables that a restore changed', async () => {
  await migrateSchema(pool, definitions);
  const name = new URL(database.url).pathname.slice(1);
  await pool.query(`GRANT TEMPORARY ON DATABASE ${name} TO PUBLIC`);
  expect((await look()).temporary).toContain('run `fieldmirror migrate` as fieldmirror');
  await migrateSchema(pool, definitions);
  expect(await whoMay(temporary)).toEqual(['worker']);
  await pool.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM fieldmirror_worker`);
  expect((await look()).temporary).toContain('run `fieldmirror migrate` as fieldmirror');
  await migrateSchema(pool, definitions);
  expect(await whoMay(temporary)).toEqual(['worker']);
});

test('if the role does not own the database, an administrator gets the statements', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const tenant = `tenant_${suffix}`;
  await pool.query(`GRANT CREATE ON DATABASE ${name} TO ${tenant}`);
  await asAdministrator(`GRANT fieldmirror_assistant TO ${tenant}`);
  const own = openPool(addressOf('tenant'), {max: 2, applicationName: 'test'});
  try {
    await migrateSchema(own, definitions);
    expect(await whoMay(temporary)).toEqual(['stranger', ...members]);
    const told = (await look()).temporary ?? '';
    expect(told).toContain(`${tenant} does not own the database; let an administrator run`);
    for (const statement of told.match(/(?:GRANT|REVOKE) [^;]+;/g) ?? [])
      await pool.query(statement);
    expect(await whoMay(temporary)).toEqual(['worker']);
    await own.query(temporary);
    expect((await look()).temporary).toBeNull();
  } finally {
    await own.end();
  }
});
