// A connector is tried on the masked records of an account: as the login of a worker fills the
// service, a second warehouse mirrors it and writes to it, and the account itself stays as it was.

import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {type AddressInfo, createServer} from 'node:net';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {maskValue} from '../../src/cli/rehearse.ts';
import {pushAccount} from '../../src/push/push.ts';
import {allStreams, allTables} from '../../src/streams/all.ts';
import {type Running, runCommand, startCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {withClient} from '../support/with-client.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const login = `rehearser_${randomBytes(4).toString('hex')}`;
let service: TestService;
let world: TestWorld;
let database: TestDatabase;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweepAll();
  database = await createDatabase();
  await makeRole(login, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_worker`);
  const url = Object.assign(new URL(world.databaseUrl), {username: login, password: 'made-up'});
  env = {DATABASE_URL: url.href};
}, 300_000);

afterAll(async () => {
  await dropRoles(login);
  await database?.drop();
  await world?.close();
  await service?.close();
});

const call = (...args: string[]) => [
  'rehearse',
  '--port',
  '0',
  '--database',
  database.url,
  ...args,
];

interface Rehearsal {
  readonly url: string;
  readonly token: string;
  readonly running: Running;
}

async function start(...args: string[]): Promise<Rehearsal> {
  const running = startCommand(call(...args), env);
  const told = await running.prints(/FIELDMIRROR_API_URL[\s\S]*Ctrl-C stops/);
  const [, url = ''] = /FIELDMIRROR_API_URL=(\S+)/.exec(told) ?? [];
  const [, token = ''] = /FIELDMIRROR_API_TOKEN=(\S+)/.exec(told) ?? [];
  return {url, token, running};
}

async function stop({running}: Rehearsal) {
  running.process.kill('SIGTERM');
  return await running.ended;
}

/** The texts that may tell who somebody is, as the account's warehouse has them. */
async function readPersonal(): Promise<ReadonlySet<string>> {
  const texts = new Set<string>();
  for (const {name, personal} of allTables) {
    const {rows} = await world.pool.query<{text: string}>(
      `SELECT DISTINCT value AS text FROM warehouse.${name} AS held
         CROSS JOIN LATERAL jsonb_each_text(to_jsonb(held) || held.extra)
        WHERE key = ANY ($1) OR held.extra ? key`,
      [personal],
    );
    for (const {text} of rows) if (text !== null) texts.add(text);
  }
  // A text such as the terms of an invoice is part of fields that name nobody, too.
  const plain: string[] = [];
  for (const {name, personal} of allTables) {
    const {rows} = await world.pool.query<{text: string | null}>(
      `SELECT DISTINCT value AS text FROM warehouse.${name} AS held
         CROSS JOIN LATERAL jsonb_each_text(to_jsonb(held)) WHERE key <> ALL ($1)`,
      [personal],
    );
    for (const {text} of rows) if (text !== null) plain.push(text);
  }
  const everyPlain = plain.join('\n');
  return new Set([...texts].filter((text) => !everyPlain.includes(text)));
}

/** All lists of the service with all that they embed, page by page. */
async function readLists({url, token}: Rehearsal): Promise<string> {
  const authorization = `Basic ${btoa(`${token}:${token}`)}`;
  const pages: string[] = [];
  for (const {path, include, isPaged} of allStreams)
    for (let page = 1; ; page++) {
      const query = new URLSearchParams({include: include.join(','), page: String(page)});
      const answer = await fetch(`${url}${path}?${query}`, {headers: {authorization}});
      expect(answer.status).toBe(200);
      const text = await answer.text();
      pages.push(text);
      if (!isPaged || text.trimEnd().endsWith('/>')) break;
    }
  return pages.join('\n');
}

/** The rows of a table, with the columns that tell of nobody. */
async function readPlain({pool}: TestWorld, name: string): Promise<unknown[]> {
  const {key = [], columns = [], personal = []} = allTables.find((one) => one.name === name) ?? {};
  const plain = columns
    .map((column) => `"${column.name}"`)
    .filter((column) => !personal.includes(column.slice(1, -1)));
  const {rows} = await pool.query(
    `SELECT ${plain.join(', ')} FROM warehouse.${name} WHERE _deleted_at IS NULL
      ORDER BY ${key.join(', ')}`,
  );
  return rows;
}

describe('a rehearsal', () => {
  let rehearsal: Rehearsal;
  let second: TestWorld;
  let before: string;

  const readState = async () => {
    const client = new pg.Client({connectionString: service.databaseUrl});
    await client.connect();
    const {rows} = await client.query<{state: string}>(
      `SELECT (SELECT count(*) FROM service.journal) || ' '
           || (SELECT md5(string_agg(fields::text, '' ORDER BY id))
                       FROM service.customers) AS state`,
    );
    await client.end();
    return rows[0]?.state ?? '';
  };

  beforeAll(async () => {
    before = await readState();
    rehearsal = await start();
    second = await openWorld(rehearsal);
    await second.sweepAll();
  }, 300_000);
  afterAll(async () => {
    rehearsal?.running.process.kill('SIGKILL');
    await second?.close();
  });

  test.each(allTables.map(({name}) => name))(
    'has the same rows of %s as the account, except for personal values',
    async (name) => {
      const rows = await readPlain(world, name);
      expect(await readPlain(second, name)).toEqual(rows);
    },
  );

  test('serves no personal value of the account, and listens only on loopback', async () => {
    expect(new URL(rehearsal.url).hostname).toBe('127.0.0.1');
    const texts = [...(await readPersonal())].filter(
      (text) => text.length > 5 && /[a-z]{3}|\d{3}-\d{4}/i.test(text),
    );
    expect(texts.length).toBeGreaterThan(100);
    const answers = await readLists(rehearsal);
    expect(answers).toContain('@example.com');
    expect(texts.filter((text) => answers.includes(text))).toEqual([]);
  });

  test('prints what a connector changed, and leaves the account unchanged', async () => {
    await second.pool.query(
      `UPDATE warehouse.customers SET phone_number = '555-0142' WHERE customer_number = (
         SELECT min(customer_number) FROM warehouse.customers WHERE _deleted_at IS NULL)`,
    );
    await second.pool.query(`UPDATE warehouse.employees SET name = 'Ada'
                              WHERE employee_number = 2`);
    await second.pool.query(`INSERT INTO warehouse.customers (name) VALUES ('Grace')`);
    await second.pool.query(
      `DELETE FROM warehouse.jobs
        WHERE job_number = (SELECT max(job_number) FROM warehouse.jobs WHERE _deleted_at IS NULL)`,
    );
    await pushAccount(second, second.account.accountId, new AbortController().signal);
    const told = await runCommand(
      ['--json', 'rehearse', '--report', '--database', database.url],
      env,
    );
    expect(told.code, told.stderr).toBe(0);
    const effects = JSON.parse(told.stdout);
    expect(effects).toContainEqual({
      table: 'customers',
      kind: 'update',
      times: 1,
      records: 1,
      fields: {phone_number: 1},
      examples: [expect.objectContaining({method: 'PUT', values: {phone_number: '555-0142'}})],
    });
    expect(effects).toContainEqual(
      expect.objectContaining({table: 'employees', kind: 'update', fields: {name: 1}}),
    );
    expect(effects).toContainEqual(
      expect.objectContaining({
        table: 'customers',
        kind: 'create',
        fields: expect.objectContaining({name: 1}),
      }),
    );
    expect(effects).toContainEqual(expect.objectContaining({table: 'jobs', kind: 'delete'}));
    const {code, stdout} = await stop(rehearsal);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /What would have changed:[\s\S]*customers[^\n]*updated[^\n]*phone_number/,
    );
    expect(stdout).toContain('555-0142');
    expect(await readState()).toBe(before);
  }, 180_000);
});

test('the next rehearsal begins without changes; --faults makes requests fail', async () => {
  const rehearsal = await start('--faults', 'unavailable=1');
  const authorization = `Basic ${btoa(`${rehearsal.token}:${rehearsal.token}`)}`;
  const answer = await fetch(`${rehearsal.url}/jobs.xml`, {headers: {authorization}});
  expect(answer.status).toBe(503);
  const {stdout} = await stop(rehearsal);
  expect(stdout).toContain('Nothing would have changed.');
}, 180_000);

/** The records of the rehearsal, and what was done to them. */
async function readRehearsal(): Promise<string> {
  return await withClient(database.url, async (client) => {
    const {rows} = await client.query<{state: string}>(
      `SELECT (SELECT count(*) FROM service.journal) || ' '
           || (SELECT string_agg(xmin::text, ' ' ORDER BY id) FROM service.customers) AS state`,
    );
    return rows[0]?.state ?? '';
  });
}

describe('while a rehearsal runs', () => {
  let rehearsal: Rehearsal;
  beforeAll(async () => {
    rehearsal = await start();
  }, 180_000);
  afterAll(() => rehearsal?.running.process.kill('SIGKILL'));

  test('a second one in its database is rejected, and leaves the records unchanged', async () => {
    const before = await readRehearsal();
    const {code, stdout, stderr} = await runCommand(call(), env);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /rehearse: database \S+ on \S+: expected that no rehearsal runs in it, /,
    );
    expect(stderr).toContain(`pid ${rehearsal.running.process.pid})`);
    expect(stderr).toContain('stop that one, or name another database with --database');
    expect(await readRehearsal()).toBe(before);
  });

  test('another role cannot block the next one with a table lock', async () => {
    const stranger = `stranger_${randomBytes(4).toString('hex')}`;
    await makeRole(stranger, `LOGIN PASSWORD 'made-up'`);
    const url = Object.assign(new URL(database.url), {username: stranger, password: 'made-up'});
    try {
      await withClient(url.href, async (client) => {
        await expect(
          client.query('BEGIN; LOCK TABLE service.rehearsal IN ACCESS SHARE MODE'),
        ).rejects.toThrow('permission denied');
      });
    } finally {
      await dropRoles(stranger);
    }
  });

  test('a new one can begin after the first one was killed', async () => {
    rehearsal.running.process.kill('SIGKILL');
    await rehearsal.running.ended;
    rehearsal = await start();
    expect((await fetch(rehearsal.url)).status).toBe(404);
  }, 180_000);

  test('it exits with an error if its database connection breaks', async () => {
    await world.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'fieldmirror rehearse, pid ${rehearsal.running.process.pid}'`,
    );
    const {code, stderr} = await rehearsal.running.ended;
    expect(code).toBe(3);
    expect(stderr).toContain('the connection to its database broke');
  });
});

