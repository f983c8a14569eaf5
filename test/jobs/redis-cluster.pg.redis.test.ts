// The queue is on a Redis Cluster of three primaries, each with a replica.

import {inspect} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inspectRedis} from '../../jobs/redis.ts';
import type {ManyRedises} from '../support/redis-access.ts';
import {startCluster} from '../support/redis-cluster.ts';
import {isInstalled} from '../support/redis-server.ts';
import {carryAll, examine, strikePrimary} from './redis-failover.ts';

let cluster: ManyRedises;

describe.skipIf(!isInstalled())('the queue on a Redis cluster', () => {
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster?.stop());

  test('wakes workers for sweeps and changes', () => carryAll(cluster));

  test('doctor names the primaries, and warns of each that loses queue jobs', async () => {
    const ports = await cluster.primaries();
    const names = ports.map((port) => `127.0.0.1:${port}`);
    const [reached, kept, ...more] = await examine(cluster.url);
    expect(reached).toMatch(/^good queue: on Redis [\d.]+, a cluster with 3 primaries: /);
    for (const name of names) expect(reached).toContain(name);
    expect([kept, ...more]).toEqual(['good Redis: append-only file on, nothing is evicted']);
    const [, second = 0, third = 0] = ports;
    await cluster.ask(second, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await cluster.ask(third, 'CONFIG', 'SET', 'appendonly', 'no');
    const [, ...problems] = await examine(cluster.url);
    await cluster.ask(second, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await cluster.ask(third, 'CONFIG', 'SET', 'appendonly', 'yes');
    const place = (port: number) =>
      `warning Redis: redis 127.0.0.1:${port} (a primary of the cluster): `;
    expect(problems.length).toBe(2);
    expect(problems).toContainEqual(
      expect.stringContaining(`${place(second)}maxmemory-policy is allkeys-lru`),
    );
    expect(problems).toContainEqual(
      expect.stringContaining(`${place(third)}it has no append-only file`),
    );
  });

  test('doctor reports a wrong password with the fix, and no error contains it', async () => {
    const wrong = cluster.url.replace(/:[^:@]*@/, ':canary-wrong@');
    expect(await examine(wrong)).toEqual([
      expect.stringMatching(
        /^bad Redis: redis .*WRONGPASS.*fix the user and password in REDIS_URL/,
      ),
    ]);
    const error: unknown = await inspectRedis(wrong).catch((cause: unknown) => cause);
    expect(inspect(error, {depth: 9})).not.toMatch(/canary/);
  });

  test('doctor reports an address that treats a cluster node as a single Redis', async () => {
    const [port = 0] = await cluster.primaries();
    const one = cluster.url.replace('redis-cluster', 'redis').replace(/@.*/, `@127.0.0.1:${port}`);
    expect(await examine(one)).toEqual([
      expect.stringMatching(/^bad Redis: redis .*CROSSSLOT.*begin REDIS_URL with redis-cluster:/),
    ]);
  });

  test(
    'if a primary is killed, no work is lost and the outage is logged once',
    {timeout: 180_000},
    () => strikePrimary(cluster, 'SIGKILL'),
  );
});
