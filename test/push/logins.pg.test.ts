// The password of an employee: sealed at once, sent once, wiped with the answer.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {learnEmployee, resumeAccount} from '../../src/accounts/accounts.ts';
import {dropExpiredLogins} from '../../src/accounts/seals.ts';
import {type LoginPlace, openLoginPlace} from './login-place.ts';

let place: LoginPlace;
/** Numbers of employees; the first one's token is in use. */
let numbers: string[] = [];
const password = 'päss & <wörd> "1"';
const due = (changeId: string | null) =>
  place.pool.query('UPDATE sync.changes SET due_at = now() WHERE change_id = $1', [changeId]);
const expire = (changeId: string | null) =>
  place.pool.query('UPDATE sync.employee_logins SET expires_at = now() WHERE change_id = $1', [
    changeId,
  ]);
const next = (): string => numbers.pop() ?? '';

beforeAll(async () => {
  place = await openLoginPlace(11);
  numbers = [...place.numbers];
});
afterAll(() => place.close());

test('a login reaches the service, and nothing of the password is left here', async () => {
  const number = next();
  const {change_id: id, refused} = await place.set(number, 'ada.l', password);
  expect(refused).toBeNull();
  expect(await place.change(id)).toMatchObject({
    state: 'pending',
    fields: {can_login: 'true', username: 'ada.l', password: '(sealed)'},
    isKept: true,
  });
  const row =
    'SELECT username, can_login, _pending FROM warehouse.employees WHERE employee_number = $1';
  expect((await place.pool.query(row, [number])).rows).toEqual([
    {username: 'ada.l', can_login: true, _pending: true},
  ]);
  expect(await place.push()).toMatchObject({done: 1});
  expect(place.bodies.pop()).toContain('<password>päss &amp; &lt;wörd&gt; ');
  expect(await place.opens(number, password)).toBe(true);
  expect(await place.change(id)).toMatchObject({state: 'done', isKept: false});
  expect((await place.pool.query(row, [number])).rows).toEqual([
    {username: 'ada.l', can_login: true, _pending: null},
  ]);
  const attempts = await place.pool.query(
    'SELECT request FROM sync.attempts WHERE change_id = $1',
    [id],
  );
  expect(attempts.rows[0].request).toContain('<password>(set)</password>');
});

test('a new password of somebody who may log in already goes with can_login and username, as the specification has it', async () => {
  const number = next();
  await place.set(number, 'grace.h', 'first-one');
  await place.push();
  const {change_id: id} = await place.set(number, 'grace.h', 'second-one');
  expect(await place.push()).toMatchObject({done: 1});
  const body = place.bodies.pop() ?? '';
  for (const element of ['can_login>true<', 'username>grace.h<', 'password>second-one<'])
    expect(body).toContain(`<${element}`);
  expect(await place.opens(number, 'second-one')).toBe(true);
  // No field of it is reported as left out, nor as altered.
  const {rows} = await place.pool.query('SELECT result FROM sync.changes WHERE change_id = $1', [
    id,
  ]);
  expect(rows).toEqual([{result: null}]);
});

