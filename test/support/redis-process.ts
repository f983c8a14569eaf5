import {spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {kill, tie} from './server-process.ts';

export interface RedisProcess {
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  /** Kills it, and removes its files. */
  stop(): Promise<void>;
}

/**
 * Runs a redis-server in a folder of its own.
 * @param listArguments - its arguments, given the folder
 */
export async function runRedis(
  port: number,
  listArguments: (folder: string) => Promise<readonly string[]> | readonly string[],
): Promise<RedisProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-redis-'));
  const server = tie(spawn('redis-server', await listArguments(folder), {stdio: 'ignore'}));
  const stop = async () => {
    await kill(server);
    await rm(folder, {recursive: true, force: true});
  };
  return {port, signal: (signal) => void server.kill(signal), stop};
}
