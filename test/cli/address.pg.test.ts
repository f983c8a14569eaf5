// The address of a warehouse, printed for a tool and handed to psql: its password is nowhere to be
// seen unless it is asked for.

import {randomBytes} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {toPsqlEnvironment} from '../../src/cli/postgres.ts';
import {openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

let database: TestDatabase;
let env: Readonly<Record<string, string>>;
let password: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  env = {DATABASE_URL: database.url};
  password = new URL(database.url).password;
  expect(password).not.toBe('');
});
afterAll(() => database.drop());

describe('url', () => {
  test('prints the address without its password, and which setting has the password', async () => {
    const bare = new URL(database.url);
    bare.password = '';
    expect(await runCommand(['url'], env)).toEqual({
      code: 0,
      stdout: `${bare.href}\n`,
      stderr:
        'its password is left out: DATABASE_URL has it, and fieldmirror url --password prints it\n',
    });
    const url = 'postgres://db.example.com/warehouse?sslmode=require';
    const inParameter = {DATABASE_URL: `${url}&password=secret`};
    expect(await runCommand(['url', '--json'], inParameter)).toEqual({
      code: 0,
      stdout: `${JSON.stringify({url}, null, 2)}\n`,
      stderr: '',
    });
  });

  test('prints the whole address with --password', async () => {
    expect(await runCommand(['url', '--password'], env)).toEqual({
      code: 0,
      stdout: `${database.url}\n`,
      stderr: '',
    });
  });

  test('prints the port of an embedded Postgres that runs, and fails if it is stopped', {
    timeout: 120_000,
  }, async () => {
    const home = await mkdtemp(join(tmpdir(), 'fieldmirror-url-'));
    try {
      const own = {FIELDMIRROR_HOME: home};
      const refused = async (words: RegExp) =>
        expect(await runCommand(['url'], own)).toMatchObject({
          code: 3,
          stdout: '',
          stderr: expect.stringMatching(words),
        });
      await refused(/got none: nothing is mirrored yet; fieldmirror start/);
      const embedded = await openEmbeddedPostgres(home);
      const whole = await embedded.url('warehouse');
      expect(await runCommand(['url', '--password'], own)).toMatchObject({
        code: 0,
        stdout: `${whole}\n`,
      });
      const {port} = new URL(whole);
      expect(await runCommand(['url'], own)).toMatchObject({
        code: 0,
        stdout: `postgres://fieldmirror@127.0.0.1:${port}/warehouse\n`,
        stderr: expect.stringContaining(`${join(home, 'postgres.password')} has it`),
      });
      await embedded.leave();
      await refused(
        /but it rests: it runs for as long as fieldmirror start does; fieldmirror psql/,
      );
    } finally {
      await rm(home, {recursive: true, force: true});
    }
  });
});

describe('psql', () => {
  test('passes on arguments and exit code, without the password on the command line', async () => {
    const line = String.raw`\! tr '\0' ' ' < /proc/$PPID/cmdline`;
    const args = ['psql', '-X', '-At', '-c', 'SELECT count(*) FROM sync.accounts', '-c', line];
    const ended = await runCommand(args, env);
    expect(ended).toMatchObject({code: 0, stderr: ''});
    expect(ended.stdout).toMatch(/^0\n\S*psql -X -At -c /);
    expect(ended.stdout).not.toContain(password);
    expect(await runCommand(['psql', '-X', '-c', 'SELECT nothing'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('column "nothing" does not exist'),
    });
  });

  test('connects as the role that --as names, with the password of that role', async () => {
    const role = `erp_${randomBytes(4).toString('hex')}`;
    await makeRole(role, `LOGIN PASSWORD 'of-the-erp'`);
    try {
      const args = [
        'psql',
        '--as',
        role,
        '-X',
        '-At',
        '-w',
        '-c',
        'SELECT current_user, session_user',
      ];
      expect(await runCommand(args, {...env, PGPASSWORD: 'of-the-erp'})).toMatchObject({
        code: 0,
        stdout: `${role}|${role}\n`,
      });
      expect(await runCommand(args, env)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no password supplied'),
      });
    } finally {
      await dropRoles(role);
    }
  });

  test('prints what to install if psql is missing', async () => {
    expect(await runCommand(['psql'], {...env, PATH: '/nowhere'})).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^psql: expected it to be installed.*postgresql-client.*fieldmirror url/,
      ),
    });
  });

  test('accepts an address with encoded characters, an IPv6 host and TLS parameters', () => {
    const address =
      'postgres://an%40owner:p%2Fw@[::1]:6432/ware%20house?sslmode=verify-full&sslrootcert=/ca.pem';
    expect(toPsqlEnvironment(address)).toEqual({
      PGHOST: '::1',
      PGPORT: '6432',
      PGUSER: 'an@owner',
      PGPASSWORD: 'p/w',
      PGDATABASE: 'ware house',
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: '/ca.pem',
    });
  });

  test('gets TLS without a check of the certificate by its own word', () => {
    const address = 'postgres://owner@db.example.com/warehouse?sslmode=no-verify';
    expect(toPsqlEnvironment(address)).toMatchObject({PGSSLMODE: 'require'});
  });
});
