// Mistakes that would pass without a word: each verb that could act on one names it, and changes
// nothing.

import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';
import {openService} from '../support/world.ts';
import {typeInto} from './warehouse-place.ts';

let place: Place;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
});

afterAll(() => place.close());

async function countAccounts(): Promise<number | null> {
  const client = new pg.Client(place.databaseUrl);
  await client.connect();
  const {rowCount} = await client.query('SELECT FROM sync.accounts');
  await client.end();
  return rowCount;
}

const key = Buffer.alloc(32, 7).toString('base64');
const zone = inSequence(
  /expected the account's own zone \(did you mean America\/New_York\?\), /,
  /got America\/Denver, .* the service writes/,
);

describe("a time zone that is not the account's", () => {
  test.each([[['start', '--once']], [['sync']], [['push']]])('is rejected by %j', async (args) => {
    const ended = await runCommand(args, {...place.env, FIELDMIRROR_TIME_ZONE: 'America/Denver'});
    expect(ended).toMatchObject({code: 2, stderr: expect.stringMatching(zone)});
    expect(ended.stderr).toMatch(/^config: FIELDMIRROR_TIME_ZONE: /);
    expect(await countAccounts()).toBe(0);
  });

  test('is rejected by accounts add, and found by doctor and accounts check', async () => {
    const env = {...place.env, FIELDMIRROR_KEY: key, FIELDMIRROR_TIME_ZONE: 'America/Denver'};
    const add = ['accounts', 'add', 'north', '--url', place.service.url, '--time-zone'];
    const added = await runCommand([...add, 'America/Denver'], env);
    expect(added).toMatchObject({code: 2, stderr: expect.stringMatching(zone)});
    expect(added.stderr).toMatch(/^accounts add: --time-zone: /);
    expect(await countAccounts()).toBe(0);
    const {stdout} = await runCommand(['doctor'], env);
    const findings = stdout.slice(stdout.indexOf('\ngood '));
    for (const line of findings.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
    expect(findings.replaceAll(/\n {9}/g, ' ')).toMatch(
      new RegExp(`bad +time zone: FIELDMIRROR_TIME_ZONE: ${zone.source}`),
    );
    await runCommand([...add, 'America/New_York'], env);
    const client = new pg.Client(place.databaseUrl);
    await client.connect();
    await client.query(`UPDATE sync.accounts SET time_zone = 'America/Denver'`);
    await client.end();
    const checked = await runCommand(['accounts', 'check'], env);
    expect(checked).toMatchObject({code: 3, stdout: expect.stringMatching(zone)});
    expect(checked.stdout).toContain('fieldmirror accounts add north --time-zone ZONE');
  });
});

describe('an incomplete account in the environment', () => {
  test.each([[['start']], [['status']], [['sync']], [['push']], [['doctor']], [['service']]])(
    'an address without a token is rejected by %j',
    async (args) => {
      const {FIELDMIRROR_API_TOKEN: _, ...env} = place.env;
      const ended = await runCommand(args, env);
      expect(ended).toMatchObject({code: 2, stdout: ''});
      expect(ended.stderr).toMatch(/^config: FIELDMIRROR_API_TOKEN: expected .* needs all three/);
    },
  );
});

test('an unknown setting is rejected, and the error names the nearest one', async () => {
  const ended = await runCommand(['status'], {...place.env, FIELDMIRROR_APIURL: place.service.url});
  expect(ended).toMatchObject({code: 2, stdout: ''});
  expect(ended.stderr).toMatch(
    /FIELDMIRROR_APIURL: there is no such setting \(did you mean FIELDMIRROR_API_URL\?\)/,
  );
});

test('sync without --account prints its account if there are several', async () => {
  const env = {...place.env, FIELDMIRROR_KEY: key};
  expect((await runCommand(['sync', 'employees'], env)).stderr).not.toContain('--account');
  const south = await openService({basePath: '/south'});
  try {
    const added = await typeInto(
      ['accounts', 'add', 'south', '--url', south.url, '--time-zone', 'America/New_York'],
      south.token,
      env,
    );
    expect(added, added.stderr).toMatchObject({code: 0});
    const {stderr} = await runCommand(['sync', 'employees'], env);
    expect(stderr).toMatch(/^of account \S+; --account NAME sweeps another one$/m);
    expect(
      (await runCommand(['sync', 'employees', '--account', 'south'], env)).stderr,
    ).not.toContain('--account');
  } finally {
    await south.close();
  }
});
