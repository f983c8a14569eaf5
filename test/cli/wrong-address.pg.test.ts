// The address of an account that is wrong from the beginning: each verb that asks it first ends at
// once, with exit code 3 and what to check, and notes no account.

import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {type LocalServer, listenLocally} from '../support/local-server.ts';
import {openPlace, type Place} from '../support/place.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

let place: Place;
let server: LocalServer;
let asked = 0;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  server = await listenLocally((request, response) => {
    asked++;
    if (request.url?.startsWith('/xml') === true)
      response.writeHead(200, {'content-type': 'application/xml'}).end('<feed><entry/></feed>');
    else
      response
        .writeHead(200, {'content-type': 'text/html'})
        .end('<!DOCTYPE html><html>Sign in</html>');
  });
});
afterAll(async () => {
  await place.close();
  await server.close();
});

const wrong: readonly [string, () => string, RegExp][] = [
  ['a web page', () => server.url, /a web page is in the place of the API; check the base address/],
  [
    'another XML',
    () => `${server.url}/xml`,
    /expected a whole <customers> list, got an element <feed> .*check the base address/,
  ],
  [
    'an unknown host',
    () => 'https://no-such-host.invalid',
    /host name unknown .*check that the address is spelled right/,
  ],
  [
    'https for http',
    () => server.url.replace('http:', 'https:'),
    /TLS failed .*check the port, and whether https is right/,
  ],
];

describe.each(wrong)('a wrong account address: %s', (_name, url, says) => {
  test.each([[['sync']], [['start', '--once']], [['push']]])(
    'makes %j exit with 3 and adds no account',
    async (args) => {
      asked = 0;
      const ended = await runCommand(args, {...place.env, FIELDMIRROR_API_URL: url()});
      expect(ended).toMatchObject({code: 3, stderr: expect.stringMatching(says)});
      expect(ended.stderr).not.toContain('try again later');
      expect(asked).toBeLessThanOrEqual(1);
      const client = new pg.Client(place.databaseUrl);
      await client.connect();
      expect((await client.query('SELECT FROM sync.accounts')).rowCount).toBe(0);
      await client.end();
    },
  );

  test('makes init exit with 3 and write nothing', async () => {
    const home = await mkdtemp(join(temporaryFolder(), 'fieldmirror-init-'));
    const ended = await runCommand(['init', '--url', url(), '--time-zone', 'America/New_York'], {
      FIELDMIRROR_API_TOKEN: 'a-token-of-nobody',
      FIELDMIRROR_ENV_FILE: `${home}/.env`,
      FIELDMIRROR_HOME: home,
      DATABASE_URL: place.databaseUrl,
    });
    expect(ended).toMatchObject({code: 3, stderr: expect.stringMatching(says)});
    expect(await readdir(home)).toEqual([]);
    await rm(home, {recursive: true});
  });

  test('is reported by doctor', async () => {
    const {code, stdout} = await runCommand(['doctor', '--json'], {
      ...place.env,
      FIELDMIRROR_API_URL: url(),
    });
    expect(code).toBe(3);
    const found = JSON.parse(stdout).findings.find(({what}: {what: string}) => what === 'API');
    expect(found).toMatchObject({state: 'bad', found: expect.stringMatching(says)});
  });
});
