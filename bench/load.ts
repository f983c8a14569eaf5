// npm run bench [-- --jobs 30000] [-- --large]: how fast a first load and an unchanged sweep are, as ratios to floors
// measured in the same run. It reports; it asserts nothing.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import pg from 'pg';
import {drawTable} from '../src/commands/terminal/report.ts';
import {jobs} from '../src/streams/jobs.ts';
import {formatNumber} from '../src/views/format.ts';
import type {EmbeddedPostgres} from '../src/warehouse/embedded/embedded.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {copyIn, copyOut, tokenise} from './load/floors.ts';
import {listPages, preparePages} from './load/pages.ts';
import {migratedDatabase, type PageServer, type Pair, serve, sweep, sweepTwice} from './load/sweeps.ts';

const {values} = parseArgs({
  options: {jobs: {type: 'string', default: '30000'}, large: {type: 'boolean', default: false}},
});
const jobCount = Number(values.jobs);
const tables = [jobs.table, ...jobs.children.map((child) => child.table)];

/** Sweeps of the pages of one server. */
interface Served extends Pair {
  /** CPU time that the server took for a sweep. */
  readonly serverSeconds: number;
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
  const databaseUrl = await migratedDatabase(postgres, `warehouse_${count}`);
  const server = await serve({file: 'page-server.ts', args: [folder]});
  // One load to warm up: a new Postgres makes its log files with its first load, a used one has them.
  await sweep(await migratedDatabase(postgres, `warm_${count}`), server.url);
  const plain = await sweepFrom(server, databaseUrl);
  const packed = await sweepFrom(
    await serve({file: 'page-server.ts', args: [folder, 'packed']}),
    await migratedDatabase(postgres, `packed_${count}`),
  );
  const streamed = await sweepFrom(
    await serve({file: 'page-server.ts', args: [folder, 'streaming']}),
    await migratedDatabase(postgres, `streamed_${count}`),
  );
  const tokeniseSeconds = await tokenise(files);
  const copySeconds = await copyRows(databaseUrl, await migratedDatabase(postgres, `floor_${count}`));
  report(count, {plain, packed, streamed, tokeniseSeconds, copySeconds});
}

/** Sweeps twice, and once more by the same process; then the server ends. */
async function sweepFrom(server: PageServer, databaseUrl: string): Promise<Served> {
  const before = await server.cpuSeconds();
  const pair = await sweepTwice(databaseUrl, server.url, 'again');
  const serverSeconds = ((await server.cpuSeconds()) - before) / 3;
  server.process.kill();
  return {...pair, serverSeconds};
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

function report(
  count: number,
  figures: {
    readonly plain: Served;
    readonly packed: Served;
    readonly streamed: Served;
    readonly tokeniseSeconds: number;
    readonly copySeconds: number;
  },
): void {
  const {plain, packed, streamed, tokeniseSeconds, copySeconds} = figures;
  const slower = Math.max(tokeniseSeconds, copySeconds);
  const row = (what: string, seconds: number, note = '') => [
    what,
    seconds,
    Math.round(count / seconds),
    note,
  ];
  const times = (seconds: number) => `${(tokeniseSeconds / seconds).toFixed(1)} times tokenising`;
  const rowsOf = ({first, unchanged}: Pair, how: string) => [
    row(`first load, ${how}`, first.seconds, `${(slower / first.seconds).toFixed(2)} of the slower floor`),
    row(
      `unchanged sweep, ${how}`,
      unchanged.seconds,
      `${times(unchanged.seconds)}; ${formatNumber(unchanged.walBytes / 1024)} kB of WAL`,
    ),
    ...(unchanged.again === null
      ? []
      : [row('  the next one of the same process', unchanged.again.seconds, times(unchanged.again.seconds))]),
  ];
  const {first, unchanged} = plain;
  const {written, result} = unchanged;
  const cost = `CPU time of the page server, seconds a sweep: ${plain.serverSeconds.toFixed(2)}, packed ${packed.serverSeconds.toFixed(2)}, streamed from files ${streamed.serverSeconds.toFixed(2)}`;
  const proof = `unchanged sweep: ${result.state}, and the next one ${unchanged.again?.result.state}; with ${formatNumber(result.counts.requests)} requests for ${formatNumber(result.counts.pages)} pages; rows written: ${written.warehouse} in the warehouse, ${written.history} in history`;
  process.stdout.write(
    `${drawTable(
      ['what', 'seconds', 'jobs a second', ''],
      [
        row('floor: tokenising the same bytes', tokeniseSeconds),
        row('floor: COPY of the same rows', copySeconds),
        ...rowsOf(plain, 'HTTP included'),
        ...rowsOf(packed, 'pages packed'),
        ...rowsOf(streamed, 'pages streamed from files'),
      ],
    )}\npeak memory: ${Math.round(first.peakMegabytes)} MB first load, ${Math.round(unchanged.peakMegabytes)} MB unchanged\n${cost}\n${proof}\n`,
  );
}
