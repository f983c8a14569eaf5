// npm run mutants [-- --only PATH] [--sample N --seed TEXT] [--lanes N]: puts one small fault after
// another into copies of the sources of targets.ts, and says which of them no test notices.

import {parseArgs} from 'node:util';
import {type Fate, Lane} from './lane.ts';
import {describeMutant, drawSample, findSurvivor, listMutants, type Mutant} from './mutants.ts';

const leastKilledPercent = 85;

const {values} = parseArgs({
  options: {
    only: {type: 'string', default: ''},
    sample: {type: 'string'},
    seed: {type: 'string', default: '1'},
    lanes: {type: 'string', default: '2'},
  },
});
const all = listMutants(values.only);
const chosen =
  values.sample === undefined ? all : drawSample(all, Number(values.sample), values.seed);
// Those whose tests need no servers come first.
const waiting = [
  ...chosen.filter(({tests}) => !needsServers(tests)),
  ...chosen.filter(({tests}) => needsServers(tests)),
];
const fates = new Map<Mutant, Fate>();
const print = (line: string) => process.stdout.write(`${line}\n`);

function needsServers(tests: readonly string[]): boolean {
  return tests.some((name) => name.includes('.pg.'));
}

async function work(lane: Lane): Promise<void> {
  try {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const fate = await lane.try(mutant);
      fates.set(mutant, fate);
      if (fate === 'killed') continue;
      const reason = fate === 'survived' ? findSurvivor(mutant)?.reason : undefined;
      print(`${fate}: ${describeMutant(mutant)}${reason === undefined ? '' : ` (${reason})`}`);
    }
  } finally {
    await lane.close();
  }
}

await Promise.all(Array.from({length: Number(values.lanes)}, async () => work(new Lane())));

for (const source of new Set(all.map((mutant) => mutant.source))) {
  const own = chosen.filter((mutant) => mutant.source === source);
  if (own.length > 0) print(`${source}: ${countNoticed(own)} of ${own.length} noticed`);
}
const noticed = countNoticed(chosen);
const percent = (100 * noticed) / Math.max(1, chosen.length);
print(`seed ${values.seed}: ${noticed} of ${chosen.length} noticed, ${percent.toFixed(1)} %`);

const unknown = chosen.filter(
  (mutant) => fates.get(mutant) === 'survived' && findSurvivor(mutant) === undefined,
);
if (unknown.length > 0)
  print(`${unknown.length} survived that test/mutants/survivors.ts has no reason for`);
const isTooFew = values.sample === undefined && percent < leastKilledPercent;
if (isTooFew) print(`expected at least ${leastKilledPercent} %`);
if (isTooFew || unknown.length > 0) process.exitCode = 1;

function countNoticed(mutants: readonly Mutant[]): number {
  return mutants.filter((mutant) => fates.get(mutant) !== 'survived').length;
}
