// npm run bench [-- --jobs 30000] [-- --turns 3] [-- --large]: how fast a first load and an
// unchanged sweep are, as ratios to floors measured beside them. The speed of a machine changes
// within minutes, so all are measured in turns, and each ratio is to the floor of its own turn. It
// reports medians; it asserts nothing.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import pg from 'pg';
import {formatNumber} from '../src/core/format.ts';
import {drawTable} from '../src/core/table.ts';
import type {EmbeddedPostgres} from '../src/postgres/embedded.ts';
import {jobs} from '../src/streams/jobs.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {percentile} from '../test/support/percentile.ts';
import {SetUp} from '../test/support/set-up.ts';
import {withClient} from '../test/support/with-client.ts';
import {copyIn, copyOut, tokenise} from './load/floors.ts';
import {listPages, preparePages} from './load/pages.ts';
import {
  migratedDatabase,
  type PageServer,
  type Pair,
  type SweepFigures,
  serve,
  sweep,
  sweepTwice,
} from './load/sweeps.ts';

const {values} = parseArgs({
  options: {
    jobs: {type: 'string', default: '30000'},
    turns: {type: 'string', default: '3'},
    large: {type: 'boolean', default: false},
  },
});
const jobCount = Number(values.jobs);
const turnCount = Number(values.turns);
let warehouseCount = 0;
const tables = [jobs.table, ...jobs.children.map((child) => child.table)];

/** Sweeps of the pages of one server. */
interface Served extends Pair {
  /** CPU time that the server took for a sweep. */
  readonly serverSeconds: number;
}

/** The ways in which pages are served. */
type Way = 'plain' | 'packed' | 'streamed';

/** Everything once, each in a warehouse of its own. */
interface Turn extends Readonly<Record<Way, Served>> {
  readonly tokeniseSeconds: number;
  readonly copySeconds: number;
}

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
try {
  await measure(postgres, jobCount);
  if (values.large) await measure(postgres, jobCount * 4);
} finally {
  await setUp.end();
}

async function measure(postgres: EmbeddedPostgres, count: number): Promise<void> {
  process.stdout.write(`\n${formatNumber(count)} jobs with embedded children; preparing pages\n`);
  const folder = await preparePages(count, await postgres.url(`service_${count}`));
  const files = await listPages(folder);
  const start = async (...how: string[]) =>
    await serve({file: 'page-server.ts', args: [folder, ...how]});
  const servers = {
    plain: await start(),
    packed: await start('packed'),
    streamed: await start('streaming'),
  };
  // One load to warm up: a new Postgres makes its log files with its first load, a used one has
  // them.
  await inNewWarehouse(postgres, (url) => sweep(url, servers.plain.url));
  const turns: Turn[] = [];
  while (turns.length < turnCount) turns.push(await takeTurn(postgres, servers, files));
  for (const server of Object.values(servers)) server.process.kill();
  report(count, turns);
}

async function takeTurn(
  postgres: EmbeddedPostgres,
  servers: Readonly<Record<Way, PageServer>>,
  files: readonly string[],
): Promise<Turn> {
  const tokeniseSeconds = await tokenise(files);
  const {plain, copySeconds} = await inNewWarehouse(postgres, async (url) => ({
    plain: await sweepFrom(servers.plain, url),
    copySeconds: await inNewWarehouse(postgres, (to) => copyRows(url, to)),
  }));
  const packed = await inNewWarehouse(postgres, (url) => sweepFrom(servers.packed, url));
  const streamed = await inNewWarehouse(postgres, (url) => sweepFrom(servers.streamed, url));
  return {plain, packed, streamed, tokeniseSeconds, copySeconds};
}

/** The warehouse goes when the work is done, so that many turns need the room of one. */
async function inNewWarehouse<T>(
  postgres: EmbeddedPostgres,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const name = `warehouse_${warehouseCount++}`;
  const result = await work(await migratedDatabase(postgres, name));
  await withClient(await postgres.url('postgres'), (client) =>
    client.query(`DROP DATABASE ${name}`),
  );
  return result;
}

