// A login of an employee is sent at once and once, read back, and found nowhere afterwards.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey, revokeApiKey} from '../../src/accounts/access.ts';
import {pauseAccount, resumeAccount, upsertAccount} from '../../src/accounts/accounts.ts';
import {timeZone} from '../support/world.ts';
import {findAnywhere, formsOf} from './search-everything.ts';
import {openSetLoginPlace, type SetLoginPlace} from './set-login-place.ts';

let place: SetLoginPlace;
let numbers: string[] = [];
let writer = '';
const next = (): string => numbers.pop() ?? '';
const canary = (end: string) => ` Kanari&<7/+${end} `;
const planted: string[] = [];
const plant = (end: string): string => {
  planted.push(canary(end));
  return canary(end);
};
const told: string[] = [];

beforeAll(async () => {
  place = await openSetLoginPlace();
  numbers = place.numbers.slice(2);
  writer = await place.key('erp', 'operator');
  const database = new URL(place.databaseUrl).pathname.slice(1);
  await place.pool.query(`ALTER DATABASE ${database} SET log_min_error_statement = 'error'`);
});
afterAll(() => place?.close());

async function put(number: string, body: unknown, key = writer) {
  const answer = await place.put(number, body, key);
  told.push(answer.text);
  return {...answer, body: JSON.parse(answer.text)};
}

describe('an invalid body', () => {
  const secret = plant('wrong');
  const bodies: readonly (readonly [string, unknown, readonly string[]])[] = [
    ['a password that is a number', {username: 'a', password: 4711_0815}, ['/password']],
    ['one in an array', {username: 'a', password: [secret]}, ['/password']],
    ['one in an object', {username: 'a', password: {[secret]: secret}}, ['/password']],
    ['one of two lines', {username: 'a', password: `${secret}\n`}, ['/password']],
    ['one in another field', {username: 'a', passwort: secret}, ['/password', '']],
    ['one as the name of a field', {username: 'a', [secret]: 1}, ['/password', '']],
    ['one as a user name of two lines', {username: `${secret}\n`, password: 'x'}, ['/username']],
    ['one that is too long', {username: 'a', password: secret.repeat(100)}, ['/password']],
    ['the password alone', JSON.stringify(secret), ['']],
    ['no object', [secret], ['']],
  ];
  test.each(bodies)('is rejected and not shown: %s', async (_what, body, at) => {
    const {status, body: problem, text} = await put(place.numbers[2] ?? '', body);
    expect(status).toBe(400);
    expect(problem.errors.map((each: {at: string}) => each.at).sort()).toEqual([...at].sort());
    expect(text).not.toMatch(/Kanari|4711|passwort|"got"/);
  });

  test('is rejected and not shown if it is not JSON', async () => {
    const {status, text} = await put(place.numbers[2] ?? '', `{"password": "${secret}`);
    expect(status).toBe(400);
    expect(text).not.toContain('Kanari');
  });

  test('sends nothing', () => expect(place.bodies).toEqual([]));
});