test('a port in use is rejected before the records of the last rehearsal are deleted', async () => {
  const before = await readRehearsal();
  const holder = createServer();
  await once(holder.listen(0, '127.0.0.1'), 'listening');
  const {port} = holder.address() as AddressInfo;
  const {code, stderr} = await runCommand(call('--port', String(port)), env);
  holder.close();
  expect(code).toBe(3);
  expect(stderr).toContain(`cannot listen on port ${port} of 127.0.0.1: it is in use`);
  expect(await readRehearsal()).toBe(before);
});

describe('a rehearsal is rejected', () => {
  test.each([
    ['a warehouse', () => world.databaseUrl],
    ['another business', () => service.databaseUrl],
  ])('in the database of %s, and writes nothing', async (what, url) => {
    const {code, stderr} = await runCommand(['rehearse', '--port', '0', '--database', url()], env);
    expect(code).toBe(2);
    expect(stderr).toContain(`or that of an earlier rehearsal, got ${what}`);
    const {rows} = await world.pool.query(`SELECT to_regnamespace('service') AS name`);
    expect(rows).toEqual([{name: null}]);
  });

  test('with an unknown fault', async () => {
    const {code, stderr} = await runCommand(call('--faults', 'lots=1'), env);
    expect(code).toBe(2);
    expect(stderr).toContain('got lots=1 (did you mean lost?)');
  });
});

test('a mask keeps the kind of a value, and equal values stay equal', () => {
  const key = randomBytes(32);
  const mask = (field: string, value: string | null) => maskValue(field, value, key);
  expect(mask('phone_number', '937 555 0199')).toMatch(/^555-\d{3}-\d{4}$/);
  expect(mask('notification_email_address', 'ada@acme.test')).toMatch(
    /^[0-9a-f]{12}@example\.com$/,
  );
  expect(mask('service_city', 'Dayton')).toMatch(/^service city [0-9a-f]{12}$/);
  expect(mask('service_city', 'Dayton')).toBe(mask('service_city', 'Dayton'));
  expect(mask('service_city', 'Dayton')).not.toBe(
    maskValue('service_city', 'Dayton', randomBytes(32)),
  );
  expect([mask('name', null), mask('name', '')]).toEqual([null, '']);
});
