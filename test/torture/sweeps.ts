// npm run torture -- sweeps [--runs 100000] [--seed 1]: sweeps of lists that move while they are read, each held against
// the truth. A seed is one warehouse that lives through a number of sweeps; `--seed N --runs 56` goes through it again.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import pg from 'pg';
import {allTables} from '../../src/streams/all.ts';
import {PageReader} from '../../src/sync/page-reader.ts';
import {openPool} from '../../src/warehouse/database.ts';
import {type EmbeddedPostgres, openEmbeddedPostgres} from '../../src/warehouse/embedded.ts';
import {migrate} from '../../src/warehouse/migrate.ts';
import {runWorld, sweepsPerWorld} from '../support/adversary-run.ts';
import {addTally, describeTally, emptyTally} from '../support/adversary-tally.ts';

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
const home = await mkdtemp(join(tmpdir(), 'fieldmirror-torture-'));
const postgres = await openEmbeddedPostgres(home);
const pageReader = new PageReader();
const admin = new pg.Pool({connectionString: await postgres.url('postgres')});
try {
  await makeTemplate(postgres);
  await Promise.all(Array.from({length: Number(values.lanes)}, runLane));
} finally {
  await pageReader.close();
  await admin.end();
  await postgres.leave();
  await rm(home, {recursive: true, force: true});
}
process.stdout.write(`${describeTally(tally)}\n`);
process.exit(tally.violations.length === 0 ? 0 : 1);

/** Takes one world after the other until none is left. */
async function runLane(): Promise<void> {
  for (let world = nextWorld++; world < worlds; world = nextWorld++) {
    const seed = firstSeed + world;
    const sweeps = Math.min(sweepsPerWorld, runs - world * sweepsPerWorld);
    const name = `adversary_${seed}`;
    await admin.query(`CREATE DATABASE ${name} TEMPLATE warehouse_template`);
    const databaseUrl = await postgres.url(name);
    const more = await runWorld({seed, sweeps, databaseUrl, pageReader});
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    addTally(tally, more);
    for (const violation of more.violations)
      process.stdout.write(
        `${violation}\n  again: npm run torture -- sweeps --seed ${seed} --runs ${sweeps} --lanes 1\n`,
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

async function makeTemplate(postgres: EmbeddedPostgres): Promise<void> {
  const pool = openPool(await postgres.url('warehouse_template'), {max: 1, applicationName: 'torture'});
  await migrate(pool, allTables);
  await pool.end();
}
