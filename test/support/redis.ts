// A Redis for tests: the one of REDIS_URL, else a server of our own from the PATH, else one in a container. Where there
// is none, the run says loudly what it left out.

import {type ChildProcess, execFileSync, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Redis} from 'ioredis';
import {GenericContainer} from 'testcontainers';
import {inject} from 'vitest';

export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** @returns null where no Redis can be had */
export async function startRedis(): Promise<TestRedis | null> {
  const given = process.env.REDIS_URL;
  if (given !== undefined && given !== '') return {url: given, stop: async () => {}};
  if (isInstalled()) return await startServer();
  try {
    const container = await new GenericContainer('redis:8').withExposedPorts(6379).start();
    const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
    return {url, stop: async () => void (await container.stop())};
  } catch {
    return null;
  }
}

/** An empty Redis for one test: a numbered database of the shared one; tests of one worker run one after the other. */
export async function emptyRedis(): Promise<string> {
  const url = new URL(inject('redisUrl') ?? '');
  url.pathname = `/${process.env.VITEST_POOL_ID ?? '1'}`;
  const redis = new Redis(url.href);
  await redis.flushdb();
  redis.disconnect();
  return url.href;
}

/** A redis-server of one's own, to be stopped, started again and set up badly. */
export async function startServer(
  options: readonly string[] = ['--appendonly', 'yes'],
  fixedPort?: number,
): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-redis-'));
  const port = fixedPort ?? (await freePort());
  const server = spawn('redis-server', ['--port', String(port), '--dir', folder, '--save', '', ...options], {
    stdio: 'ignore',
  });
  const url = `redis://127.0.0.1:${port}`;
  await answers(url);
  const stop = async () => {
    await kill(server);
    await rm(folder, {recursive: true, force: true});
  };
  return {url, stop};
}

export function isInstalled(): boolean {
  try {
    execFileSync('redis-server', ['--version'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
}

async function answers(url: string): Promise<void> {
  const redis = new Redis(url, {retryStrategy: () => 20, maxRetriesPerRequest: null});
  redis.on('error', () => {});
  await redis.ping();
  redis.disconnect();
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGKILL');
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
