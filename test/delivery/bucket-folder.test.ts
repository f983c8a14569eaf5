// The folder of this machine in which a snapshot for a bucket is made: every user of the machine
// may write beside it.

import {once} from 'node:events';
import {chown, mkdir, mkdtemp, readdir, rm, stat} from 'node:fs/promises';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {basename, dirname, join} from 'node:path';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {openBucketAt} from './bucket-at.ts';

let folder: string;
const server = createServer((_request, response) => response.end('<ListBucketResult/>'));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-test-'));
  vi.stubEnv('TMPDIR', folder);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.close();
  await rm(folder, {recursive: true});
});

const openStore = () => openBucketAt(server);

test('each delivery has a folder of another name, and removes that of a killed one', async () => {
  const killed = await openStore().begin();
  const store = openStore();
  const made = await store.begin();
  expect([dirname(killed), dirname(made)]).toEqual([folder, folder]);
  expect(made).not.toBe(killed);
  expect((await stat(made)).mode & 0o777).toBe(0o700);
  expect(await readdir(folder)).toEqual([basename(made)]);
  await store.end();
  expect(await readdir(folder)).toEqual([]);
});

// Only root can give a folder to another user.
test.skipIf(process.getuid?.() !== 0)('a folder of another user is left alone', async () => {
  const store = openStore();
  const taken = (await store.begin()).replace(/-[^-]+$/, '');
  await mkdir(taken);
  await chown(taken, 65_534, 65_534);
  const made = await store.begin();
  expect((await readdir(folder)).sort()).toEqual([basename(taken), basename(made)]);
  await store.end();
});
