// A worker killed at every step, the reference service in place of the one in memory, and a product
// broken on purpose.

import {afterAll, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {pushSteps} from '../../src/push/run.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {carryAndDie} from '../labs/push/killed-push.ts';
import {live, liveAll} from '../labs/push/live.ts';
import {mutants} from '../labs/push/mutants.ts';
import {type LabService, openReferenceService} from '../labs/push/services.ts';
import {certain, storm} from '../labs/push/weather.ts';
import {openService} from '../support/world.ts';

const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

test('20 runs against the reference service, on its own Postgres, have no violation', {
  timeout: 300_000,
}, async () => {
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
  const tally = await liveAll(pageReader, {worlds: 1, runs: 20, openService: openReference});
  expect(tally.violations).toEqual([]);
  expect(tally.runs).toBe(20);
});

test.each(pushSteps)('kill -9 at the step %s does no harm', {timeout: 120_000}, async (diesAt) => {
  let deaths = 0;
  // A look needs a change in doubt.
  const weather = {
    ...storm,
    odds: {...certain, pass: 2, lose: 1},
    death: 0,
    stall: 0,
    outage: 0,
    readTrouble: 0,
  };
  const tally = await live(pageReader, {
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
  /**
   * At one step in ten a worker stalls; of six requests two lose their answer, and one arrives
   * late.
   */
  const gale = {
    odds: {...certain, pass: 3, lose: 2, late: 1},
    readTrouble: 0.02,
    death: 0,
    stall: 0.1,
    outage: 0,
  };

  const calm = {odds: certain, readTrouble: 0, death: 0, stall: 0, outage: 0};

  /** Nothing goes wrong, and the next reading comes before the last writes show. */
  const hurry = {runs: 60, weather: calm, pauses: [1, 3] as const};

  test('an unbroken product passes under the same faults', {timeout: 300_000}, async () => {
    for (const world of [
      {worlds: 6, runs: 20, weather: gale},
      {worlds: 2, ...hurry},
    ])
      expect((await liveAll(pageReader, world)).violations).toEqual([]);
  });

  test.each(mutants)('$name', {timeout: 900_000}, async (mutant) => {
    const violations: string[] = [];
    const isFound = (violation: string) => mutant.found.test(violation);
    const world = mutant.isForHurry === true ? hurry : {runs: 20, weather: gale};
    // Workers stall and read by chance: half of the worlds without a fence do not show it.
    for (let seed = 1; seed <= 20 && !violations.some(isFound); seed++)
      violations.push(...(await live(pageReader, {seed, mutant, ...world})).violations);
    expect(violations.filter(isFound)).not.toEqual([]);
  });
});
