import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer, type Server} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export interface RedisProcess {
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  /** Kills it, and removes its files. */
  stop(): Promise<void>;
}

/** Should this process end before its tests do, no server stays. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const server of running) server.kill('SIGKILL');
});

/**
 * Runs a redis-server in a folder of its own.
 * @param listArguments - its arguments, given the folder
 */
export async function runRedis(
  port: number,
  listArguments: (folder: string) => Promise<readonly string[]> | readonly string[],
): Promise<RedisProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-redis-'));
  const server = spawn('redis-server', await listArguments(folder), {stdio: 'ignore'});
  running.add(server);
  server.once('exit', () => running.delete(server));
  const stop = async () => {
    await kill(server);
    await rm(folder, {recursive: true, force: true});
  };
  return {port, signal: (signal) => void server.kill(signal), stop};
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGKILL');
  await ended;
}

/** Ports that are free all at once. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({length: count}, listen));
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no free port');
    return address.port;
  });
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

async function listen(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}
