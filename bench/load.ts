// npm run bench [-- --jobs 30000] [-- --large]: how fast a first load and an unchanged sweep are, as ratios to floors
// measured in the same run. It reports; it asserts nothing.

import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import pg from 'pg';
import {drawTable} from '../src/commands/terminal/report.ts';
import {jobs} from '../src/streams/jobs.ts';
import {formatNumber} from '../src/views/format.ts';
import type {EmbeddedPostgres} from '../src/warehouse/embedded/embedded.ts';
import {migrateWarehouse, startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {copyIn, copyOut, tokenise} from './floors.ts';
import {listPages, preparePages} from './pages.ts';

interface SweepFigures {
  readonly seconds: number;
  readonly walBytes: number;
  readonly peakMegabytes: number;
  /** Rows that the sweep wrote. */
  readonly written: {readonly warehouse: number; readonly history: number};
  readonly result: {
    readonly state: string;
    readonly counts: {readonly requests: number; readonly pages: number};
  };
}

const {values} = parseArgs({
  options: {jobs: {type: 'string', default: '30000'}, large: {type: 'boolean', default: false}},
});
const jobCount = Number(values.jobs);
const tables = [jobs.table, ...jobs.children.map((child) => child.table)];

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
  const server = await serve(folder);
  // One load to warm up: a new Postgres makes its log files with its first load, a used one has them.
  await sweep(await migratedDatabase(postgres, `warm_${count}`), server.url);
  const first = await sweep(databaseUrl, server.url);
  // As autovacuum does within a minute: its writes are not the sweep's.
  await vacuum(databaseUrl);
  const unchanged = await sweep(databaseUrl, server.url);
  server.process.kill();
  const tokeniseSeconds = await tokenise(files);
  const copySeconds = await copyRows(databaseUrl, await migratedDatabase(postgres, `floor_${count}`));
  report(count, {first, unchanged, tokeniseSeconds, copySeconds});
}

async function migratedDatabase(postgres: EmbeddedPostgres, name: string): Promise<string> {
  const url = await postgres.url(name);
  await migrateWarehouse(url);
  return url;
}

async function vacuum(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    await client.query('VACUUM (ANALYZE)');
  } finally {
    await client.end();
  }
}

async function serve(folder: string): Promise<{process: ChildProcess; url: string}> {
  const child = fork(join(import.meta.dirname, 'page-server.ts'), [folder]);
  const [{port}] = await once(child, 'message');
  return {process: child, url: `http://127.0.0.1:${port}`};
}

async function sweep(databaseUrl: string, apiUrl: string): Promise<SweepFigures> {
  // As `npm start` runs it.
  const child = fork(join(import.meta.dirname, 'sweep-process.ts'), [databaseUrl, apiUrl], {
    execArgv: ['--max-semi-space-size=8'],
    env: {...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache')},
  });
  const [figures] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the sweep's process ended with ${code}`))),
  ]);
  if (figures.result.outcome !== 'ended')
    throw new Error(`the sweep did not end: ${JSON.stringify(figures.result)}`);
  return figures;
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
  figures: {first: SweepFigures; unchanged: SweepFigures; tokeniseSeconds: number; copySeconds: number},
): void {
  const {first, unchanged, tokeniseSeconds, copySeconds} = figures;
  const slower = Math.max(tokeniseSeconds, copySeconds);
  const row = (what: string, seconds: number, note: string) => [
    what,
    seconds,
    Math.round(count / seconds),
    note,
  ];
  const {written, result} = unchanged;
  const wal = `${formatNumber(unchanged.walBytes / 1024)} kB of WAL`;
  const proof = `unchanged sweep: ${result.state} with ${formatNumber(result.counts.requests)} requests for ${formatNumber(result.counts.pages)} pages; rows written: ${written.warehouse} in the warehouse, ${written.history} in history`;
  process.stdout.write(
    `${drawTable(
      ['what', 'seconds', 'jobs a second', ''],
      [
        row('floor: tokenising the same bytes', tokeniseSeconds, ''),
        row('floor: COPY of the same rows', copySeconds, ''),
        row(
          'first load, HTTP included',
          first.seconds,
          `${(slower / first.seconds).toFixed(2)} of the slower floor`,
        ),
        row(
          'unchanged sweep, HTTP included',
          unchanged.seconds,
          `${(tokeniseSeconds / unchanged.seconds).toFixed(1)} times tokenising; ${wal}`,
        ),
      ],
    )}\npeak memory: ${Math.round(first.peakMegabytes)} MB first load, ${Math.round(unchanged.peakMegabytes)} MB unchanged\n${proof}\n`,
  );
}
