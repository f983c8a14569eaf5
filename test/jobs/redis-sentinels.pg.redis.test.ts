// The queue is on the primary that three sentinels name; it has one replica.

import {inspect} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inspectRedis} from '../../jobs/redis.ts';
import type {ManyRedises} from '../support/redis-access.ts';
import {sentinelPassword, startSentinels} from '../support/redis-sentinels.ts';
import {isInstalled} from '../support/redis-server.ts';
import {carryAll, examine, strikePrimary} from './redis-failover.ts';

let redises: ManyRedises;

describe.skipIf(!isInstalled())('the queue behind sentinels', () => {
  beforeAll(async () => {
    redises = await startSentinels();
  });
  afterAll(() => redises?.stop());

  test('wakes workers for sweeps and changes', () => carryAll(redises));

  test('doctor names the current primary, and warns if it loses queue jobs', async () => {
    const [primary = 0] = await redises.primaries();
    expect(await examine(redises.url)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^good queue: on Redis [\\d.]+ at 127.0.0.1:${primary} ` +
            '\\(the primary of queue by sentinel ',
        ),
      ),
      'good Redis: append-only file on, nothing is evicted',
    ]);
    await redises.ask(primary, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const [, ...problems] = await examine(redises.url);
    await redises.ask(primary, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(problems).toEqual([
      expect.stringMatching(
        new RegExp(`^warning Redis: redis 127.0.0.1:${primary} .*policy is allkeys-lru`),
      ),
    ]);
  });

  test.each([
    [
      'a wrong password of the primary',
      /:[^:@]*@/,
      ':canary-wrong@',
      /WRONGPASS.*fix the user and password/,
    ],
    [
      'a wrong password of the sentinels',
      /_password=.*/,
      '_password=canary-wrong',
      /WRONGPASS.*\?sentinel_user/,
    ],
    ['no password of the sentinels', /\?.*/, '', /\(sentinel\).*NOAUTH.*\?sentinel_user/],
    ['a name that they do not know', '/queue/', '/query/', /no primary named query.*fix the name/],
    ['a number that the primary does not have', '/2?', '/99?', /DB index.*fix the number/],
  ])(
    '%s is reported with the fix, and no password is in the error',
    async (_, right, wrong, words) => {
      const url = redises.url.replace(right, wrong);
      expect(await examine(url)).toEqual([expect.stringMatching(words)]);
      const error: unknown = await inspectRedis(url).catch((cause: unknown) => cause);
      expect(inspect(error, {depth: 9})).not.toMatch(/canary/);
    },
  );

  test('doctor reports an address that names a sentinel as a Redis server', async () => {
    const address = new URL(redises.url.replace('redis-sentinel', 'redis').replace(/,.*/, ''));
    address.username = '';
    address.password = sentinelPassword;
    expect(await examine(address.href)).toEqual([
      expect.stringMatching(
        /^bad Redis: redis .*it is a sentinel: begin REDIS_URL with redis-sentinel:/,
      ),
    ]);
  });

  test(
    'if a primary is killed, no work is lost and the outage is logged once',
    {timeout: 180_000},
    () => strikePrimary(redises, 'SIGKILL'),
  );
});
