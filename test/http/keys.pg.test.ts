// The keys that open the HTTP API, and the answers to callers without one.

import {EventEmitter, once} from 'node:events';
import {connect, createServer} from 'node:net';
import type {FastifyReply} from 'fastify';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey, listApiKeys, revokeApiKey} from '../../src/accounts/access.ts';
import {KeyWatch, WaitingPlaces} from '../../src/http/keys.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

const task = {table: 'tasks', operation: 'create', fields: {name: 'x'}};
const paths = [
  '/v1/customers',
  '/v1/openapi.json',
  '/v1/changes/1',
  '/v1/nothing',
  '/v1/customers?limit=x',
];

describe('a request without a valid bearer key', () => {
  test.each(paths)('to %s is answered 401 without any details', async (path) => {
    for (const key of [
      null,
      'x',
      `fm_${'A'.repeat(43)}`,
      `${place.keys.writer}A`,
      place.keys.writer.toLowerCase(),
    ]) {
      const {status, headers, body} = await place.get(path, {key});
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      expect(body).toEqual({
        type: 'urn:fieldmirror:problem:unauthorized',
        title: 'Unauthorized',
        docs: 'E21',
        status: 401,
      });
    }
  });

  test('is rejected before its body is read', async () => {
    expect((await place.post('x'.repeat(2_000_000), {key: null})).status).toBe(401);
    expect((await place.post('{', {key: null})).status).toBe(401);
  });

  test('is rejected even if it sends a valid key in another scheme', async () => {
    const headers = {
      authorization: `Basic ${Buffer.from(`${place.keys.writer}:`).toString('base64')}`,
    };
    expect((await place.get('/v1/customers', {key: null, headers})).status).toBe(401);
  });

  test('is answered by /livez', async () => {
    expect(await place.get('/livez', {key: null})).toMatchObject({
      status: 200,
      body: {status: 'ok'},
    });
  });
});

test('a key is rejected as soon as it is revoked', async () => {
  const {accountId} = place.account;
  const key =
    (
      await addApiKey(place.pool, {name: 'old', accountId, role: 'operator', masks: false})
    )?.reveal() ?? '';
  expect((await place.get('/v1/tasks', {key})).status).toBe(200);
  expect(await revokeApiKey(place.pool, 'old')).toBe(true);
  expect((await place.get('/v1/tasks', {key})).status).toBe(401);
  expect(await revokeApiKey(place.pool, 'old')).toBe(false);
});

test('a waiting request gets 401 once its key is revoked, whatever its work returns', async () => {
  const {accountId} = place.account;
  const wait = async (name: string) => {
    await addApiKey(place.pool, {name, accountId, role: 'operator', masks: false});
    const key = (await listApiKeys(place.pool)).find((candidate) => candidate.name === name);
    const raw = Object.assign(new EventEmitter(), {closed: false});
    const ended = places.take(key?.apiKeyId ?? '', {raw} as unknown as FastifyReply, (signal) =>
      once(signal, 'abort'),
    );
    return {raw, ended};
  };
  const places = new WaitingPlaces('the feed', 'Wait.', new KeyWatch(place.pool));
  const disconnected = await wait('disconnected');
  disconnected.raw.emit('close');
  await disconnected.ended;
  const [first, last] = [await wait('first'), await wait('last')];
  let hasLastEnded = false;
  void last.ended.catch(() => {}).finally(() => (hasLastEnded = true));
  await revokeApiKey(place.pool, 'first');
  await expect(first.ended).rejects.toMatchObject({body: {status: 401}});
  expect(hasLastEnded).toBe(false);
  await revokeApiKey(place.pool, 'last');
  await expect(last.ended).rejects.toMatchObject({body: {status: 401}});
});

test('a read-only key can read but not write', async () => {
  const {reader} = place.keys;
  expect((await place.get('/v1/tasks', {key: reader})).status).toBe(200);
  const {status, body} = await place.post(task, {key: reader});
  expect(status).toBe(403);
  expect(body.type).toBe('urn:fieldmirror:problem:read-only');
});

test('a key of all accounts can read the API document, but no rows, changes or feed', async () => {
  const given = {name: 'all', accountId: null, role: 'admin', masks: false} as const;
  const key = (await addApiKey(place.pool, given))?.reveal() ?? '';
  expect((await place.get('/v1/openapi.json', {key})).status).toBe(200);
  const answers = [
    ...(await Promise.all(
      ['/v1/customers', '/v1/changes', '/v1/changes/1', '/v1/feed'].map((path) =>
        place.get(path, {key}),
      ),
    )),
    await place.post(task, {key}),
  ];
  for (const {status, body} of answers)
    expect({status, type: body.type}).toEqual({
      status: 403,
      type: 'urn:fieldmirror:problem:no-account',
    });
});

test('the last use of a key is recorded to the minute', async () => {
  await place.pool.query(
    `UPDATE sync.api_keys SET last_used_at = '2026-01-01Z' WHERE name = 'erp'`,
  );
  await Promise.all([1, 2, 3].map(() => place.get('/v1/tasks?limit=1')));
  const used = async () =>
    (await listApiKeys(place.pool)).find(({name}) => name === 'erp')?.lastUsedAt;
  const first = await used();
  expect(first).toMatch(/:00Z$/);
  expect(first).not.toBe('2026-01-01T00:00:00Z');
});

