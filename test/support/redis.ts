// A Redis for tests: the one of REDIS_URL, else a server of our own from the PATH, else one in a
// container. Without any, the run says loudly which tests it left out.

import {Redis} from 'ioredis';
import {GenericContainer} from 'testcontainers';
import {inject} from 'vitest';
import {isInstalled, startServer, type TestRedis} from './redis-server.ts';

/** @returns null where no Redis can be had */
export async function startRedis(): Promise<TestRedis | null> {
  const given = process.env.REDIS_URL;
  if (given !== undefined && given !== '') return {url: given, stop: async () => {}};
  if (isInstalled()) return await startServer();
  try {
    const container = await new GenericContainer('redis:8').withExposedPorts(6379).start();
    const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
    return {url, stop: async () => void (await container.stop())};
  } catch (cause) {
    process.stderr.write(
      `no Redis in a container: ${cause instanceof Error ? cause.message : cause}\n`,
    );
    return null;
  }
}

/**
 * A Redis without a queue of ours, for one test: a numbered database of the shared one, as the
 * tests of one worker run one after the other. The Redis may be a developer's own: only our keys
 * are deleted.
 * @param lane - the number of the test among those that run side by side in one worker; from 1
 */
export async function emptyRedis(lane = 0): Promise<string> {
  const url = new URL(inject('redisUrl') ?? '');
  url.pathname = `/${Number(process.env.VITEST_POOL_ID ?? '1') + 4 * lane}`;
  const redis = new Redis(url.href);
  for await (const keys of redis.scanStream({match: 'fieldmirror:*'})) {
    if (keys.length > 0) await redis.del(keys);
  }
  redis.disconnect();
  return url.href;
}
