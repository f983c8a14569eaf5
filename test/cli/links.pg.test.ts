// The verbs `links`, as a person types them, with two accounts and two systems.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {openPlace, type Place} from '../http/place.ts';
import {runCommand} from '../support/command.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

const run = (line: string, account = 'acme') =>
  runCommand(['links', ...line.split(' '), '--account', account], {
    DATABASE_URL: place.databaseUrl,
  });
const list = async (line: string, account?: string) => {
  const {stdout, stderr} = await run(`list ${line} --json`, account);
  expect(stderr).toBe('');
  return JSON.parse(stdout).links;
};

test('links set, list and remove keys of a system in an account', async () => {
  const set = await run('set customers 1 P-17 --system tryton');
  expect(set).toMatchObject({
    code: 0,
    stdout: 'customers 1 now has key P-17 in system tryton\n',
  });
  expect((await run('set customers 1 P-17 --system tryton')).stdout).toContain('already has key');
  expect(await run('set customers 1 C-88')).toMatchObject({code: 0});
  expect(await run('set customers 1 Z-1 --system tryton', 'other')).toMatchObject({code: 0});

  expect(await list('customers --system tryton')).toMatchObject([
    {number: '1', key: 'P-17', linkedBy: expect.any(String)},
  ]);
  expect(await list('customers')).toMatchObject([{number: '1', key: 'C-88', since: null}]);
  expect(await list('customers --system tryton', 'other')).toMatchObject([{key: 'Z-1'}]);
  expect(await list('customers --system tryton --key Z-1')).toEqual([]);
  expect(await list('jobs --system tryton')).toEqual([]);
  expect((await run('list customers --system tryton')).stdout).toMatch(/1 +│ P-17 +│/);

  const taken = await run('set customers 2 P-17 --system tryton');
  expect(taken.code).toBe(2);
  expect(taken.stderr).toMatch(
    /^links set: key: expected .* in system tryton, got that of row \d+; fieldmirror links remove/,
  );
  for (const system of ['', ' --system tryton'])
    expect(await run(`remove customers 1${system}`)).toMatchObject({code: 0});
  expect((await run('remove customers 1')).stdout).toContain('already has no key');
  expect(await list('customers --system tryton')).toEqual([]);
  expect(await list('customers --system tryton', 'other')).toHaveLength(1);
});

test.each([
  ['list customer', 'no table "customer" with a number (did you mean customers?)'],
  ['list job_employees', 'no table "job_employees" with a number'],
  ['set customers 99 K-1', 'account acme has no record 99 of customers'],
  ['set customers ada K-1', 'number'],
  ['set customers 1 K-1 --system a/b', 'links set: --system: expected a name'],
  [`set customers 1 ${'x'.repeat(201)}`, 'key: expected 1 to 200 characters, got 201'],
])('links %s fails with an error that names the problem', async (line, told) => {
  const {code, stderr} = await run(line);
  expect(code).toBe(2);
  expect(stderr).toContain(told);
});
