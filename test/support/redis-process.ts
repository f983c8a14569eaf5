import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
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
