// The verb that gives an employee a login, as a script calls it.

import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {text as readAll} from 'node:stream/consumers';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {isPassword} from '../../src/service/foundation.ts';
import {programLine, runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const role = `mirror_${randomBytes(4).toString('hex')}`;
let place: Place;
let env: Readonly<Record<string, string>>;
let warehouse: pg.Client;
let service: pg.Client;
let account = '';
/** Of employees whose tokens are not in use. */
let numbers: string[] = [];

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  expect(await runCommand(['sync', 'employees'], place.env)).toMatchObject({code: 0});
  warehouse = new pg.Client({connectionString: place.databaseUrl});
  service = new pg.Client({connectionString: place.service.databaseUrl});
  await Promise.all([warehouse.connect(), service.connect()]);
  const employees = await service.query<{id: string; number: string; isOwn: boolean}>(
    `SELECT id, employee_number AS number, token = $1 AS "isOwn" FROM service.employees
      WHERE active ORDER BY employee_number`,
    [place.service.token],
  );
  const own = employees.rows.find(({isOwn}) => isOwn);
  numbers = employees.rows.filter(({isOwn}) => !isOwn).map(({number}) => number);
  const {rows} = await warehouse.query('UPDATE sync.accounts SET employee_id = $1 RETURNING name', [
    own?.id,
  ]);
  account = rows[0].name;
  await makeRole(role, `LOGIN PASSWORD 'made-up'`);
  await warehouse.query(`GRANT fieldmirror_worker TO ${role}`);
  const url = Object.assign(new URL(place.databaseUrl), {username: role, password: 'made-up'});
  env = {...place.env, DATABASE_URL: url.href};
});

afterAll(async () => {
  await Promise.all([warehouse?.end(), service?.end()]);
  await dropRoles(role);
  await place?.close();
});

async function login(input: string, number: string, ...options: string[]) {
  const words = ['employees', 'login', account, number, '--username', 'ada.l', ...options];
  const [program = '', ...args] = programLine(...words);
  const child = spawn(program, args, {
    env: {...env, PATH: process.env.PATH, FIELDMIRROR_ENV_FILE: '/dev/null'},
  });
  child.stdin.on('error', () => {}).end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    readAll(child.stdout),
    readAll(child.stderr),
    once(child, 'close'),
  ]);
  return {code, stdout, stderr};
}

async function opens(number: string, password: string): Promise<boolean> {
  const text = 'SELECT password_hash AS hash FROM service.employees WHERE employee_number = $1';
  const {rows} = await service.query<{hash: string | null}>(text, [number]);
  return isPassword(password, rows[0]?.hash ?? '');
}

test('a worker sets a password from standard input, without its last newline', async () => {
  const [number = ''] = numbers;
  expect(await login('  Kanari 1 \n', number, '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/"outcome":\s*"set"/),
    stderr: '',
  });
  expect(await opens(number, '  Kanari 1 ')).toBe(true);
  const {rows} = await warehouse.query(
    `SELECT name, action, subject, after FROM sync.audit ORDER BY audit_id DESC LIMIT 1`,
  );
  expect(rows).toEqual([
    {
      name: `command:${role}`,
      action: 'employees.login',
      subject: `employee ${number}`,
      after: {username: 'ada.l', can_login: true},
    },
  ]);
  const row = await warehouse.query(
    'SELECT username, can_login FROM warehouse.employees WHERE employee_number = $1',
    [number],
  );
  expect(row.rows).toEqual([{username: 'ada.l', can_login: true}]);
});

describe('employees login rejects, without showing the password,', () => {
  const cases: readonly (readonly [string, () => ReturnType<typeof login>, number, RegExp])[] = [
    ['no password', () => login('', numbers[1] ?? ''), 2, /expected the password on standard/],
    ['two lines', () => login('Kanari\n\n', numbers[1] ?? ''), 1, /password: expected 1 to/],
    ['an unknown employee', () => login('Kanari', '99999'), 2, /number of an employee, got 99999/],
    ['a user name that is taken', () => login('Kanari', numbers[1] ?? ''), 1, /already been taken/],
    ['no number', () => login('Kanari', 'x'), 2, /expected a number/],
  ];
  test.each(cases)('%s', async (_what, run, code, words) => {
    const ended = await run();
    expect(ended.code).toBe(code);
    expect(ended.stdout + ended.stderr).toMatch(words);
    expect(ended.stdout + ended.stderr).not.toContain('Kanari');
  });
});

test.each([
  ['start', 200],
  ['http', 503],
] as const)(
  'the HTTP server of %s answers a request to set a login with %i',
  async (verb, status) => {
    const number = numbers[2] ?? '';
    const password = `Kanari of ${verb}`;
    const added = await runCommand(['keys', 'add', verb, '--json'], env);
    const {key} = JSON.parse(added.stdout);
    const owner = {...place.env, FIELDMIRROR_LOG_LEVEL: 'debug'};
    const running = startCommand([verb, '--port', '0'], owner);
    try {
      const address = await running.prints(/http:\/\/127\.0\.0\.1:(?!0)\d+ ?(?=\(|,)/);
      const answer = await fetch(`${address.trim()}/v1/employees/${number}/login`, {
        method: 'PUT',
        headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
        body: JSON.stringify({username: 'bob.m', password}),
      });
      expect(answer.status, await answer.text()).toBe(status);
      expect(await opens(number, password)).toBe(status === 200);
    } finally {
      running.process.kill('SIGINT');
      const {stdout, stderr} = await running.ended;
      expect(stdout + stderr).not.toContain('Kanari');
    }
  },
);
