// The reference service as a command that an integrator starts to try a client against.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

/** Starts the command, requests some paths below its address, and stops it. */
async function ask(args: readonly string[], paths: readonly string[]) {
  const always = [
    'service',
    '--json',
    '--port',
    '0',
    '--customers',
    '3',
    '--database',
    database.url,
  ];
  const running = startCommand([...always, ...args], {});
  try {
    const {url, token} = JSON.parse(await running.prints(/\{.*\}/s));
    const authorization = `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`;
    const answers = await Promise.all(
      paths.map(async (path) => {
        const answer = await fetch(new URL(path, url), {headers: {authorization}});
        return {status: answer.status, text: await answer.text()};
      }),
    );
    return {url: String(url), answers};
  } finally {
    running.process.kill('SIGTERM');
    await running.ended;
  }
}

test.each(['/acme', '/acme/'])('--base %s serves every path below that base', async (base) => {
  const {url, answers} = await ask(['--base', base], ['/acme/jobs.xml', '/jobs.xml']);
  expect(new URL(url).pathname).toBe('/acme');
  expect(answers.map(({status}) => status)).toEqual([200, 404]);
});

test('with --plain-shows, include embeds records in lists but not in single records', async () => {
  const query = '?include=customer,notes';
  const {answers} = await ask(['--plain-shows'], [`/jobs.xml${query}`, `/jobs/1.xml${query}`]);
  expect(answers.map(({status}) => status)).toEqual([200, 200]);
  expect(answers.map(({text}) => text.includes('<customer-number'))).toEqual([true, false]);
});

describe('a base path that no client could use', () => {
  test.each(['acme', '/a b', '//', '/:account', '/*', '/acme?x=1'])(
    '--base %s is rejected',
    async (base) => {
      expect(await runCommand(['service', '--base', base], {})).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('expected a path such as /acme'),
      });
    },
  );
});

test('the printed instructions show how to keep its account separate', async () => {
  const always = ['service', '--port', '0', '--customers', '3', '--database', database.url];
  const running = startCommand(always, {});
  const told = await running.prints(/To mirror it[\s\S]*Ctrl-C stops/);
  running.process.kill('SIGTERM');
  await running.ended;
  expect(told).toMatch(
    /\(account demo\),\nboth would be in it\. [\s\S]*DATABASE_URL:\n\n {2}export FIELDMIRROR_HOME=/,
  );
});

test('the service fails if its database has another business than the requested one', async () => {
  await ask([], ['/jobs.xml']);
  const always = ['service', '--port', '0', '--database', database.url];
  const running = startCommand([...always, '--seed', '9', '--customers', '4'], {});
  // If it served a business after all, it would serve until it is stopped.
  running.prints(/answers at/).then(
    () => running.process.kill('SIGTERM'),
    () => {},
  );
  const ended = await running.ended;
  expect(ended).toMatchObject({code: 2, stdout: ''});
  expect(ended.stderr).toMatch(/--seed: expected 1, as of the business that is held here, got 9/);
  expect(ended.stderr).toMatch(/--customers: expected 3, .* got 4\n.*FIELDMIRROR_HOME/);
  const {answers} = await ask(['--seed', '1'], ['/jobs.xml']);
  expect(answers.map(({status}) => status)).toEqual([200]);
});

test('--faults makes requests fail as given, and an unknown fault is rejected', async () => {
  const {answers} = await ask(['--faults', 'unavailable=1'], ['/jobs.xml']);
  expect(answers.map(({status}) => status)).toEqual([503]);
  expect(await runCommand(['service', '--faults', 'lots=1'], {})).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('got lots=1 (did you mean lost?)'),
  });
});
