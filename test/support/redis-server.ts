import {type ChildProcess, execFileSync, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Redis} from 'ioredis';

export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** A separate redis-server, to be stopped, started again and set up badly. */
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
