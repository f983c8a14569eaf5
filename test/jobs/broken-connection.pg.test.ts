// The queue in Postgres: when a connection breaks in the middle of a question, the asker is told, and no
// process ends.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue/backend.ts';
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

/** A question of a client, simple or in parts. */
const isQuestion = (chunk: Buffer) => ['Q', 'P'].includes(chunk.subarray(0, 1).toString());

test.each(['queue', 'worker'] as const)('the first question of a %s', async (kind) => {
  const url = new URL(world.databaseUrl);
  url.port = String(line.port);
  const backend = await openQueueBackend({redisUrl: null, databaseUrl: url.href, log: world.log});
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
});
