// The main job in a process of its own, as a user runs it, on both queue backends and in both
// dialects.

import {afterEach, describe, expect, inject, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import {expectMirrored, readLastWrites} from '../support/expect-mirrored.ts';
import {openPlace, type Place} from '../support/place.ts';
import {emptyRedis} from '../support/redis.ts';
import {withClient} from '../support/with-client.ts';
import {openService} from '../support/world.ts';

const redisUrl = inject('redisUrl');
const backends = ['postgres', ...(redisUrl === null ? [] : ['redis'])];
const dialects = ['observed', 'documented'] as const;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** @param template - the warehouse before the start; a migrated one when not given */
async function openPlaceOn(
  backend: string,
  options: Parameters<typeof openPlace>[0] = {},
  template = inject('warehouseTemplate'),
): Promise<Place> {
  const place = await openPlace(options, template);
  closers.push(place.close);
  const queue: Record<string, string> = backend === 'redis' ? {REDIS_URL: await emptyRedis()} : {};
  return {...place, env: {...place.env, ...queue}};
}

async function expectWarehouseEqualsService({service, databaseUrl}: Place): Promise<void> {
  const observed = await openService();
  closers.push(observed.close);
  expect(service.token).toBe(observed.token);
  await expectMirrored(databaseUrl, observed);
}

describe.each(backends)('start with the queue on %s', (backend) => {
  test.each(dialects)(
    '--once mirrors the whole account in the %s dialect, and a second run writes no row',
    async (dialect) => {
      const place = await openPlaceOn(backend, {dialect}, 'template0');
      const first = await runCommand(['start', '--once', '--json'], place.env);
      expect(first, first.stderr).toMatchObject({code: 0});
      const {streams} = JSON.parse(first.stdout);
      expect(streams).toHaveLength(4);
      for (const stream of streams) expect(stream.records, stream.stream).toBe(stream.rows);
      await expectWarehouseEqualsService(place);
      const before = await readLastWrites(place.databaseUrl);
      expect(await runCommand(['start', '--once'], place.env)).toMatchObject({code: 0});
      expect(await readLastWrites(place.databaseUrl)).toEqual(before);
    },
  );

  test('--once ends with the same rows after it was killed with -9 and started again', async () => {
    const place = await openPlaceOn(backend, {pageSize: 5});
    for (const progress of [/customers/, /jobs/]) {
      const running = startCommand(['start', '--once'], {
        ...place.env,
        FIELDMIRROR_LOG_LEVEL: 'info',
      });
      await Promise.race([running.prints(progress), running.ended]).catch(() => {});
      running.process.kill('SIGKILL');
      await running.ended;
    }
    const last = await runCommand(['start', '--once', '--json'], place.env);
    expect(last, last.stderr).toMatchObject({code: 0});
    await expectWarehouseEqualsService(place);
  }, 120_000); // Each start may have to wait for the lease of the one before.

  test('--once continues when Postgres ends every session, and has the same rows', async () => {
    const place = await openPlaceOn(backend, {pageSize: 5});
    const running = startCommand(['start', '--once', '--json'], {
      ...place.env,
      FIELDMIRROR_LOG_LEVEL: 'info',
    });
    await running.prints(/sweep\.ended/);
    await withClient(place.databaseUrl, (client) =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND usename = current_user
            AND pid <> pg_backend_pid()`,
      ),
    );
    const ended = await running.ended;
    expect(ended, ended.stderr).toMatchObject({code: 0});
    await expectWarehouseEqualsService(place);
  });

  test('prints its schedule, keeps running, and stops on Ctrl-C within 10 s', async () => {
    const place = await openPlaceOn(backend);
    const running = startCommand(['start'], {...place.env, FIELDMIRROR_LOG_LEVEL: 'info'});
    await running.prints(/jobs nightly[\s\S]*Running\. Ctrl-C/);
    await running.prints(/"stream":"tasks"|sweep\.ended/);
    const stopAt = performance.now();
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect(ended, ended.stderr).toMatchObject({code: 0});
    expect(performance.now() - stopAt).toBeLessThan(10_000);
    expect(ended.stdout).toContain('Stopping');
  });
});

test('start reports a Redis that is down, and exits with 3', async () => {
  const place = await openPlaceOn('postgres');
  const ended = await runCommand(['start', '--once'], {
    ...place.env,
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  expect(ended).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/redis 127\.0\.0\.1:1: expected an answer.*REDIS_URL/),
  });
});