/** Sweeps twice, and once more by the same process. */
async function sweepFrom(server: PageServer, databaseUrl: string): Promise<Served> {
  const before = await server.cpuSeconds();
  const pair = await sweepTwice(databaseUrl, server.url, 'again');
  return {...pair, serverSeconds: ((await server.cpuSeconds()) - before) / 3};
}

async function copyRows(from: string, to: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-copy-'));
  const clients = [new pg.Client(from), new pg.Client(to)] as const;
  await Promise.all(clients.map((client) => client.connect()));
  try {
    await copyOut(clients[0], tables, folder);
    return await copyIn(clients[1], tables, folder);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await rm(folder, {recursive: true, force: true});
  }
}

function report(count: number, turns: readonly Turn[]): void {
  const middle = (read: (turn: Turn) => number) => percentile(turns.map(read), 0.5);
  const row = (what: string, seconds: (turn: Turn) => number, note = '') => {
    const median = middle(seconds);
    return [what, median, Math.round(count / median), note];
  };
  const spread = (ratio: (turn: Turn) => number, digits: number) => {
    const [least, most] = [Math.min(...turns.map(ratio)), Math.max(...turns.map(ratio))];
    const range =
      turns.length === 1 ? '' : ` (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
    return `${middle(ratio).toFixed(digits)}${range}`;
  };
  const times = (seconds: (turn: Turn) => number) =>
    `${spread((turn) => turn.tokeniseSeconds / seconds(turn), 1)} times tokenising`;
  const slower = ({tokeniseSeconds, copySeconds}: Turn) => Math.max(tokeniseSeconds, copySeconds);
  const rowsOf = (way: Way, how: string) => {
    const first = (turn: Turn) => turn[way].first.seconds;
    const unchanged = (turn: Turn) => turn[way].unchanged.seconds;
    const again = (turn: Turn) => turn[way].unchanged.again?.seconds ?? Number.NaN;
    return [
      row(
        `first load, ${how}`,
        first,
        `${spread((turn) => slower(turn) / first(turn), 2)} of the slower floor`,
      ),
      row(`unchanged sweep, ${how}`, unchanged, times(unchanged)),
      row('  the next one of the same process', again, times(again)),
    ];
  };
  const server = (way: Way) => middle((turn) => turn[way].serverSeconds).toFixed(2);
  const serverTimes = [
    server('plain'),
    `packed ${server('packed')}`,
    `streamed from files ${server('streamed')}`,
  ].join(', ');
  const peakOf = (sweep: 'first' | 'unchanged') =>
    Math.round(Math.max(...turns.map(({plain}) => plain[sweep].peakMegabytes)));
  process.stdout.write(
    `${drawTable(
      ['what', 'seconds', 'jobs a second', ''],
      [
        row('floor: tokenising the same bytes', (turn) => turn.tokeniseSeconds),
        row('floor: COPY of the same rows', (turn) => turn.copySeconds),
        ...rowsOf('plain', 'HTTP included'),
        ...rowsOf('packed', 'pages packed'),
        ...rowsOf('streamed', 'pages streamed from files'),
      ],
    )}
medians of ${turns.length} turns
peak memory, at most: ${peakOf('first')} MB first load, ${peakOf('unchanged')} MB unchanged
CPU time of the page server, seconds a sweep: ${serverTimes}
${turns.map(({plain}) => proofOf(plain.unchanged)).join('\n')}
`,
  );
}

function proofOf({result, again, written, walBytes}: SweepFigures): string {
  const {requests, pages} = result.counts;
  return [
    `unchanged sweep: ${result.state}, and the next one ${again?.result.state}`,
    `with ${formatNumber(requests)} requests for ${formatNumber(pages)} pages`,
    `rows written: ${written.warehouse} in the warehouse, ${written.history} in history`,
    `${formatNumber(walBytes / 1024)} kB of WAL`,
  ].join('; ');
}