describe('is refused, and raises nothing, for', () => {
  const cases: [string, () => Parameters<LoginPlace['set']>, RegExp][] = [
    [
      'an unknown employee',
      () => ['99999', 'a', 'secret'],
      /expected the number of an employee, got 99999/,
    ],
    ['no username', () => [numbers[1] ?? '', ' ', 'secret'], /expected a username/],
    ['no password', () => [numbers[1] ?? '', 'a', ''], /expected a password/],
    [
      'a password of two lines',
      () => [numbers[1] ?? '', 'a', 'se\ncret'],
      /without control characters/,
    ],
    [
      'the employee whose token is in use',
      () => [numbers[0] ?? '', 'a', 'secret'],
      /whose token is in use/,
    ],
  ];
  test.each(cases)('%s', async (_what, ask, words) => {
    const before = await place.pool.query('SELECT count(*) FROM sync.changes');
    expect(await place.set(...ask())).toEqual({
      change_id: null,
      refused: expect.stringMatching(words),
    });
    expect((await place.pool.query('SELECT count(*) FROM sync.changes')).rows).toEqual(before.rows);
  });

  test('an account of which nobody knows whose token is in use', async () => {
    const {rows} = await place.pool.query('SELECT employee_id FROM sync.accounts');
    await place.pool.query('UPDATE sync.accounts SET employee_id = NULL');
    const number = next();
    expect(await place.set(number, 'who', 'secret')).toMatchObject({change_id: null});
    const forced = await place.set(number, 'who', 'secret', true);
    expect(forced.refused).toBeNull();
    await learnEmployee(place.pool, place.account.accountId, rows[0].employee_id);
    await place.pool.query('SELECT sync.cancel_change($1)', [forced.change_id]);
    expect(await place.change(forced.change_id)).toMatchObject({state: 'cancelled', isKept: false});
  });

  test('a mode that does not exist, whose error Postgres would log with the password', async () => {
    const client = await place.pool.connect();
    await client.query(`SET fieldmirror.mode = 'nonsense'`);
    const {rows} = await client.query(
      `SELECT refused FROM sync.set_employee_login(${numbers[1]}, 'a', 'b')`,
    );
    client.release(true);
    expect(rows[0].refused).toMatch(/nothing was changed: fieldmirror.mode: expected hold/);
  });
});

test('a plain UPDATE or INSERT of a login is refused, and says what to do instead', async () => {
  const hint = expect.stringContaining(
    'sync.set_employee_login(employee_number, username, password)',
  );
  const update = `UPDATE warehouse.employees SET username = 'x'
    WHERE employee_number = ${numbers[1]}`;
  await expect(place.pool.query(update)).rejects.toMatchObject({hint});
  const insert = `INSERT INTO warehouse.employees (name, can_login) VALUES ('x', true)`;
  await expect(place.pool.query(insert)).rejects.toMatchObject({hint});
});

test('an author may set a login and see nothing of how it is kept; a reader may not', async () => {
  const client = await place.pool.connect();
  const as = async (role: string, text: string) => {
    await client.query('BEGIN');
    try {
      await client.query(`SET LOCAL ROLE ${role}`);
      return (await client.query(text)).rows[0];
    } finally {
      await client.query('ROLLBACK');
    }
  };
  const set = `SELECT change_id IS NOT NULL AS "isSet", refused
    FROM sync.set_employee_login(${numbers[1]}, 'zoe', 'secret')`;
  expect(await as('fieldmirror_author', set)).toEqual({isSet: true, refused: null});
  expect(await as('fieldmirror_worker', set)).toEqual({isSet: true, refused: null});
  await expect(as('fieldmirror_reader', set)).rejects.toThrow(/permission denied/);
  for (const table of ['employee_logins', 'login_keys'])
    await expect(as('fieldmirror_author', `SELECT * FROM sync.${table}`)).rejects.toThrow(
      /permission denied/,
    );
  client.release();
});

test('a service that is busy gets it later, and keeps nobody from opening it again', async () => {
  const number = next();
  const {change_id: id} = await place.set(number, 'grace', password);
  place.weather = 'busy';
  await place.push();
  expect(await place.change(id)).toMatchObject({state: 'pending', failures: 1, isKept: true});
  place.weather = 'fair';
  await due(id);
  await place.push();
  expect(await place.change(id)).toMatchObject({state: 'done', isKept: false});
  expect(await place.opens(number, password)).toBe(true);
});

