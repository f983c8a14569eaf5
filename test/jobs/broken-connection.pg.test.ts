// The queue in Postgres: when a connection breaks in the middle of a question, the asker is told,
// and no process ends. A worker that hears no notice looks by itself.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {type FaultyLine, openFaultyLine} from '../support/faulty-line.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;
let line: FaultyLine;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  line = await openFaultyLine(Number(new URL(world.databaseUrl).port));
});

afterAll(async () => {
  await line.close();
  await world.close();
  await service.close();
});

async function openBackend() {
  const url = new URL(world.databaseUrl);
  url.port = String(line.port);
  return await openQueueBackend({redisUrl: null, databaseUrl: url.href, log: world.log});
}

/** How many sessions have just looked whether a job waits. */
async function countLooks(): Promise<number | null> {
  const looked = `query LIKE '%FROM job WHERE queue = $1 AND state = ''waiting''%'
    AND state = 'idle'`;
  const {rowCount} = await world.pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${looked}`,
  );
  return rowCount;
}

/** A question of a client, simple or in parts. */
const isQuestion = (chunk: Buffer) => ['Q', 'P'].includes(chunk.subarray(0, 1).toString());

test.each(['queue', 'worker'] as const)(
  'a %s reports an error and does not crash if its connection breaks at the first query',
  async (kind) => {
    const backend = await openBackend();
    const stray: Error[] = [];
    const onStray = (error: Error) => void stray.push(error);
    process.on('uncaughtException', onStray);
    line.setDraw((chunk) => (isQuestion(chunk) ? {kind: 'reset', forwarded: chunk.length} : null));
    const part =
      kind === 'queue'
        ? backend.makeQueue('push')
        : backend.makeWorker('push', async () => {}, {concurrency: 1});
    try {
      await expect(part.waitUntilReady()).rejects.toThrow(/ECONNRESET|terminated/);
      await expect.poll(() => line.struck.reset).toBeGreaterThan(0);
      line.setDraw(null);
      expect(stray).toEqual([]);
    } finally {
      line.setDraw(null);
      await part.close().catch(() => {});
      process.off('uncaughtException', onStray);
    }
  },
);

test('a worker finds a job without a notice, after its wait was broken', {
  timeout: 60_000,
}, async () => {
  let listens = 0;
  line.setDraw((chunk) => {
    if (!chunk.includes('LISTEN bullmq_jobs')) return null;
    return listens++ === 0 ? {kind: 'reset', forwarded: 0} : {kind: 'last-answer'};
  });
  const taken = Promise.withResolvers<unknown>();
  const process = async ({data}: {data: unknown}) => taken.resolve(data);
  const worker = (await openBackend()).makeWorker('push', process, {concurrency: 1});
  const direct = {redisUrl: null, databaseUrl: world.databaseUrl, log: world.log};
  const queue = (await openQueueBackend(direct)).makeQueue('push');
  try {
    await expect.poll(() => line.struck['last-answer'], {timeout: 20_000}).toBe(1);
    // The worker has found no job, and waits.
    await expect.poll(countLooks, {timeout: 20_000}).toBeGreaterThan(0);
    await queue.addBulk([{name: 'push', data: {accountId: '7'}}]);
    expect(await taken.promise).toEqual({accountId: '7'});
  } finally {
    line.setDraw(null);
    await Promise.all([worker.close(), queue.close()]);
  }
});