describe('a login can be set with', () => {
  test('an operator’s key of the account', async () => {
    const number = next();
    const password = plant('operator');
    const {status, body} = await put(number, {username: 'ada.l', password});
    expect({status, body}).toEqual({
      status: 200,
      body: {
        employee_number: number,
        username: 'ada.l',
        detail: `employee ${number} has the login`,
      },
    });
    expect(await place.opens(number, password)).toBe(true);
    expect(await place.row(number)).toEqual({
      username: 'ada.l',
      can_login: true,
      swept: true,
      _pending: null,
      _change_id: null,
    });
    expect((await place.audit()).at(-1)).toEqual({
      name: 'http: erp',
      role: 'operator',
      action: 'employees.login',
      subject: `employee ${number}`,
      before: {username: null, can_login: false},
      after: {username: 'ada.l', can_login: true},
    });
  });

  test('no key of another account', async () => {
    const other = {name: 'other', apiUrl: 'https://example.com/other', timeZone};
    const {accountId} = await upsertAccount(place.pool, other);
    const given = {name: 'strange', accountId, role: 'operator', masks: false} as const;
    const key = (await addApiKey(place.pool, given))?.reveal() ?? '';
    const body = {username: 'a', password: plant('strange')};
    const sent = place.bodies.length;
    expect(await put(place.numbers[2] ?? '', body, key)).toMatchObject({status: 404});
    expect(place.bodies.length).toBe(sent);
    await place.pool.query('DELETE FROM sync.api_keys WHERE account_id = $1', [accountId]);
    await place.pool.query('DELETE FROM sync.accounts WHERE account_id = $1', [accountId]);
  });

  test('no read-only key', async () => {
    const key = await place.key('looker', 'viewer');
    const answer = await put(next(), {username: 'a', password: plant('viewer')}, key);
    expect(answer).toMatchObject({status: 403, body: {docs: 'E22'}});
  });

  test('no key of all accounts', async () => {
    const key = await place.key('all', 'admin');
    const answer = await put(next(), {username: 'a', password: plant('admin')}, key);
    expect(answer).toMatchObject({status: 403, body: {docs: 'E22'}});
  });

  test('no revoked key, and not without any key', async () => {
    const key = await place.key('old', 'operator');
    await revokeApiKey(place.pool, 'old');
    for (const each of [key, ''])
      expect(await put(next(), {username: 'a', password: plant('revoked')}, each)).toMatchObject({
        status: 401,
      });
  });
});

test('a process that opens no accounts returns a hint to use fieldmirror start', async () => {
  const other = await openSetLoginPlace({opensAccounts: false});
  try {
    const key = await other.key('erp', 'operator');
    const answer = await other.put(other.numbers[2] ?? '', {username: 'a', password: 'x'}, key);
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({
      hint: expect.stringContaining('fieldmirror start'),
    });
    expect(other.bodies).toEqual([]);
  } finally {
    await other.close();
  }
});

test('an UPDATE or INSERT of a login is rejected with the command that sets it', async () => {
  const hint = expect.stringContaining('fieldmirror employees login ACCOUNT NUMBER --username');
  for (const statement of [
    `UPDATE warehouse.employees SET username = 'x' WHERE employee_number = ${place.numbers[2]}`,
    `UPDATE warehouse.employees SET can_login = NOT can_login`,
    `INSERT INTO warehouse.employees (name, can_login) VALUES ('x', true)`,
  ])
    await expect(place.pool.query(statement), statement).rejects.toMatchObject({
      message: expect.stringContaining('a login is set with its password'),
      hint,
    });
});

test('a second password of the same user name is sent and set', async () => {
  const number = next();
  expect(await place.set(number, plant('first'))).toMatchObject({outcome: 'set'});
  const second = plant('second');
  expect(await place.set(number, second)).toMatchObject({outcome: 'set'});
  expect(await place.opens(number, second)).toBe(true);
});

describe('nothing is sent for', () => {
  const count = () => place.bodies.length;
  const refusals: readonly (readonly [string, () => Parameters<SetLoginPlace['set']>, object])[] = [
    [
      'an unknown employee',
      () => ['99999', plant('unknown')],
      {outcome: 'not-found', message: 'expected the number of an employee, got 99999'},
    ],
    [
      'no user name',
      () => [place.numbers[2] ?? '', plant('nameless'), {username: ' '}],
      {outcome: 'refused', message: expect.stringContaining('username: expected')},
    ],
    [
      'the employee whose token is in use',
      () => [place.numbers[0] ?? '', plant('own')],
      {outcome: 'refused', hint: expect.stringContaining('--force')},
    ],
  ];
  test.each(refusals)('%s', async (_what, ask, result) => {
    const before = count();
    expect(await place.set(...ask())).toMatchObject(result);
    expect(count()).toBe(before);
  });

  test('an account that is paused', async () => {
    const {accountId} = place.account;
    await pauseAccount(place.pool, accountId, null);
    const before = count();
    const answer = await put(next(), {username: 'a', password: plant('paused')});
    await resumeAccount(place.pool, accountId);
    expect(answer).toMatchObject({status: 503, body: {detail: 'account test is paused'}});
    expect(count()).toBe(before);
  });

  test('any employee, while the owner of the token in use is unknown', async () => {
    const {rows} = await place.pool.query('SELECT employee_id AS id FROM sync.accounts');
    await place.pool.query('UPDATE sync.accounts SET employee_id = NULL');
    expect(await put(next(), {username: 'a', password: plant('whose')})).toMatchObject({
      status: 422,
      body: {hint: expect.stringContaining('fieldmirror employees login test')},
    });
    await place.pool.query('UPDATE sync.accounts SET employee_id = $1', [rows[0].id]);
  });
});

