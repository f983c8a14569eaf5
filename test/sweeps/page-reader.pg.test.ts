// A page that ends the thread that reads all pages, while another account's sweep waits for the
// same thread.

import {afterEach, expect, test} from 'vitest';
import {PageReader, type PageTask} from '../../src/sweeps/page-reader.ts';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {openWorld} from '../support/world.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A thread with next to no memory, and a promise of its first page. */
class SmallReader extends PageReader {
  readonly #given = Promise.withResolvers<void>();
  readonly isBusy = this.#given.promise;

  constructor() {
    super({limits: {maxOldGenerationSizeMb: 12, maxYoungGenerationSizeMb: 4}, bytes: 0});
    closers.push(() => this.close());
  }

  override async read(task: PageTask) {
    const content = super.read(task);
    this.#given.resolve();
    return await content;
  }
}

/** A service of one page, which it gives when `inTime` resolves, and a sweep of it. */
async function open(
  records: readonly string[],
  pageReader: PageReader,
  inTime = Promise.resolve(),
) {
  const service = await scriptService((request, response) => {
    if (request.url?.startsWith('/jobs.xml') !== true || request.page > 1) return false;
    void inTime.then(() => response.end(list('jobs', records)));
    return true;
  });
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  const {accountId} = world.account;
  const asked = {accountId, stream: 'jobs', mode: 'full', requestedBy: 'command'} as const;
  const {sweepId} = await requestSweep(world.pool, asked);
  const run = () => runSweep({...world, pageReader}, sweepId, new AbortController().signal);
  const read = async () =>
    (await world.pool.query('SELECT state, failures FROM sync.sweeps')).rows[0];
  return {run, read};
}

test('a page that ends the reader thread costs only its own sweep an attempt', async () => {
  const pageReader = new SmallReader();
  const hostile = await open([job(1, '<b/>'.repeat(120_000))], pageReader);
  // Its page comes while the thread reads the other one.
  const honest = await open([job(1), job(2)], pageReader, pageReader.isBusy);
  const [ended, other] = await Promise.all([hostile.run(), honest.run()]);
  expect(ended).toMatchObject({
    outcome: 'postponed',
    error: {message: expect.stringMatching(/page 1 of jobs: the thread/)},
  });
  expect(other).toMatchObject({outcome: 'ended', state: 'certified'});
  expect(await hostile.read()).toMatchObject({failures: 1});
  expect(await honest.read()).toMatchObject({state: 'certified', failures: 0});
});
