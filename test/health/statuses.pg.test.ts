// A service that refuses the request itself: `sync` and `start` say so, and end as a dependency
// that refuses us.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {type ScriptedService, scriptService} from '../support/scripted-service.ts';

let service: ScriptedService;
let database: TestDatabase;
let env: Record<string, string>;
/** What lists are refused with; the customers are what an account is greeted by. */
let refused = {status: 200, path: /./};

beforeAll(async () => {
  service = await scriptService(({url = ''}, response) => {
    if (refused.status === 200 || !refused.path.test(url)) return false;
    response.statusCode = refused.status;
    response.end('<errors><error>not today</error></errors>');
    return true;
  });
  database = await createDatabase();
  env = {
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: 'America/New_York',
    DATABASE_URL: database.url,
  };
  expect(await runCommand(['migrate'], env)).toMatchObject({code: 0});
});

afterAll(async () => {
  await service.close();
  await database.drop();
});

const told = (status: number) =>
  new RegExp(`got ${status} and not today; the request itself is refused: check`);

describe.each([
  ['an account that is new', /customers/],
  ['an account that is known', /jobs/],
])('sync and start of %s', (_, path) => {
  test.each([400, 405, 418, 422, 451])('exit with 3 if a request gets %i', async (status) => {
    refused = {status, path};
    for (const verb of [
      ['sync', 'jobs'],
      ['start', '--once', '--no-http'],
    ]) {
      const {code, stdout, stderr} = await runCommand(verb, env);
      const said = stdout + stderr;
      expect(code, said).toBe(3);
      expect(said).toMatch(told(status));
      expect(said).toMatch(/see: fieldmirror explain [EA]\d\d/);
      expect(said).not.toMatch(/bug in Fieldmirror|^ {4}at /m);
    }
    refused = {status: 200, path};
    if (path.source === 'customers') return;
    expect(await runCommand(['sync', 'jobs'], env)).toMatchObject({code: 0});
  });
});
