// The queue over TLS, with a certificate that its own authority has signed: one Redis, a cluster,
// sentinels.

import {readFileSync} from 'node:fs';
import {getCACertificates, setDefaultCACertificates} from 'node:tls';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openQueueBackend, queueNames} from '../../jobs/queue.ts';
import {wakePushes} from '../../jobs/queue-jobs.ts';
import {createLogger} from '../../src/core/log.ts';
import {freePorts} from '../support/free-ports.ts';
import {createDatabase} from '../support/postgres.ts';
import {encodedPassword, type ManyRedises, openAccess, password} from '../support/redis-access.ts';
import {startCluster} from '../support/redis-cluster.ts';
import {runRedis} from '../support/redis-process.ts';
import {startSentinels} from '../support/redis-sentinels.ts';
import {isInstalled} from '../support/redis-server.ts';
import {SetUp} from '../support/set-up.ts';
import {examine} from './redis-failover.ts';

type Started = Pick<ManyRedises, 'url' | 'certificatePath' | 'stop'>;

async function startOne(): Promise<Started> {
  const setUp = new SetUp();
  const access = await openAccess(setUp, {isTls: true});
  const [port = 0] = await freePorts(1);
  const lines = [...access.listen(port), `requirepass ${password}`, 'appendonly yes', 'save ""'];
  const given = (folder: string) => [...lines, `dir ${folder}`].flatMap(asArguments);
  await setUp.step(
    'starting a server',
    () => runRedis(port, given),
    ({stop}) => stop(),
  );
  await access.ask(port, password, 'PING');
  return {
    url: `rediss://default:${encodedPassword}@127.0.0.1:${port}/3`,
    certificatePath: access.certificatePath,
    stop: () => setUp.end(),
  };
}

/** From `port 0`: --port and 0. */
function asArguments(line: string): string[] {
  const [name = '', ...values] = line.split(' ');
  return [`--${name}`, values.join(' ').replaceAll('"', '')];
}

describe.skipIf(!isInstalled()).each([
  ['one Redis', startOne],
  ['a cluster', () => startCluster({isTls: true})],
  ['sentinels', () => startSentinels({isTls: true})],
])('the queue over TLS on %s', (_, start) => {
  const trusted = getCACertificates('default');
  let redis: Started;
  let path: string;

  beforeAll(async () => {
    redis = await start();
    path = redis.certificatePath ?? '';
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await redis?.stop();
  });

  test('wakes a worker if its certificate authority is trusted', async () => {
    setDefaultCACertificates([...trusted, readFileSync(path, 'utf8')]);
    const database = await createDatabase(inject('warehouseTemplate'));
    const log = createLogger({level: 'silent', secrets: []});
    const backend = await openQueueBackend({redisUrl: redis.url, databaseUrl: database.url, log});
    const woken = Promise.withResolvers<unknown>();
    const queue = backend.makeQueue(queueNames.pushes);
    const worker = backend.makeWorker(queueNames.pushes, async ({data}) => woken.resolve(data), {
      concurrency: 1,
    });
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    await wakePushes(queue, [{accountId: '7', name: 'acme'}]);
    expect(await woken.promise).toEqual({accountId: '7', account: 'acme'});
    await Promise.all([worker.close(), queue.close()]);
    await database.drop();
  });

  test('doctor reads the authority from NODE_EXTRA_CA_CERTS, or names that variable', async () => {
    const [reached, ...more] = await examine(redis.url, {NODE_EXTRA_CA_CERTS: path});
    expect(reached).toMatch(/^good queue: on Redis /);
    expect(more).toEqual(['good Redis: append-only file on, nothing is evicted']);
    expect(await examine(redis.url)).toEqual([
      expect.stringMatching(
        /^bad Redis: .*self-signed.*name the file of its authority in NODE_EXTRA_CA_CERTS/,
      ),
    ]);
  });

  test('doctor reports an address without TLS', async () => {
    expect(await examine(redis.url.replace('rediss', 'redis'))).toEqual([
      expect.stringMatching(/^bad Redis: .*TLS alone: fix REDIS_URL, or begin it with rediss/),
    ]);
  });
});
