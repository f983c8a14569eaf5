// kill -9 at every named step of a sweep, on both queue backends, with one worker and with two: in
// the end the warehouse is as an undisturbed sweep leaves it.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import PQueue from 'p-queue';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {sweepSteps} from '../../src/sweeps/sweeps.ts';
import {Adversary} from '../labs/adversary.ts';
import {openMirror} from '../labs/adversary-mirror.ts';
import {type AdversaryService, serveAdversary} from '../labs/adversary-service.ts';
import {settingsOf} from '../labs/adversary-settings.ts';
import {carryKilled, type KilledSweep, type Left} from '../support/killed-sweep.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {emptyRedis} from '../support/redis.ts';

/** Three batches of 1,000, so that a sweep can reach a step more than once. */
const records = 2_300;
let folder: string;
const adversary = new Adversary({
  ...settingsOf(0),
  resource: 'jobs',
  order: 'number',
  pageSize: 50,
  records,
});
adversary.isQuiet = true;
let service: AdversaryService;
let held: TestDatabase;
let undisturbed: Left;

/** The list is held; then it changes much, but within the limit of deletions for one sweep. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-killed-'));
  service = await serveAdversary(adversary);
  held = await createDatabase(inject('warehouseTemplate'));
  const pageReader = new PageReader();
  const mirror = await openMirror({databaseUrl: held.url, pageReader, service, stream: 'jobs'});
  expect(await mirror.sweep()).toMatchObject({state: 'certified'});
  await mirror.close();
  await pageReader.close();
  adversary.isQuiet = false;
  adversary.deleteMany(30);
  for (let count = 0; count < 200; count++) adversary.mutate();
  adversary.isQuiet = true;
  undisturbed = await carry({dies: null, workers: 1, redisUrl: null});
  expect(undisturbed).toMatchObject({state: 'certified', hasDied: false, sightings: 0});
  expect(undisturbed.tombstones.length).toBeGreaterThan(20);
});

afterAll(async () => {
  await service.close();
  await held.drop();
  await rm(folder, {recursive: true, force: true});
});

async function carry(how: Pick<KilledSweep, 'dies' | 'workers' | 'redisUrl'>): Promise<Left> {
  const database = await createDatabase(new URL(held.url).pathname.slice(1));
  try {
    return await carryKilled({...how, databaseUrl: database.url, service});
  } finally {
    await database.drop();
  }
}

const cases = sweepSteps.flatMap((step) =>
  (['postgres', 'redis'] as const).flatMap((backend) =>
    ([1, 2] as const).map((workers) => ({step, backend, workers})),
  ),
);
type Case = (typeof cases)[number];

/** A case mostly waits for a lease to run out, or for the poller's round. */
const lanes = 3;
const left = new Map<Case, Left>();

beforeAll(async () => {
  const queue = new PQueue({concurrency: lanes});
  const free = Array.from({length: lanes}, (_, lane) => lane + 1);
  await queue.addAll(
    cases.filter(isPossible).map((each) => async () => {
      const lane = free.pop() ?? 0;
      left.set(each, await carryCase(each, lane));
      free.push(lane);
    }),
  );
}, 900_000);

function isPossible({backend}: Case): boolean {
  return backend === 'postgres' || inject('redisUrl') !== null;
}

async function carryCase({step, backend, workers}: Case, lane: number): Promise<Left> {
  const redisUrl = backend === 'redis' ? await emptyRedis(lane) : null;
  const file = join(folder, `${step}-${backend}-${workers}`);
  // The second batch, so that one batch is committed and one is not.
  const time = step.startsWith('batch-') ? 2 : 1;
  return await carry({dies: {at: step, time, file}, workers, redisUrl});
}

describe.each(cases)('killed at $step, queue on $backend, workers: $workers', (each) => {
  test.skipIf(!isPossible(each))('a sweep leaves the same state as an undisturbed sweep', () => {
    expect(left.get(each)).toEqual({...undisturbed, hasDied: true});
  });
});
