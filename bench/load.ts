// npm run bench [-- --jobs 12000] [-- --turns 3] [-- --beside FOLDER]: what the built program costs
// with everything that a user gets: its process, schema, queue, star and four streams. A first
// load, a sweep in which nothing has changed, and those of a usual night: one new job at the head
// of the list, one job of a hundred edited, ten deleted. Beside it, in turns: a reference program
// without history, proof, resume and star; COPY of the same rows; and another checkout that is
// built, where one is named. The service keeps its answers ready. It reports medians; it asserts
// that each sweep is certified.

import {fork} from 'node:child_process';
import {once} from 'node:events';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import pg from 'pg';
import {formatNumber, formatTable} from '../src/core/format.ts';
import {allTables} from '../src/streams/all.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {percentile} from '../test/support/percentile.ts';
import {SetUp} from '../test/support/set-up.ts';
import {withClient} from '../test/support/with-client.ts';
import {copyIn, copyOut} from './load/floors.ts';
import type {NightStep} from './load/kept-service.ts';
import {type Cost, Meter} from './load/meter.ts';
import {buildReference} from './load/reference.ts';
import {migratedDatabase, vacuum} from './load/sweeps.ts';

const {values} = parseArgs({
  options: {
    jobs: {type: 'string', default: '12000'},
    turns: {type: 'string', default: '3'},
    beside: {type: 'string'},
  },
});
const turnCount = Number(values.turns);
const streamCount = 4;
const certified = /│ certified │/g;

/** The steps of a turn, in order. */
const steps = {
  first: 'first load',
  unchanged: 'unchanged',
  new: 'one new at the head',
  edited: '1 % edited',
  deleted: 'ten deleted',
} as const;
type Step = keyof typeof steps;
const stepNames = Object.keys(steps) as Step[];

/** A program that brings a database in line with the service, each time that it is run. */
interface Program {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it promises what the product does, and shows it. */
  readonly isProduct: boolean;
}

/** By program and step. */
type Turn = Readonly<Record<string, Partial<Record<Step, Cost>>>>;

const setUp = new SetUp();
// The service has a server of its own, for its queries are not the program's.
const {postgres: servicePostgres} = await startPostgres(setUp, 'bench-service');
const own = await startPostgres(setUp, 'bench');
const {postgres} = own;
const meter = await setUp.step(
  'opening the meter',
  () => Meter.open(own),
  (opened) => opened.close(),
);
const service = fork(join(import.meta.dirname, 'load', 'kept-service.ts'), [
  await servicePostgres.url('business'),
  values.jobs,
]);
try {
  const [{url, token}] = await once(service, 'message');
  const programs = await listPrograms({url, token});
  // The service renders each answer once, and Postgres makes the files of its log.
  for (const program of programs) await inDatabase('warm', (to) => run(program, to));
  const turns: Turn[] = [];
  while (turns.length < turnCount) turns.push(await takeTurn(programs, turns.length));
  report(programs, turns);
} finally {
  service.disconnect();
  await setUp.end();
}

async function listPrograms({url, token}: {url: string; token: string}): Promise<Program[]> {
  const env = {
    FIELDMIRROR_API_URL: url,
    FIELDMIRROR_API_TOKEN: token,
    FIELDMIRROR_TIME_ZONE: 'America/New_York',
    NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
  };
  const product = (name: string, folder: string) => ({
    name,
    env,
    isProduct: true,
    command: [join(folder, 'bin', 'fieldmirror'), 'start', '--once'],
  });
  const reference = await buildReference();
  return [
    product('fieldmirror', join(import.meta.dirname, '..')),
    ...(values.beside === undefined ? [] : [product('beside', resolve(values.beside))]),
    ...(reference === null
      ? []
      : [{name: 'reference', env, isProduct: false, command: [reference]}]),
  ];
}

/** Each program in a database of its own; in the second turn the last one goes first. */
async function takeTurn(programs: readonly Program[], number: number): Promise<Turn> {
  const turn: Record<string, Partial<Record<Step, Cost>>> = {};
  const order = number % 2 === 0 ? programs : programs.toReversed();
  for (const step of stepNames) {
    if (step !== 'first' && step !== 'unchanged') await letLive(step);
    for (const program of order) {
      const database = databaseOf(program, number);
      const url = await postgres.url(database);
      const before = await transactionOf(url);
      turn[program.name] = {...turn[program.name], [step]: await run(program, url)};
      if (program.isProduct && step === 'unchanged') await printProof(url, before);
      await vacuum(url);
    }
    if (step === 'first')
      turn.COPY = {first: await copyRows(await postgres.url(databaseOf(programs[0], number)))};
  }
  for (const program of programs) await drop(databaseOf(program, number));
  return turn;
}

function databaseOf(program: Program | undefined, turn: number): string {
  return `${program?.name}_${turn}`;
}

async function letLive(step: NightStep): Promise<void> {
  service.send(step);
  await once(service, 'message');
}

/** @throws {Error} a sweep of the product is not certified */
async function run(program: Program, databaseUrl: string): Promise<Cost> {
  const {stdout, ...cost} = await meter.run(program.command, {
    ...program.env,
    DATABASE_URL: databaseUrl,
  });
  if (program.isProduct && stdout.match(certified)?.length !== streamCount)
    throw new Error(`${program.name} did not certify its sweeps: ${stdout}`);
  return cost;
}

async function transactionOf(databaseUrl: string): Promise<string> {
  const text = 'SELECT pg_current_xact_id()::text AS id';
  return (await withClient(databaseUrl, (client) => client.query(text))).rows[0].id;
}

