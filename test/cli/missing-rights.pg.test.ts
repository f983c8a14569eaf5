// A login without a right is told which, on what, and the statement that gives it. Whoever runs
// that statement is done.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const login = `poor_${randomBytes(4).toString('hex')}`;
let place: Place;
let owner: pg.Client;
let env: Readonly<Record<string, string>>;

async function open(template?: string): Promise<void> {
  place = await openPlace({}, template);
  owner = new pg.Client({connectionString: place.databaseUrl});
  await owner.connect();
  const url = new URL(place.databaseUrl);
  url.username = login;
  url.password = 'made-up';
  env = {...place.env, DATABASE_URL: url.href};
}

beforeEach(() => makeRole(login, `LOGIN PASSWORD 'made-up'`));

afterEach(async () => {
  const database = new URL(place.databaseUrl).pathname.slice(1);
  await owner.query(`REVOKE ALL ON DATABASE ${database} FROM ${login}`);
  await owner.query(`REASSIGN OWNED BY ${login} TO current_user`).catch(() => {});
  await owner.end();
  await place.close();
  await dropRoles(login);
});

/** What the doctor says of the schema. */
async function examine(): Promise<string> {
  const {stdout} = await runCommand(['doctor', '--json'], env);
  const {findings} = JSON.parse(stdout) as {findings: {what: string; found: string}[]};
  return findings
    .filter(({what}) => ['migrations', 'Postgres'].includes(what))
    .map(({found}) => found)
    .join('\n');
}

/** The statement in an error, as a person copies it. */
function statementIn(text: string): string {
  return /GRANT [^;]+;/.exec(text)?.[0] ?? '';
}

test('without CREATE on the database, doctor, start and migrate print the same GRANT', async () => {
  await open();
  const database = new URL(place.databaseUrl).pathname.slice(1);
  const says = `GRANT CREATE ON DATABASE "${database}" TO "${login}";`;
  for (const verb of [['migrate'], ['start', '--once'], ['sync']]) {
    const ended = await runCommand(verb, env);
    expect(ended, verb.join(' ')).toMatchObject({code: 3, stderr: expect.stringContaining(says)});
    expect(ended.stderr).toContain(
      `${login} may not make them, for it lacks CREATE on the database`,
    );
  }
  expect(await examine()).toContain(says);
  await owner.query(statementIn(await examine()));
  expect(await runCommand(['migrate'], env)).toMatchObject({code: 0});
  expect(await examine()).toContain('all applied');
});

test('if another role owns the schemas, the error names the owner', async () => {
  await open(inject('warehouseTemplate'));
  await owner.query(`GRANT fieldmirror_worker TO ${login}`);
  await owner.query('DELETE FROM sync.migrations WHERE id = (SELECT max(id) FROM sync.migrations)');
  const {rows} = await owner.query('SELECT current_user AS name');
  const says = `run \`fieldmirror migrate\` as its owner, ${rows[0].name}`;
  expect(await runCommand(['start', '--once'], env)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(says),
  });
  expect(await examine()).toContain(says);
});

test('a login without a role gets an error that names the role it needs', async () => {
  await open(inject('warehouseTemplate'));
  for (const verb of [['status'], ['changes', 'list'], ['sync']]) {
    const ended = await runCommand(verb, env);
    expect(ended, verb.join(' ')).toMatchObject({code: 3});
    expect(ended.stderr).toMatch(
      new RegExp(`${login} lacks a right on the (schema|table) [\\w.]+; let the owner`),
    );
    expect(statementIn(ended.stderr)).toBe(`GRANT fieldmirror_worker TO "${login}";`);
  }
  expect(await examine()).toContain(`GRANT fieldmirror_worker TO "${login}";`);
  await owner.query(statementIn(await examine()));
  expect((await runCommand(['status'], env)).code).toBeLessThan(3);
});

test('a login that may not connect gets an error with the GRANT it needs', async () => {
  await open(inject('warehouseTemplate'));
  const database = new URL(place.databaseUrl).pathname.slice(1);
  await owner.query(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
  const ended = await runCommand(['status'], env);
  const says = `GRANT CONNECT ON DATABASE "${database}" TO "${login}";`;
  expect(ended).toMatchObject({code: 3, stderr: expect.stringContaining(says)});
  expect(await examine()).toContain(says);
});

test('a login that may only read gets an error that says how it reads', async () => {
  await open(inject('warehouseTemplate'));
  await owner.query(`GRANT fieldmirror_reader TO ${login}`);
  const ended = await runCommand(['status'], env);
  expect(ended).toMatchObject({code: 3});
  expect(ended.stderr.replaceAll(/\s+/g, ' ')).toContain(
    'a login that may only read needs fieldmirror_reader, and reads in SQL (psql)',
  );
});