test('a refusal that repeats the password or the token is kept without them, and the row is as before', async () => {
  const number = next();
  const {change_id: id} = await place.set(number, 'echo', password);
  place.weather = 'echo';
  expect(await place.push()).toMatchObject({rejected: 1});
  place.weather = 'fair';
  const reason = '422: Password "[secret]" of [secret]:[secret] is too good';
  expect(await place.change(id)).toMatchObject({state: 'rejected', reason, isKept: false});
  const {rows} = await place.pool.query(
    `SELECT username IS DISTINCT FROM 'echo' AS "isRestored", _pending FROM warehouse.employees
     WHERE employee_number = $1`,
    [number],
  );
  expect(rows).toEqual([{isRestored: true, _pending: null}]);
});

test('one in doubt goes to a person, and is never sent again', async () => {
  const number = next();
  const {change_id: id} = await place.set(number, 'lost', password);
  place.weather = 'lost';
  await place.push();
  place.weather = 'fair';
  expect(await place.change(id)).toMatchObject({state: 'in_doubt', isKept: false});
  const sent = place.bodies.length;
  await due(id);
  expect(await place.push()).toMatchObject({conflict: 1});
  expect(await place.change(id)).toMatchObject({
    state: 'conflict',
    reason: expect.stringContaining('set it again'),
  });
  await place.pool.query(`SELECT sync.resolve_change($1, 'service')`, [id]);
  await place.push();
  expect(place.bodies.length).toBe(sent);
  expect(await place.change(id)).toMatchObject({state: 'cancelled'});
});

test('after 15 minutes it is dropped, whoever looks first, and the change says so', async () => {
  const reason = 'the password was dropped after 15 minutes: set it again';
  const rejected = {state: 'rejected', reason, isKept: false};
  const [one, other] = [
    await place.set(next(), 'late1', password),
    await place.set(next(), 'late2', password),
  ];
  const {rows} = await place.pool.query(
    `SELECT expires_at - now() BETWEEN '14 min' AND '15 min' AS "isSoon" FROM sync.employee_logins`,
  );
  expect(rows).toEqual([{isSoon: true}, {isSoon: true}]);
  expect(await dropExpiredLogins(place.pool)).toBe(0);
  await expire(one.change_id);
  expect(await dropExpiredLogins(place.pool)).toBe(1);
  expect(await place.change(one.change_id)).toMatchObject(rejected);
  await expire(other.change_id);
  const sent = place.bodies.length;
  await place.push();
  expect(place.bodies.length).toBe(sent);
  expect(await place.change(other.change_id)).toMatchObject(rejected);
  await place.pool.query('SELECT sync.retry_change($1)', [one.change_id]);
  expect(await place.push()).toMatchObject({rejected: 1});
});

test('a password set twice is sent once, the second', async () => {
  const number = next();
  const one = await place.set(number, 'twice', 'first one');
  const other = await place.set(number, 'twice', 'second one');
  expect(other).toEqual(one);
  const sent = place.bodies.length;
  await place.push();
  expect(place.bodies.length).toBe(sent + 1);
  expect(await place.opens(number, 'second one')).toBe(true);
});

test('forced for the employee whose token is in use, the account stops until the new token is given', async () => {
  const [own = ''] = numbers;
  const {change_id: id, refused} = await place.set(own, 'owner', password, true);
  expect(refused).toBeNull();
  await place.push();
  expect(await place.opens(own, password)).toBe(true);
  const account = await place.pool.query('SELECT state, state_reason FROM sync.accounts');
  expect(account.rows).toEqual([
    {
      state: 'stopped',
      state_reason: expect.stringMatching(/give the new token \(fieldmirror accounts add/),
    },
  ]);
  expect(await place.change(id)).toMatchObject({state: 'in_doubt', isKept: false});
  expect(place.lines.filter((line) => line.includes('401'))).toEqual([]);
  const api = await place.openWith(own);
  await resumeAccount(place.pool, place.account.accountId);
  await due(id);
  const sent = place.bodies.length;
  expect(await place.push({openAccount: async () => api})).toMatchObject({done: 1});
  expect(place.bodies.length).toBe(sent);
});
