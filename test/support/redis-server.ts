import {Redis} from 'ioredis';
import {freePorts} from './free-ports.ts';
import {runRedis} from './redis-process.ts';
import {isOnPath} from './server-process.ts';

export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** A separate redis-server, to be stopped, started again and set up badly. */
export async function startServer(
  options: readonly string[] = ['--appendonly', 'yes'],
  fixedPort?: number,
): Promise<TestRedis> {
  const [port = 0] = fixedPort === undefined ? await freePorts(1) : [fixedPort];
  const {stop} = await runRedis(port, (folder) => [
    ...['--port', String(port), '--dir', folder, '--save', ''],
    ...options,
  ]);
  const url = `redis://127.0.0.1:${port}`;
  await answers(url);
  return {url, stop};
}

export function isInstalled(): boolean {
  return isOnPath('redis-server');
}

async function answers(url: string): Promise<void> {
  const redis = new Redis(url, {retryStrategy: () => 20, maxRetriesPerRequest: null});
  redis.on('error', () => {});
  await redis.ping();
  redis.disconnect();
}
