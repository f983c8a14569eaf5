// The promises of a sweep, held against lists that move while they are read: every order, every
// page size, 1,008 sweeps. Many more by `npm run torture -- sweeps`.

import PQueue from 'p-queue';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {edgeWidth} from '../../src/sweeps/evidence.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {Adversary} from '../labs/adversary.ts';
import {openMirror} from '../labs/adversary-mirror.ts';
import {runWorld, sweepsPerWorld} from '../labs/adversary-run.ts';
import {type Asked, serveAdversary} from '../labs/adversary-service.ts';
import {type Settings, seedsPerRound, settingsOf} from '../labs/adversary-settings.ts';
import {addTally, describeTally, emptyTally, type Tally} from '../labs/adversary-tally.ts';
import {createDatabase} from '../support/postgres.ts';

/** Worlds at once: while one waits for Postgres, another runs. */
const lanes = 3;
const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

describe('sweeps of a list that changes while it is read', () => {
  const tally = emptyTally();
  const tallies = new Map<Settings['order'], Tally>();

  beforeAll(async () => {
    const seeds = Array.from({length: seedsPerRound}, (_, seed) => seed);
    await new PQueue({concurrency: lanes}).addAll(seeds.map((seed) => () => runSeed(seed)));
    process.stdout.write(`  ${describeTally(tally)}\n`);
  }, 900_000);

  async function runSeed(seed: number): Promise<void> {
    const database = await createDatabase(inject('warehouseTemplate'));
    try {
      const place = {databaseUrl: database.url, pageReader};
      const more = await runWorld({seed, sweeps: sweepsPerWorld / 2, ...place});
      const {order} = settingsOf(seed);
      const ofOrder = tallies.get(order) ?? emptyTally();
      addTally(tally, more);
      addTally(ofOrder, more);
      tallies.set(order, ofOrder);
    } finally {
      await database.drop();
    }
  }

  test('break no guarantee: live records stay, and a certified list is complete', () => {
    expect(tally.violations).toEqual([]);
    expect(tally.sweeps).toBe((seedsPerRound * sweepsPerWorld) / 2);
  });

  test.each(['number', 'reversed', 'changed'] as const)(
    'mostly end certified if the list is in the order "%s"',
    (order) => {
      const {sweeps = 0, states} = tallies.get(order) ?? emptyTally();
      expect(states.certified).toBeGreaterThan(sweeps / 2);
    },
  );

  test('are stopped in some cases, in fewer than a tenth, and never fail', () => {
    expect(tally.states.stopped).toBeGreaterThan(0);
    expect(tally.states.stopped).toBeLessThan(tally.sweeps / 10);
    expect(tally.states.failed).toBe(0);
  });
});

describe('the second sweep of an unchanged list', () => {
  const quiet = (records: number, more: Partial<Settings> = {}): Settings => ({
    ...settingsOf(0),
    records,
    pageSize: 30,
    ...more,
  });

  /** Sweeps a list twice while it stands still. @returns the requests of the second sweep */
  async function sweepTwice(settings: Settings): Promise<Asked[]> {
    const database = await createDatabase(inject('warehouseTemplate'));
    const adversary = new Adversary(settings);
    adversary.isQuiet = true;
    const service = await serveAdversary(adversary);
    const stream = settings.resource;
    const mirror = await openMirror({databaseUrl: database.url, pageReader, service, stream});
    try {
      expect(await mirror.sweep()).toMatchObject({state: 'certified'});
      service.takeAsked();
      // Only the five numbers behind the highest: a list that ends at a cap stands still as well.
      expect(await mirror.sweep()).toMatchObject({state: 'certified', counts: {asked: edgeWidth}});
      return service.takeAsked();
    } finally {
      await mirror.close();
      await service.close();
      await database.drop();
    }
  }

  /** Five numbers in a row, and no other. */
  const expectEdges = (numbers: readonly number[]) => {
    const [first = 0, ...others] = numbers.toSorted((one, other) => one - other);
    expect(others).toEqual(Array.from({length: edgeWidth - 1}, (_, at) => first + at + 1));
  };

  const of = (asked: readonly Asked[], kind: Asked['kind']) =>
    asked.filter((one) => one.kind === kind).map(({number}) => number);

  test.each([
    ['nothing', 0],
    ['less than a page', 20],
    ['a page to the brim', 30],
    ['some pages', 100],
    ['more pages than are in flight', 400],
  ])(
    'that holds %s sends at most two requests for each page, and five more',
    async (_, records) => {
      const pages = Math.ceil(records / 30) + 1;
      const asked = await sweepTwice(quiet(records));
      expect(asked.length).toBeLessThanOrEqual(2 * pages + edgeWidth);
      expectEdges(of(asked, 'record'));
    },
  );

  test.each(['number', 'reversed', 'changed'] as const)(
    'in the order "%s" reads each page once in full, and then only keys',
    async (order) => {
      const asked = await sweepTwice(quiet(100, {order}));
      expect(of(asked, 'page').sort()).toEqual([1, 2, 3, 4, 5]);
      expect(of(asked, 'keys').sort()).toEqual([1, 2, 3, 4, 6]);
    },
  );

  test('does not request numbers in known gaps again', async () => {
    const gappy = quiet(60, {rates: {...settingsOf(0).rates, burn: 1}});
    expectEdges(of(await sweepTwice(gappy), 'record'));
  });

  test('sends no more requests for customers', async () => {
    const asked = await sweepTwice(quiet(100, {resource: 'customers'}));
    expect(asked.length).toBeLessThanOrEqual(10 + edgeWidth);
    expect(of(asked, 'keys')).toHaveLength(5);
  });
});