/** Prints the requests and the writes of a sweep of unchanged records. */
async function printProof(databaseUrl: string, since: string): Promise<void> {
  const text = `SELECT requests, pages FROM sync.sweeps
    WHERE stream = 'jobs' ORDER BY sweep_id DESC`;
  const [written, {rows}] = await withClient(databaseUrl, async (client) => [
    await countWritten(client, since),
    await client.query<{requests: string; pages: string}>(text),
  ]);
  process.stdout.write(
    `unchanged jobs: ${rows[0]?.requests} requests for ${rows[0]?.pages} pages; rows written: ` +
      `${written.warehouse} in the warehouse, ${written.history} in history\n`,
  );
}

/** Rows written since a transaction began: in the warehouse, and superseded versions in history. */
async function countWritten(client: pg.Client, since: string) {
  const count = async (schema: string, prefix: string) => {
    const counts = allTables.map(
      ({name}) =>
        `SELECT count(*) FROM ${schema}."${prefix}${name}" WHERE xmin::text::bigint >= $1`,
    );
    const {rows} = await client.query(
      `SELECT sum(count) AS sum FROM (${counts.join(' UNION ALL ')}) AS counts`,
      [since],
    );
    return Number(rows[0].sum);
  };
  return {warehouse: await count('warehouse', ''), history: await count('history', 'past_')};
}

/** COPY of what a warehouse holds into the tables of a new one. */
async function copyRows(from: string): Promise<Cost> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-copy-'));
  try {
    await withClient(from, (client) => copyOut(client, folder));
    return await inDatabase('copied', async (to) => {
      await migratedDatabase(postgres, 'copied');
      const client = new pg.Client(to);
      await client.connect();
      const cost = await meter.watch(async () => {
        await copyIn(client, folder);
        await client.end();
      });
      return {...cost, program: 0, peakMegabytes: Number.NaN};
    });
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
}

async function inDatabase<T>(name: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const result = await work(await postgres.url(name));
  await drop(name);
  return result;
}

async function drop(database: string): Promise<void> {
  const text = `DROP DATABASE "${database}"`;
  await withClient(await postgres.url('postgres'), (client) => client.query(text));
}

function report(programs: readonly Program[], turns: readonly Turn[]): void {
  const names = [...programs.map(({name}) => name), 'COPY'];
  const middle = (name: string, step: Step, read: (cost: Cost) => number) =>
    percentile(
      turns.map((turn) => read(turn[name]?.[step] ?? nothing)),
      0.5,
    );
  const rows = stepNames.flatMap((step) =>
    names
      .filter((name) => turns[0]?.[name]?.[step] !== undefined)
      .map((name) => [
        steps[step],
        name,
        ...[cpuOf, ({program}: Cost) => program, ({postgres}: Cost) => postgres].map((read) =>
          middle(name, step, read).toFixed(2),
        ),
        middle(name, step, ({seconds}) => seconds).toFixed(2),
        (middle(name, step, ({walBytes}) => walBytes) / 1e6).toFixed(1),
        middle(name, step, ({peakMegabytes}) => peakMegabytes)
          .toFixed(0)
          .replace('NaN', ''),
      ]),
  );
  const head = ['what', 'by', 'CPU, s', 'program', 'Postgres', 'wall, s', 'WAL, MB', 'peak, MB'];
  process.stdout.write(
    `${formatNumber(Number(values.jobs))} jobs and all that belongs to them, four streams; ` +
      `medians of ${turns.length} turns\n${formatTable(head, rows)}\n` +
      `${ratios(names, turns).join('\n')}\n`,
  );
}

const nothing: Cost = {
  seconds: Number.NaN,
  program: Number.NaN,
  postgres: Number.NaN,
  walBytes: Number.NaN,
  peakMegabytes: Number.NaN,
};

function cpuOf({program, postgres}: Cost): number {
  return program + postgres;
}

/** Each ratio is of two runs of one turn. */
function ratios(names: readonly string[], turns: readonly Turn[]): string[] {
  const spread = (
    [one, other]: readonly [[string, Step], [string, Step]],
    read: (cost: Cost) => number,
  ) => {
    const found = turns.map(
      (turn) =>
        read(turn[one[0]]?.[one[1]] ?? nothing) / read(turn[other[0]]?.[other[1]] ?? nothing),
    );
    const [least, most] = [Math.min(...found), Math.max(...found)];
    const range = found.length === 1 ? '' : ` (${least.toFixed(2)} to ${most.toFixed(2)})`;
    return `${percentile(found, 0.5).toFixed(2)}${range}`;
  };
  const wall = ({seconds}: Cost) => seconds;
  const wal = ({walBytes}: Cost) => walBytes;
  const against = names
    .slice(1)
    .filter((name) => name !== 'COPY')
    .flatMap((name) =>
      stepNames.map((step) => {
        const both: readonly [[string, Step], [string, Step]] = [
          ['fieldmirror', step],
          [name, step],
        ];
        return (
          `${steps[step]} ÷ ${name}: CPU ${spread(both, cpuOf)}, wall ${spread(both, wall)}` +
          (step === 'first' ? `, WAL ${spread(both, wal)}` : '')
        );
      }),
    );
  const nights = stepNames.slice(2).map(
    (step) =>
      `${steps[step]} ÷ unchanged: CPU ` +
      spread(
        [
          ['fieldmirror', step],
          ['fieldmirror', 'unchanged'],
        ],
        cpuOf,
      ),
  );
  const copied = spread(
    [
      ['COPY', 'first'],
      ['fieldmirror', 'first'],
    ],
    wall,
  );
  return [`first load: ${copied} of the rate of COPY`, ...against, ...nights];
}
