// npm run torture -- sweeps [--runs 100000] [--seed 1]: sweeps of lists that move while they are
// read, each held against the truth. A seed is one warehouse that lives through a number of sweeps;
// `--seed N --runs 56` goes through it again.

import {parseArgs} from 'node:util';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {runWorld, sweepsPerWorld} from './adversary-run.ts';
import {addTally, describeTally, emptyTally} from './adversary-tally.ts';
import {openWarehouses} from './warehouses.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {
    runs: {type: 'string', default: '100000'},
    seed: {type: 'string', default: '1'},
    lanes: {type: 'string', default: '3'},
  },
});
const runs = Number(values.runs);
const firstSeed = Number(values.seed);
const worlds = Math.ceil(runs / sweepsPerWorld);
/** Sweeps between two lines of progress. */
const reportEvery = 3_000;

const tally = emptyTally();
let nextWorld = 0;
let reported = 0;
const warehouses = await openWarehouses();
const pageReader = new PageReader();
try {
  await Promise.all(Array.from({length: Number(values.lanes)}, runLane));
} finally {
  await pageReader.close();
  await warehouses.close();
}
process.stdout.write(`${describeTally(tally)}\n`);
process.exit(tally.violations.length === 0 ? 0 : 1);

/** Takes one world after the other until none is left. */
async function runLane(): Promise<void> {
  for (let world = nextWorld++; world < worlds; world = nextWorld++) {
    const seed = firstSeed + world;
    const sweeps = Math.min(sweepsPerWorld, runs - world * sweepsPerWorld);
    const warehouse = await warehouses.make();
    const more = await runWorld({seed, sweeps, databaseUrl: warehouse.url, pageReader});
    await warehouse.drop();
    addTally(tally, more);
    for (const violation of more.violations)
      process.stdout.write(
        `${violation}\n  again: npm run torture -- sweeps ` +
          `--seed ${seed} --runs ${sweeps} --lanes 1\n`,
      );
    if (tally.sweeps - reported >= reportEvery) report();
  }
}

function report(): void {
  reported = tally.sweeps;
  const {states, violations} = tally;
  process.stdout.write(
    `${tally.sweeps} of ${runs}: ${states.certified} certified, ${violations.length} violations\n`,
  );
}
