// Snapshots in a bucket of a real server of S3-compatible storage.

import {mkdir, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import type {LocalServer} from '../support/local-server.ts';
import {type CameIn, openProxy} from '../support/proxy.ts';
import {openS3Server, type S3Server} from '../support/s3-server.ts';
import {type DeliveryPlace, openDeliveryPlace, readSnapshot} from './delivery-place.ts';

let place: DeliveryPlace;
let storage: S3Server;
/** Between us and the storage. */
let line: LocalServer;
/**
 * The status, or the code of a refusal, that a request is answered with in place of the storage's
 * own; null: it goes on.
 */
let answer: (cameIn: CameIn) => number | string | null;

/** No answer at all. */
const nothing = 'nothing';

beforeAll(async () => {
  place = await openDeliveryPlace();
});
afterAll(() => place?.close());
beforeEach(async () => {
  storage = await openS3Server();
  answer = () => null;
  line = await openProxy(storage.url, {
    receive: (cameIn, response) => {
      const given = answer(cameIn);
      if (typeof given === 'number') response.writeHead(given).end();
      else if (given !== null && given !== nothing)
        response.writeHead(403).end(`<Error><Code>${given}</Code></Error>`);
      return given !== null;
    },
  });
  await apply({});
});
afterEach(async () => {
  await place.query('DELETE FROM sync.delivery_targets');
  await line.close();
  await storage.close();
});

const apply = async (target: object) => {
  const lake = {to: 's3://lake/star', endpoint: line.url, ...target};
  expect(await place.apply({delivery: {lake}})).toMatchObject({code: 0});
};
const deliver = (keys: Readonly<Record<string, string>> = storage.keys) =>
  runCommand(['deliver'], {...place.env, ...keys});

/** Fetches what `latest.json` leads to, and checks it to the last byte. */
async function fetchSnapshot() {
  const folder = join(place.folder, 'fetched');
  await rm(folder, {recursive: true, force: true});
  const latest = JSON.parse((await storage.read('star/latest.json')).toString());
  const keys = (await storage.list()).filter(
    (key) => key === 'star/latest.json' || key.startsWith(`star/${latest.snapshot}/`),
  );
  for (const key of keys) {
    const file = join(folder, key.slice('star/'.length));
    await mkdir(dirname(file), {recursive: true});
    await writeFile(file, await storage.read(key));
  }
  return await readSnapshot(folder);
}

const snapshotsOf = (keys: readonly string[]) =>
  [...new Set(keys.flatMap((key) => /^star\/(\d[^/]+)\//.exec(key)?.[1] ?? []))].sort();

test('each delivered snapshot is complete, and old snapshots are removed', async () => {
  await apply({keep: 2});
  const names: (string | undefined)[] = [];
  for (let night = 0; night < 3; night++) {
    expect(await deliver()).toMatchObject({code: 0});
    names.push((await fetchSnapshot())?.snapshot);
  }
  expect(snapshotsOf(await storage.list())).toEqual(names.slice(1));
  const rows = await place.query('SELECT name FROM sync.snapshots ORDER BY name');
  expect(rows.map(({name}) => name)).toEqual(names.slice(1));
});

test('a whole bucket can be the target', async () => {
  await apply({to: 's3://lake'});
  expect(await deliver()).toMatchObject({code: 0});
  expect(await storage.list()).toContain('latest.json');
});

test('a delivery killed midway stays invisible, and the next delivery completes', async () => {
  expect(await deliver()).toMatchObject({code: 0});
  const before = await fetchSnapshot();
  const held = Promise.withResolvers<void>();
  answer = ({method, path}) => {
    if (method !== 'PUT' || !path.includes('fct_task')) return null;
    held.resolve();
    return nothing;
  };
  const running = startCommand(['deliver'], {...place.env, ...storage.keys});
  await held.promise;
  running.process.kill('SIGKILL');
  await running.ended;
  const [, torn = ''] = snapshotsOf(await storage.list());
  expect(torn).not.toBe('');
  expect(await storage.list()).not.toContain(`star/${torn}/manifest.json`);
  expect(await fetchSnapshot()).toEqual(before);

  answer = () => null;
  await place.query('UPDATE sync.delivery_targets SET lease_until = now()');
  expect(await deliver()).toMatchObject({code: 0});
  const after = await fetchSnapshot();
  expect(after?.snapshot).not.toBe(before?.snapshot);
  expect(snapshotsOf(await storage.list())).toEqual([before?.snapshot, after?.snapshot]);
});

test('Fieldmirror retries an upload if the storage is busy', async () => {
  const busy = new Set<string>();
  answer = ({method, path}) => {
    if (method !== 'PUT' || busy.has(path) || busy.size === 3) return null;
    busy.add(path);
    return 503;
  };
  expect(await deliver()).toMatchObject({code: 0});
  expect(busy.size).toBe(3);
  expect(await fetchSnapshot()).not.toBeNull();
});

describe('storage that refuses a request', () => {
  const secret = 'wrong-but-secret';
  const wrong = {AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: secret};
  const cases: Readonly<
    Record<
      string,
      {keys?: Record<string, string>; to?: string; given?: number | string; says: RegExp}
    >
  > = {
    'a wrong key': {
      keys: wrong,
      given: 'SignatureDoesNotMatch',
      says: /got 403 SignatureDoesNotMatch; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    },
    'an unknown key': {
      keys: {...wrong, AWS_ACCESS_KEY_ID: 'AKIANOBODY'},
      says: /got 403 InvalidAccessKeyId; check AWS_ACCESS_KEY_ID/,
    },
    'no key': {keys: {}, says: /s3:\/\/lake\/star: expected AWS_ACCESS_KEY_ID and .* got none/},
    'no bucket': {to: 's3://nowhere/star', says: /got 404 NoSuchBucket; make the bucket/},
    'no right to write': {given: 403, says: /to PUT \S+, got 403; let these keys list, read/},
    'no room': {given: 507, says: /got 507; make room there, or keep fewer snapshots/},
    'out of order': {given: 500, says: /got 500; it is tried again later/},
  };

  test.each(Object.entries(cases))(
    '%s: the delivery fails with the reason, is due again later, and stores nothing',
    async (_what, {keys, to, given = null, says}) => {
      await apply(to === undefined ? {} : {to});
      answer = ({method}) => (method === 'PUT' ? given : null);
      const {code, stdout, stderr} = await deliver(keys);
      expect([2, 3]).toContain(code);
      expect(stderr).toMatch(says);
      expect(`${stdout}${stderr}`).not.toContain(secret);
      expect(await storage.list()).toEqual([]);
      const [row] = await place.query(
        `SELECT attempts, last_error AS error, due_at > now() AS waits, lease_until AS lease
           FROM sync.delivery_targets`,
      );
      expect(row).toMatchObject({attempts: 1, waits: true, lease: null});
      expect(row?.error).toMatch(says);
      expect(row?.error).not.toContain(secret);
    },
  );

  test('a delivery succeeds if an old snapshot cannot be removed; status reports it', async () => {
    await apply({keep: 1});
    expect(await deliver()).toMatchObject({code: 0});
    answer = ({method}) => (method === 'DELETE' ? 403 : null);
    const {code, stdout} = await deliver();
    expect(code).toBe(0);
    expect(stdout).toContain('lake: old snapshots could not be removed: s3://lake/star at');
    expect(snapshotsOf(await storage.list())).toHaveLength(2);
    const {stdout: told} = await runCommand(['status'], place.env);
    expect(told).toContain('lake keeps old snapshots that could not be removed');
  });
});

test.each([
  [{to: 's3://Lake'}, 'or a bucket, such as s3://lake/star'],
  [{to: 's3://lake/a/../b'}, 'or a bucket, such as s3://lake/star'],
  [{to: '/srv/lake', region: 'eu-central-1'}, 'expected it beside a bucket alone'],
  [{to: 's3://lake', endpoint: 'https://key:s3cret@example.com'}, 'without a password'],
  [{to: 's3://lake', secret: 's3cret'}, 'a key is never in this file'],
])('the target %j is refused', async (target, says) => {
  const {code, stdout, stderr} = await place.apply({delivery: {lake: target}});
  expect(code).toBe(2);
  expect(stderr).toContain(says);
  expect(`${stdout}${stderr}`).not.toContain('s3cret');
});

test('a second target at the place of another is refused, unless it takes over', async () => {
  const [first, second] = [{to: 's3://lake/once'}, {to: 's3://lake/once/'}];
  expect(await place.apply({delivery: {first}})).toMatchObject({code: 0});
  const says = 'second / to: expected a place without a target, got that of first; remove it';
  expect(await place.apply({delivery: {second}})).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(says),
  });
  const renamed = await place.apply({delivery: {first: {remove: true}, second}});
  expect(renamed).toMatchObject({code: 0});
  expect(await place.apply({delivery: {second: {remove: true}}})).toMatchObject({code: 0});
});

test('plain http to another machine is refused', async () => {
  await apply({endpoint: 'http://storage.example.com'});
  expect(await deliver()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected an endpoint of https, got http to storage.example'),
  });
});
