// npm run torture -- push [--runs 20000] [--seed 1] [--lanes 2]: changes carried by workers that
// die and stall, over a line that loses, delays and garbles, each judged by its outcome. A seed is
// one warehouse that lives through a number of runs; `--seed N --runs 100` goes through it again.

import {parseArgs} from 'node:util';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {runsPerWorld, runWorld} from './push/run.ts';
import {openLaggingService} from './push/services.ts';
import {addTally, describeTally, emptyTally} from './push/tally.ts';
import {openWarehouses} from './warehouses.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {
    runs: {type: 'string', default: '20000'},
    seed: {type: 'string', default: '1'},
    lanes: {type: 'string', default: '2'},
  },
});
const runs = Number(values.runs);
const worlds = Math.ceil(runs / runsPerWorld);
/** Runs between two lines of progress. */
const reportEvery = 1_000;

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
    const seed = Number(values.seed) + world;
    const some = Math.min(runsPerWorld, runs - world * runsPerWorld);
    const warehouse = await warehouses.make();
    const more = await runWorld({
      seed,
      runs: some,
      databaseUrl: warehouse.url,
      pageReader,
      openService: openLaggingService,
    });
    await warehouse.drop();
    addTally(tally, more);
    for (const violation of more.violations)
      process.stdout.write(
        `${violation}\n  again: npm run torture -- push --seed ${seed} --runs ${some} --lanes 1\n`,
      );
    if (tally.runs - reported >= reportEvery) report();
  }
}

function report(): void {
  reported = tally.runs;
  const {changes, leftToPerson, violations} = tally;
  process.stdout.write(
    `${tally.runs} of ${runs} runs: ${changes} changes, ` +
      `${leftToPerson.length} left to a person, ${violations.length} violations\n`,
  );
}
