// Both sides edit the same records, in any order, under any rules (docs/traps.md "Both sides
// change"). More of the same: npm run torture -- converge.

import {afterAll, expect, inject, test} from 'vitest';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {historiesPerWorld, runConvergence} from '../labs/push/convergence.ts';
import {createDatabase} from '../support/postgres.ts';

const pageReader = new PageReader();

afterAll(async () => await pageReader.close());

test('after 500 histories of edits on both sides both hold the same, every value that lost is kept, and no request was in vain', {
  timeout: 600_000,
}, async () => {
  const sum = {histories: 0, conflicts: 0, byPerson: 0, requests: 0};
  for (let seed = 1; sum.histories < 500; seed++) {
    const database = await createDatabase(inject('warehouseTemplate'));
    const histories = historiesPerWorld;
    const result = await runConvergence({seed, histories, databaseUrl: database.url, pageReader});
    await database.drop();
    expect(result.violations).toEqual([]);
    for (const name of ['histories', 'conflicts', 'byPerson', 'requests'] as const)
      sum[name] += result[name];
  }
  // The edits did conflict.
  expect(sum.conflicts).toBeGreaterThan(100);
  expect(sum.byPerson).toBeGreaterThan(20);
  expect(sum.requests).toBeGreaterThan(250);
});
