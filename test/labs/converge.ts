// npm run torture -- converge [--runs 10000] [--seed 1] [--systems 1] [--lag 50] [--lanes 2]:
// records that both sides edit, and so many ERPs that are up to so many entries of the feed behind;
// in the end all hold the same, and every lost value is kept. A seed is one warehouse with many
// records; `--seed N --runs 500` goes through it again.

import {parseArgs} from 'node:util';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {historiesPerWorld, runConvergence} from './push/convergence.ts';
import {openWarehouses} from './warehouses.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {
    runs: {type: 'string', default: '10000'},
    seed: {type: 'string', default: '1'},
    systems: {type: 'string', default: '1'},
    lag: {type: 'string', default: '50'},
    lanes: {type: 'string', default: '2'},
  },
});
const runs = Number(values.runs);
const systems = Number(values.systems);
const lag = Number(values.lag);
const worlds = Math.ceil(runs / historiesPerWorld);
let nextWorld = 0;
const sum = {histories: 0, changes: 0, conflicts: 0, byPerson: 0, requests: 0, violations: 0};
const warehouses = await openWarehouses();
const pageReader = new PageReader();
try {
  await Promise.all(Array.from({length: Number(values.lanes)}, runLane));
} finally {
  await pageReader.close();
  await warehouses.close();
}
process.exit(sum.violations === 0 ? 0 : 1);

async function runLane(): Promise<void> {
  for (let world = nextWorld++; world < worlds; world = nextWorld++) {
    const seed = Number(values.seed) + world;
    const histories = Math.min(historiesPerWorld, runs - world * historiesPerWorld);
    const warehouse = await warehouses.make();
    const result = await runConvergence({
      seed,
      histories,
      systems,
      lag,
      databaseUrl: warehouse.url,
      pageReader,
    });
    await warehouse.drop();
    for (const name of ['histories', 'changes', 'conflicts', 'byPerson', 'requests'] as const)
      sum[name] += result[name];
    sum.violations += result.violations.length;
    for (const violation of result.violations)
      process.stdout.write(
        `${violation}\n  again: npm run torture -- converge --seed ${seed} ` +
          `--runs ${histories} --systems ${systems} --lag ${lag} --lanes 1\n`,
      );
    for (const line of result.stories) process.stdout.write(`  ${line}\n`);
    process.stdout.write(
      `${sum.histories} of ${runs} histories: ${sum.changes} changes, ` +
        `${sum.conflicts} conflicts (${sum.byPerson} decided by a person), ` +
        `${sum.requests} requests, ${sum.violations} violations\n`,
    );
  }
}
