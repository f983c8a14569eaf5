// Changes carried by workers that die and stall, over a line that loses, delays, cuts and garbles, each judged by what
// became of it (hazards 3.3, faults 2). More of the same: npm run torture -- push.

import {afterAll, describe, expect, inject, test} from 'vitest';
import {PageReader} from '../../../src/sync/page-reader.ts';
import {pushSteps} from '../../../src/sync/push/push-step.ts';
import {openPool} from '../../../src/warehouse/database.ts';
import {createDatabase} from '../../support/postgres.ts';
import {carryAndDie} from '../../support/push/killed-push.ts';
import {mutants} from '../../support/push/mutants.ts';
import {certain, runsPerWorld, runWorld, storm} from '../../support/push/run.ts';
import {type LabService, openMemoryService, openReferenceService} from '../../support/push/services.ts';
import {addTally, describeTally, emptyTally, type Tally} from '../../support/push/tally.ts';
import {openService} from '../../support/world.ts';

const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

type World = Parameters<typeof runWorld>[0];

async function live(world: Partial<World> & Pick<World, 'seed'>): Promise<Tally> {
  const database = await createDatabase(inject('warehouseTemplate'));
  try {
    return await runWorld({
      runs: runsPerWorld,
      // Thousands of runs are not about what survives a power cut.
      databaseUrl: `${database.url}?options=-c%20synchronous_commit%3Doff`,
      pageReader,
      openService: openMemoryService,
      ...world,
    });
  } finally {
    await database.drop();
  }
}

/** Several worlds, two at once. */
async function liveAll(seeds: readonly number[], more: Partial<World> = {}): Promise<Tally> {
  const tally = emptyTally();
  const left = [...seeds];
  const lane = async () => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift())
      addTally(tally, await live({...more, seed}));
  };
  await Promise.all([lane(), lane()]);
  return tally;
}

const seedsFrom = (first: number, count: number) => Array.from({length: count}, (_, at) => first + at);

test('of 1,000 runs no change is lost, sent twice or left without a word, and hardly one is left to a person', {
  timeout: 900_000,
}, async () => {
  const tally = await liveAll(seedsFrom(1, 1_000 / runsPerWorld));
  process.stdout.write(`${describeTally(tally)}\n`);
  expect(tally.violations).toEqual([]);
  // An author who meets a worker in a deadlock is told so, and nothing of theirs is kept.
  expect(tally.refusals.filter((refusal) => !refusal.includes('deadlock'))).toEqual([]);
  expect(tally.runs).toBe(1_000);
  expect(tally.leftToPerson).toBeLessThanOrEqual(tally.changes * 0.005);
  // Not for want of trouble.
  expect(Math.min(...Object.values(tally.fates))).toBeGreaterThan(5);
  expect(tally.deaths).toBeGreaterThan(5);
  expect(tally.stalls).toBeGreaterThan(5);
  expect(tally.outages).toBeGreaterThan(5);
});

test('the same holds against the reference service, on its own Postgres', {timeout: 300_000}, async () => {
  const openReference = async (): Promise<LabService> => {
    const service = await openService();
    const pool = openPool(service.databaseUrl, {max: 2, applicationName: 'journal'});
    const opened = await openReferenceService({...service, pool});
    const close = async () => {
      await pool.end();
      await service.close();
    };
    return {...opened, close};
  };
  const tally = await liveAll([1], {runs: 20, openService: openReference});
  expect(tally.violations).toEqual([]);
  expect(tally.runs).toBe(20);
});

test.each(pushSteps)('kill -9 at the step %s costs nothing', {timeout: 120_000}, async (diesAt) => {
  let deaths = 0;
  // One that looks needs something to look for.
  const weather = {
    ...storm,
    odds: {...certain, pass: 2, lose: 1},
    death: 0,
    stall: 0,
    outage: 0,
    readTrouble: 0,
  };
  const tally = await live({
    seed: 1,
    runs: 8,
    weather,
    carry: async (place) => {
      if (await carryAndDie({...place, diesAt})) deaths++;
    },
  });
  expect(tally.violations).toEqual([]);
  expect(deaths).toBeGreaterThan(0);
});

describe('a product that is broken on purpose is found out', () => {
  /** At one step in ten somebody stalls, and two answers in five are lost. */
  const gale = {odds: {...certain, pass: 3, lose: 2}, readTrouble: 0.02, death: 0, stall: 0.1, outage: 0};

  test('what is not broken passes in the same weather', {timeout: 300_000}, async () => {
    expect((await liveAll(seedsFrom(1, 6), {runs: 20, weather: gale})).violations).toEqual([]);
  });

  test.each(mutants)('$name', {timeout: 300_000}, async (mutant) => {
    const violations: string[] = [];
    const isFound = (violation: string) => mutant.found.test(violation);
    for (let seed = 1; seed <= 8 && !violations.some(isFound); seed++)
      violations.push(...(await live({seed, runs: 20, mutant, weather: gale})).violations);
    expect(violations.filter(isFound)).not.toEqual([]);
  });
});
