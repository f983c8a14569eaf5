// npm run bench:lean [-- --jobs 1000000]: a first load and an unchanged sweep of 30,000 lean jobs
// and of so many, and how much more memory the longer list takes. It reports; it asserts nothing.

import {parseArgs} from 'node:util';
import {formatNumber, formatTable} from '../src/core/format.ts';
import type {EmbeddedPostgres} from '../src/postgres/embedded.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {migratedDatabase, serve, sweepTwice} from './load/sweeps.ts';

const {values} = parseArgs({options: {jobs: {type: 'string', default: '1000000'}}});
const most = Number(values.jobs);
const few = Math.min(30_000, Math.floor(most / 2));

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
try {
  const rows: (string | number)[][] = [];
  for (const count of [few, most]) rows.push(await measure(postgres, count));
  const head = ['jobs of 2 kB', 'first, s', 'peak MB', 'unchanged, s', 'peak MB', 'requests'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
} finally {
  await setUp.end();
}

async function measure(postgres: EmbeddedPostgres, count: number): Promise<(string | number)[]> {
  const databaseUrl = await migratedDatabase(postgres, `lean_${count}`);
  const server = await serve({file: 'lean-server.ts', args: [String(count)]});
  const {first, unchanged} = await sweepTwice(databaseUrl, server.url);
  server.process.kill();
  const megabytes = [first, unchanged].map(({peakMegabytes}) => Math.round(peakMegabytes));
  return [
    formatNumber(count),
    ...[first.seconds, megabytes[0] ?? 0, unchanged.seconds, megabytes[1] ?? 0],
    formatNumber(unchanged.result.counts.requests),
  ];
}
