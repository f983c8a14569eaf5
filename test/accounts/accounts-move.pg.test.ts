// An account gets a new address: at the same business, which is then a proxy before the first
// address, and not at another one.

import {randomBytes} from 'node:crypto';
import type {ServerResponse} from 'node:http';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {seedBusiness} from '../../src/service/business.ts';
import {startService} from '../../src/service/server.ts';
import {type Ended, main, startProgram} from '../support/command.ts';
import {createDatabase} from '../support/postgres.ts';
import {type CameIn, openProxy} from '../support/proxy.ts';
import {SetUp} from '../support/set-up.ts';
import {withClient} from '../support/with-client.ts';
import {openService, type TestService, timeZone} from '../support/world.ts';

const setUp = new SetUp();
let service: TestService;
/** The address of the same business by another way, and what was asked there. */
let moved: string;
const asked: string[] = [];
/** Requests that the other way answers as if a record of another kind were unknown. */
let confused = /^$/;
/** A business that looks alike: numbers from 1 on, in the same zone. */
let other: {readonly url: string; readonly token: string};
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await setUp.step('starting the service', openService, (opened) => opened.close());
  const receive = ({method, path}: CameIn, response: ServerResponse) => {
    asked.push(`${method} ${path}`);
    if (!confused.test(`${method} ${path}`)) return false;
    response.writeHead(400, {'content-type': 'application/xml'});
    response.end('<errors><error>Invalid employee.</error></errors>');
    return true;
  };
  const open = () => openProxy(service.url, {receive});
  const proxy = await setUp.step('opening the proxy', open, (opened) => opened.close());
  moved = proxy.url;
  const business = await setUp.step('making a database', createDatabase, (made) => made.drop());
  const today = '2026-11-02';
  await seedBusiness(business.url, {seed: 8, customers: 20, jobs: 40, timeZone, today});
  const start = () =>
    startService({databaseUrl: business.url, port: 0, timeZone, dialect: 'observed'});
  other = await setUp.step('starting the other service', start, (opened) => opened.close());
  const create = () => createDatabase(inject('warehouseTemplate'));
  const warehouse = await setUp.step('making the warehouse', create, (made) => made.drop());
  env = {DATABASE_URL: warehouse.url, FIELDMIRROR_KEY: randomBytes(32).toString('base64')};
}, 240_000);
afterAll(() => setUp.end());

/** Runs a verb with a line on its standard input, or with none. */
async function run(
  args: readonly string[],
  more: Record<string, string> = {},
  line = '',
): Promise<Ended> {
  const input = line === '' ? ':' : `printf '%s\\n' "$LINE"`;
  const command = `${input} | exec "$NODE" "$MAIN" ${args.join(' ')}`;
  const given = {...env, ...more, LINE: line, NODE: process.execPath, MAIN: main};
  return await startProgram(['sh', '-c', command], given).ended;
}

const moveTo = (url: string, more: Record<string, string> = {}, line = '') =>
  run(['accounts', 'move', 'north', '--url', url], more, line);
const query = async (text: string) =>
  await withClient(env.DATABASE_URL ?? '', async (client) => (await client.query(text)).rows);
const addressOf = async () => (await query('SELECT api_url FROM sync.accounts'))[0]?.api_url;

test('accounts move rejects an active account, an account without rows, and its current address', {
  timeout: 120_000,
}, async () => {
  const token = {FIELDMIRROR_API_TOKEN: service.token};
  const added = ['accounts', 'add', 'north', '--url', service.url, '--time-zone', timeZone];
  expect(await run(added, token)).toMatchObject({code: 0});
  expect(await moveTo(moved)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /expected it to rest, but it is active; fieldmirror accounts pause north/,
    ),
  });
  expect(await run(['accounts', 'pause', 'north'])).toMatchObject({code: 0});
  expect(await moveTo(moved)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no row is here to be compared/),
  });
  expect(await moveTo(`${service.url}/`)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/expected a new address, got/),
  });
  expect(await run(['accounts', 'resume', 'north'])).toMatchObject({code: 0});
  expect(await run(['sync', '--account', 'north'])).toMatchObject({code: 0});
  expect(await run(['accounts', 'pause', 'north'])).toMatchObject({code: 0});
  expect(await addressOf()).toBe(service.url);
});

test('move rejects another business by its records, and keeps no rejected token', async () => {
  const before = await query('SELECT * FROM sync.accounts');
  const refused = await moveTo(other.url, {FIELDMIRROR_API_TOKEN: other.token});
  expect(refused, refused.stderr).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /expected the business of north, but its records are not those of the warehouse/,
    ),
  });
  expect(refused.stderr).toMatch(/customers \d+: expected id \d+, created .+, got id \d+, created/);
  expect(refused.stderr).toMatch(/│ customers +│ 0 /);
  expect(await moveTo(moved, {FIELDMIRROR_API_TOKEN: 'f'.repeat(40)})).toMatchObject({code: 3});
  expect(await query('SELECT * FROM sync.accounts')).toEqual(before);
  expect(await query('SELECT * FROM sync.audit')).toEqual([]);
});

test('move stores nothing if the service reports another kind of record as unknown', async () => {
  const [sampled] = await query(
    `SELECT job_number FROM warehouse.jobs WHERE _deleted_at IS NULL
      ORDER BY md5(job_number::text) LIMIT 1`,
  );
  confused = new RegExp(`^GET /jobs/${sampled?.job_number}\\.xml`);
  const unclear = await moveTo(moved);
  confused = /^$/;
  expect(unclear, unclear.stderr).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/400 "Invalid employee\." is not about a job/),
  });
  expect(await addressOf()).toBe(service.url);
});

test('a move with pending changes needs confirmation; push then sends them to the new address', {
  timeout: 120_000,
}, async () => {
  await query(
    `UPDATE warehouse.customers SET fax = '555-0100'
      WHERE customer_number = (SELECT min(customer_number) FROM warehouse.customers
      WHERE _deleted_at IS NULL)`,
  );
  expect(await moveTo(moved, {}, 'south')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/expected north to be typed back to send 1 change on its way/),
  });
  expect(await addressOf()).toBe(service.url);
  const done = await moveTo(moved, {}, 'north');
  expect(done, done.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/account north is at/),
  });
  expect(await addressOf()).toBe(moved);
  expect(await query('SELECT action, subject, before, after FROM sync.audit')).toEqual([
    {
      action: 'accounts.move',
      subject: 'account north',
      before: {apiUrl: service.url},
      after: {apiUrl: moved, equal: {customers: 12, jobs: 12, employees: expect.any(Number)}},
    },
  ]);
  expect(await run(['accounts', 'resume', 'north'])).toMatchObject({code: 0});
  asked.length = 0;
  expect(await run(['push', '--account', 'north'])).toMatchObject({code: 0});
  expect(asked).toContainEqual(expect.stringMatching(/^PUT \/customers\//));
  expect(await query('SELECT state FROM sync.changes')).toEqual([{state: 'done'}]);
  const swept = await run(['sync', 'customers', '--account', 'north']);
  expect(swept, swept.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/0 new, 0 changed/),
  });
});
