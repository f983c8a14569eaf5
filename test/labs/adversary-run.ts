// Many sweeps of one warehouse while its adversary goes on, each one judged.

import {Random} from '../../src/service/vocabulary.ts';
import type {PageReader} from '../../src/sweeps/page-reader.ts';
import type {SweepResult} from '../../src/sweeps/run-sweep.ts';
import {Adversary} from './adversary.ts';
import {type Mirror, openMirror} from './adversary-mirror.ts';
import {type AdversaryService, serveAdversary} from './adversary-service.ts';
import {settingsOf} from './adversary-settings.ts';
import {countReason, emptyTally, type Tally} from './adversary-tally.ts';
import {type CheckedSweep, findViolations, type HeldRow} from './sweep-checker.ts';

/** Enough for one warehouse to live through all that can happen to it. */
export const sweepsPerWorld = 56;
/** More than the tries that a postponed sweep has before it ends by itself. */
const maxTries = 20;
/** More than the breaker lets through. */
const massacre = 55;
const tooMany = 170;

interface Run {
  readonly adversary: Adversary;
  readonly service: AdversaryService;
  readonly mirror: Mirror;
  readonly random: Random;
  readonly tally: Tally;
  /** The tick at which the last sweep began that was not stopped. */
  wentOnAt: number;
}

/**
 * Sweeps one empty warehouse many times. The seed decides all but the order in which requests
 * arrive.
 * @param world.databaseUrl - a migrated, empty warehouse of its own
 */
export async function runWorld(world: {
  readonly seed: number;
  readonly sweeps: number;
  readonly databaseUrl: string;
  readonly pageReader: PageReader;
}): Promise<Tally> {
  const {seed, databaseUrl, pageReader} = world;
  const settings = settingsOf(seed);
  const adversary = new Adversary(settings);
  const service = await serveAdversary(adversary);
  const {resource: stream, batchRecords} = settings;
  const mirror = await openMirror({databaseUrl, pageReader, service, stream, batchRecords});
  const random = new Random(String(seed), 'run', 0);
  const run: Run = {adversary, service, mirror, random, tally: emptyTally(), wentOnAt: 0};
  try {
    let before: HeldRow[] = [];
    for (let at = 1; at <= world.sweeps; at++) {
      liveOn(
        run,
        before.some((row) => !row.isDeleted),
      );
      before = await sweepOnce(run, {before, name: `seed ${seed}, sweep ${at}`});
    }
    await checkEvidence(run, before);
    return run.tally;
  } finally {
    await mirror.close();
    await service.close();
  }
}

/** The events between two sweeps, and the adversary's mood for the next one. */
function liveOn({adversary, random}: Run, isAnythingHeld: boolean): void {
  adversary.isQuiet = false;
  const calm = {...adversary.settings.rates, spite: 0};
  if (random.isTrue(0.5))
    for (let count = random.integer(1, 40); count > 0; count--) adversary.mutate(calm);
  if (adversary.aliveCount > tooMany) adversary.deleteMany(random.integer(20, 40));
  if (adversary.aliveCount > massacre + 5 && random.isTrue(0.03)) adversary.deleteMany(massacre);
  if (adversary.settings.rates.spite > 0 && random.isTrue(0.5)) adversary.bury();
  // With no row held, an account that shows nothing counts as an empty one.
  adversary.isBlank = random.isTrue(0.02) && isAnythingHeld;
  adversary.isQuiet = random.isTrue(0.25);
}

/** @returns the rows held afterwards */
async function sweepOnce(
  run: Run,
  {before, name}: {readonly before: HeldRow[]; readonly name: string},
): Promise<HeldRow[]> {
  const {adversary, service, mirror, tally} = run;
  const from = adversary.tick;
  const result = await sweepToEnd(mirror);
  const sweep = {state: stateOf(result), from, to: adversary.tick};
  const after = await mirror.readRows();
  tally.sweeps++;
  tally.states[sweep.state]++;
  for (const asked of service.takeAsked()) tally.requests[asked.kind]++;
  const {reasons} = await mirror.readSweep();
  for (const reason of reasons) countReason(tally, reason);
  if (result.outcome === 'failed') countReason(tally, result.error.message);
  for (const {kind, number, story} of findViolations(adversary.histories(), sweep, {before, after}))
    tally.violations.push(`${name}: ${kind} of ${number}: ${story}`);
  if (adversary.isBlank && sweep.state === 'certified')
    tally.violations.push(`${name}: certified, though the service showed nothing`);
  // No person is there to approve: the records deleted at once come back, and life goes on.
  if (sweep.state === 'stopped') adversary.restoreSince(run.wentOnAt);
  else run.wentOnAt = from;
  return after;
}

async function sweepToEnd(mirror: Mirror): Promise<SweepResult> {
  let result = await mirror.sweep();
  for (let tries = 1; result.outcome === 'postponed' && tries < maxTries; tries++)
    result = await mirror.sweep();
  return result;
}

function stateOf(result: SweepResult): CheckedSweep['state'] {
  if (result.outcome === 'ended' && result.state !== 'refreshed') return result.state;
  if (result.outcome === 'failed') return 'failed';
  throw new Error(`expected a full sweep that ends, got ${JSON.stringify(result)}`);
}

/** Every row marked deleted, and no other, has a tombstone with its reason. */
async function checkEvidence(
  {mirror, tally, adversary}: Run,
  rows: readonly HeldRow[],
): Promise<void> {
  const marked = rows.filter((row) => row.isDeleted).map((row) => row.number);
  const {rows: tombstones} = await mirror.pool.query<{number: string; status: number | null}>(
    `SELECT number::text, status FROM sync.tombstones
      WHERE written_at IS NOT NULL AND undone_at IS NULL`,
  );
  const proven = new Set(tombstones.filter(({status}) => status === 400).map(({number}) => number));
  const {seed} = adversary.settings;
  for (const number of marked)
    if (!proven.has(number))
      tally.violations.push(`seed ${seed}: ${number} is marked without evidence`);
  for (const {number} of tombstones)
    if (!marked.includes(number))
      tally.violations.push(
        `seed ${seed}: the tombstone of ${number} stands, though its row is live`,
      );
}