test('no key or body is in the log, and no key is in the tables of keys and changes', async () => {
  const canary = 'canary-4711';
  const customers = {table: 'customers', operation: 'update', number: 1};
  await place.post({...customers, fields: {nothing: canary}});
  await place.post({...customers, fields: {name: `${canary}\u0001`}});
  await place.post(`{"${canary}`);
  await place.get(`/v1/tasks?page=${canary}`);
  await place.get(`/v1/${canary}`);
  await place.pool.query('ALTER TABLE warehouse.customers RENAME COLUMN name TO gone');
  try {
    const {status, body} = await place.post({...customers, fields: {name: canary}});
    expect(status).toBe(503);
    expect(body).toMatchObject({type: 'urn:fieldmirror:problem:unavailable'});
  } finally {
    await place.pool.query('ALTER TABLE warehouse.customers RENAME COLUMN gone TO name');
  }
  const log = place.logged.join('');
  expect(log).toContain('"key":"erp","method":"POST","route":"/v1/changes","status":503');
  expect(log).not.toContain(canary);
  for (const key of Object.values(place.keys)) {
    expect(log).not.toContain(key);
    const {rows} = await place.pool.query(
      `SELECT (SELECT count(*)::int FROM sync.api_keys AS held WHERE held::text LIKE $1)
            + (SELECT count(*)::int FROM sync.changes AS held WHERE held::text LIKE $1) AS found`,
      [`%${key}%`],
    );
    expect(rows).toEqual([{found: 0}]);
  }
});

describe('fieldmirror', () => {
  const run = (...args: string[]) => runCommand(args, {DATABASE_URL: place.databaseUrl});

  test('keys add prints a key once, keys list never does, and keys revoke revokes it', async () => {
    const given = ['--account', 'acme', '--role', 'viewer', '--system', 'shopware'];
    const added = await run('keys', 'add', 'shop', ...given);
    expect(added, added.stderr).toMatchObject({code: 0});
    const key = /^fm_[\w-]{43}$/m.exec(added.stdout)?.[0] ?? '';
    expect((await place.get('/v1/customers', {key})).status).toBe(200);
    expect((await place.post(task, {key})).status).toBe(403);
    const listed = await run('keys', 'list');
    expect(listed.stdout).toMatch(/shop +│ acme +│ viewer +│ shopware/);
    expect(listed.stdout).not.toContain(key);
    expect(await run('keys', 'revoke', 'shop')).toMatchObject({code: 0});
    expect((await place.get('/v1/customers', {key})).status).toBe(401);
  });

  test('keys add --hold-deletes adds a key whose deletes wait for a person', async () => {
    const given = ['--account', 'acme', '--hold-deletes'];
    const added = await run('keys', 'add', 'careful', ...given, '--json');
    expect(added, added.stderr).toMatchObject({code: 0});
    const {key} = JSON.parse(added.stdout);
    expect((await run('keys', 'list')).stdout).toMatch(/careful +│ acme +│ operator, deletes held/);
    const {body} = await place.post(
      [
        {table: 'customers', operation: 'update', number: 2, fields: {fax: '555-0142'}},
        {table: 'customers', operation: 'delete', number: 3},
        {...task, hold: true},
        task,
      ],
      {key},
    );
    expect(body.changes.map(({state}: {state: string}) => state)).toEqual([
      ...['pending', 'held', 'held', 'pending'],
    ]);
    expect(body.changes[1].reason).toBe('deletes of its author wait for a person');
    // That of another key goes.
    expect(await place.post({table: 'tasks', operation: 'delete', number: 61})).toMatchObject({
      body: {state: 'pending'},
    });
    const {change_id: id} = body.changes[1];
    const decided = await place.post(
      {decision: 'release', change_ids: [id]},
      {path: '/v1/changes/decide'},
    );
    expect(decided.status, JSON.stringify(decided.body)).toBe(200);
    expect((await place.get(`/v1/changes/${id}`)).body).toMatchObject({state: 'pending'});
    expect((await run('keys', 'add', 'x', ...given, '--role', 'viewer')).stderr).toContain(
      'expected a key that makes changes, got a viewer',
    );
  });

  test('keys add and keys revoke explain what is wrong with a name', async () => {
    const {account} = place;
    expect((await run('keys', 'add', 'erp', '--account', account.name)).stderr).toContain(
      'already',
    );
    expect((await run('keys', 'add', 'a b', '--account', account.name)).stderr).toContain(
      'up to 50 letters',
    );
    expect(
      (await run('keys', 'add', 'new', '--account', account.name, '--system', 'a b')).stderr,
    ).toContain('keys add: --system: expected a name');
    expect((await run('keys', 'add', 'new')).stderr).toContain('which account?');
    expect(await run('keys', 'revoke', 'erb')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean erp?'),
    });
  });

  test('http warns if it is not on loopback, and finishes requests before it stops', async () => {
    const port = await findFreePort();
    const running = startCommand(['http', '--port', `${port}`, '--host', '0.0.0.0'], {
      DATABASE_URL: place.databaseUrl,
    });
    await running.prints(/put TLS in front/);
    await running.prints(/The HTTP API of .* is open at/);
    const begun = await beginPost(port);
    running.process.kill('SIGTERM');
    await untilClosed(port);
    expect(await begun.finish()).toMatch(/^HTTP\/1\.1 202 Accepted/);
    expect(await running.ended).toMatchObject({code: 0});
  });
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A request whose head the HTTP API has read, and whose body is still to come. */
async function beginPost(port: number): Promise<{finish(): Promise<string>}> {
  const body = JSON.stringify(task);
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  const head = [
    'POST /v1/changes HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${place.keys.writer}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'expect: 100-continue',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  expect(String((await once(socket, 'data'))[0])).toContain('100 Continue');
  const finish = async () => {
    socket.write(body);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return String(answer);
  };
  return {finish};
}

async function untilClosed(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (!isOpen) return;
  }
}
