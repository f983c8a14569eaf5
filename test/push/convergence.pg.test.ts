// Both sides edit the same records, in any order, under any rules (docs/traps.md "Both sides
// change"). More of the same: npm run torture -- converge.

import {afterAll, describe, expect, inject, test} from 'vitest';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {historiesPerWorld, runConvergence} from '../labs/push/convergence.ts';
import {type Mutant, staleMutants} from '../labs/push/mutants.ts';
import {createDatabase} from '../support/postgres.ts';

const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

async function converge(world: {
  seed: number;
  histories: number;
  systems?: number;
  mutant?: Mutant;
}) {
  const database = await createDatabase(inject('warehouseTemplate'));
  const databaseUrl = database.url;
  const result = await runConvergence({...world, lag: 50, databaseUrl, pageReader});
  await database.drop();
  return result;
}

test('after 500 histories, both sides are equal, lost values are kept, and no request is wasted', {
  timeout: 600_000,
}, async () => {
  const sum = {histories: 0, conflicts: 0, byPerson: 0, requests: 0};
  for (let seed = 1; sum.histories < 500; seed++) {
    const histories = historiesPerWorld;
    const result = await converge({seed, histories, systems: 2});
    expect(result.violations).toEqual([]);
    for (const name of ['histories', 'conflicts', 'byPerson', 'requests'] as const)
      sum[name] += result[name];
  }
  // The edits did conflict.
  expect(sum.conflicts).toBeGreaterThan(100);
  expect(sum.byPerson).toBeGreaterThan(20);
  expect(sum.requests).toBeGreaterThan(250);
});

describe('a product that loses values that an author had not read is found out', () => {
  test.each(staleMutants)('$name', {timeout: 300_000}, async (mutant) => {
    const isFound = (violation: string) => mutant.found.test(violation);
    const {violations} = await converge({seed: 1, histories: 100, mutant});
    expect(violations.filter(isFound)).not.toEqual([]);
  });
});
