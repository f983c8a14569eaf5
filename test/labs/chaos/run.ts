// One run of chaos: begin, storm, quiet, verdict.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {Random} from '../../../src/service/vocabulary.ts';
import {runCommand} from '../../support/command.ts';
import {Author} from '../push/author.ts';
import {readEstates} from '../push/estates.ts';
import {readRecords} from '../push/final-state.ts';
import {type Calamities, Mayhem} from './calamities.ts';
import {Editor} from './editor.ts';
import {openLedger} from './ledger.ts';
import {endWorkers, openPlace, type Place, startWorkers} from './place.ts';
import type {Life} from './process.ts';
import {comeToRest, type Quiet} from './quiet.ts';
import {judgeChaos, type Outcome} from './verdict.ts';
import {VitalSigns, type Vitals} from './vitals.ts';

export interface Options {
  readonly seed: number;
  readonly minutes: number;
  readonly queue: 'redis' | 'postgres';
}

export interface Result extends Outcome {
  readonly calamities: Calamities;
  readonly quiet: Quiet;
  readonly vitals: readonly Vitals[];
  /** Processes that ended without being told to. */
  readonly ends: readonly Life[];
  /** Statements of authors that the warehouse refused, or that a crash undid. */
  readonly refusals: readonly string[];
  readonly editsThere: number;
  readonly struck: number;
  /** Sweeps at the end that failed, and other troubles. */
  readonly troubles: readonly string[];
}

const customers = 40;
const workers = 3;
/** An act is one to three statements. */
const betweenActsMs = 900;
const betweenEditsMs = 1_500;
const sampleMs = 2_000;
/** Signals that end the torture and all its processes. */
const signals = ['SIGINT', 'SIGTERM'] as const;
const rules = ['service', 'warehouse', 'newest'] as const;

export async function runChaos(
  {seed, minutes, queue}: Options,
  log: (line: string) => void,
): Promise<Result> {
  const place = await openPlace({seed: String(seed), queue, workers, customers});
  const stop = () => void place.close().finally(() => process.exit(1));
  for (const signal of signals) process.once(signal, stop);
  try {
    const pool = await openLedger(place.databaseUrl, 4);
    try {
      return await live(place, pool, {seed, minutes, log});
    } finally {
      await pool.end();
    }
  } finally {
    for (const signal of signals) process.off(signal, stop);
    await place.close();
  }
}

async function live(
  place: Place,
  pool: pg.Pool,
  {
    seed,
    minutes,
    log,
  }: {readonly seed: number; readonly minutes: number; readonly log: (line: string) => void},
): Promise<Result> {
  const random = (name: string, at = 0) => new Random(String(seed), name, at);
  const records = await readRecords({url: place.serviceUrl, token: place.token});
  const troubles = await sweepAll(place, 'before the storm');
  await startWorkers(place);
  await setUp(pool, random('rules'));
  const estates = (await readEstates(pool)).slice(0, customers / 2);
  const authors = estates.map((estate, at) => new Author(pool, random('author', at), estate));
  const editor = new Editor({url: place.serviceUrl, token: place.token}, random('editor'), {
    customers: numbersOf(records, 'customers'),
    jobs: numbersOf(records, 'jobs'),
  });
  const mayhem = new Mayhem(place, random('calamities'));
  const vitals = new VitalSigns();
  const over = new AbortController();
  const watching = repeat(sampleMs, over.signal, () =>
    vitals.take([...place.workers, place.service]),
  );

  log(`the storm: ${minutes} minutes`);
  const storm = AbortSignal.timeout(minutes * 60_000);
  place.spoil();
  const turns = random('turns');
  const write = async () => {
    const [first, ...others] = authors;
    if (first !== undefined) await turns.pick([first, ...others]).act();
  };
  await Promise.all([
    mayhem.rage(storm),
    repeat(betweenActsMs, storm, () => write().catch(() => {})),
    repeat(betweenEditsMs, storm, () => editor.act()),
  ]);

  log('the quiet');
  await place.mend();
  const quiet = await comeToRest(place, pool);
  over.abort();
  await watching;
  const late = await endWorkers(place);
  troubles.push(...late.map((name) => `${name} did not end within half a minute`));
  // The first pass ends sweeps begun earlier, which show earlier state; the second shows the
  // present one.
  for (const turn of ['first', 'second'])
    troubles.push(...(await sweepAll(place, `the ${turn} time after`)));
  const outcome = await judgeChaos(place, {
    pool,
    editor,
    records,
    intents: authors.flatMap(({intents}) => intents),
    lines: [...place.workers, place.service].flatMap(({leaks}) => leaks),
  });
  return {
    ...outcome,
    calamities: mayhem.counts,
    quiet,
    vitals: vitals.tell(),
    ends: [...place.workers, place.service].flatMap(({lives}) =>
      lives.filter(({isAsked}) => !isAsked),
    ),
    refusals: authors.flatMap(({refusals}) => refusals),
    editsThere: editor.acknowledged,
    struck: place.allLines
      .flatMap(({struck}) => Object.values(struck))
      .reduce((sum, count) => sum + count, 0),
    troubles,
  };
}

/** Sets rules to decide conflicts, and schedules that come round while the storm lasts. */
async function setUp(pool: pg.Pool, random: Random): Promise<void> {
  const {rows} = await pool.query<{table_name: string; field: string}>(
    'SELECT table_name, field FROM sync.write_rules ORDER BY table_name, field',
  );
  for (const {table_name: table, field} of rows)
    await pool.query('UPDATE sync.write_rules SET rule = $3 WHERE table_name = $1 AND field = $2', [
      table,
      field,
      random.pick(rules),
    ]);
  await pool.query(
    `UPDATE sync.schedules SET every_ms = CASE mode WHEN 'full' THEN 45000 ELSE 20000 END,
      next_due_at = now()`,
  );
}

/** Sweeps by the command, as a person does; no trouble strikes it. */
async function sweepAll(place: Place, when: string): Promise<string[]> {
  const {code, stdout, stderr} = await runCommand(['sync'], place.env);
  return code === 0 ? [] : [`sync ${when}: exit code ${code}: ${(stderr || stdout).slice(-500)}`];
}

function numbersOf(
  records: readonly {readonly table: string; readonly number: string}[],
  wanted: string,
) {
  return records.filter(({table}) => table === wanted).map(({number}) => number);
}

async function repeat(
  everyMs: number,
  signal: AbortSignal,
  act: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await act();
    await wait(everyMs, undefined, {signal}).catch(() => {});
  }
}