test('a refusal of the service is reported without the password that it repeats', async () => {
  const number = next();
  place.weather = 'echo';
  const {status, body} = await put(number, {username: 'echo', password: plant('echo')});
  place.weather = 'fair';
  expect({status, detail: body.detail}).toEqual({
    status: 422,
    detail: 'the service refused it: 422: Password " [secret] " of [secret]:[secret] is too good',
  });
  expect((await place.audit()).at(-1)).toMatchObject({after: {outcome: 'refused'}});
});

test('a busy service is reported with status 503 and E29', async () => {
  place.weather = 'busy';
  const answer = await put(next(), {username: 'busy', password: plant('busy')});
  place.weather = 'fair';
  expect(answer).toMatchObject({status: 503, body: {docs: 'E29'}});
});

describe('a lost answer', () => {
  test('is reported as set if the service shows the new user name', async () => {
    const number = next();
    const password = plant('lost');
    const sent = place.bodies.length;
    place.weather = 'lost';
    expect(await put(number, {username: 'lost.one', password})).toMatchObject({status: 200});
    place.weather = 'fair';
    expect(place.bodies.length).toBe(sent + 1);
    expect(await place.opens(number, password)).toBe(true);
    expect(await place.row(number)).toMatchObject({username: 'lost.one', can_login: true});
  });

  test('is unknown if the user name stayed the same, and nothing is sent again', async () => {
    const number = next();
    await place.set(number, plant('before'));
    const sent = place.bodies.length;
    place.weather = 'lost';
    const result = await place.set(number, plant('after'));
    place.weather = 'fair';
    expect(result).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('the user name was the same before'),
    });
    expect(place.bodies.length).toBe(sent + 1);
    expect((await place.audit()).at(-1)).toMatchObject({after: {outcome: 'unknown'}});
  });

  test.each(['swallowed', 'mumble'] as const)(
    'is unknown if the service shows no effect of it: %s',
    async (weather) => {
      const sent = place.bodies.length;
      place.weather = weather;
      const answer = await put(next(), {username: weather, password: plant(weather)});
      place.weather = 'fair';
      expect(answer).toMatchObject({
        status: 504,
        body: {
          type: 'urn:fieldmirror:problem:in-doubt',
          detail: expect.stringContaining('the service shows none of it so far'),
          hint: expect.stringContaining('Nothing is sent again automatically'),
        },
      });
      expect(place.bodies.length).toBe(sent + 1);
    },
  );
});

test('a forced login of the employee whose token is in use stops the account', async () => {
  const [own = ''] = place.numbers;
  const password = plant('own');
  const result = await place.set(own, password, {force: true});
  expect(result).toMatchObject({outcome: 'set', hint: expect.stringContaining('new token')});
  expect(await place.opens(own, password)).toBe(true);
  const {rows} = await place.pool.query('SELECT state FROM sync.accounts');
  expect(rows).toEqual([{state: 'stopped'}]);
});

test('no password or token appears in tables, logs or errors afterwards', async () => {
  const haystack = {pool: place.pool, redisUrl: null, lines: place.lines, told};
  const secrets = [...planted.flatMap((each) => [each, each.trim()]), place.service.token];
  expect(planted.length).toBeGreaterThan(15);
  expect(place.bodies.join('')).toContain('Kanari&amp;&lt;7/+operator');
  expect(place.lines.length).toBeGreaterThan(5);
  expect(await findAnywhere(haystack, [...secrets.flatMap(formsOf), 'Kanari'])).toEqual([]);
  // The search would see it.
  await place.pool.query(`UPDATE sync.audit SET after = to_jsonb('Kanari'::text)`);
  expect(await findAnywhere(haystack, ['Kanari'])).toEqual(['sync.audit']);
});
