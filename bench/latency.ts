// npm run bench:latency [-- --jobs 30000] [-- --ms 200]: sweeps of a service that is far away,
// against what its latency allows with as many requests at once as an account may have. It reports;
// it asserts nothing.

import {parseArgs} from 'node:util';
import {DEFAULT_CONCURRENCY} from '../src/api/concurrency.ts';
import {formatNumber, formatTable} from '../src/core/format.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {migratedDatabase, serve, sweepTwice} from './load/sweeps.ts';

const {values} = parseArgs({
  options: {jobs: {type: 'string', default: '30000'}, ms: {type: 'string', default: '200'}},
});
const atOnce = DEFAULT_CONCURRENCY.max;

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
const server = await serve({file: 'lean-server.ts', args: [values.jobs, values.ms]});
try {
  const databaseUrl = await migratedDatabase(postgres, 'latency');
  const pair = await sweepTwice(databaseUrl, server.url);
  const rows = Object.entries(pair).map(([what, {seconds, result}]) => {
    const {requests} = result.counts;
    const allowed = (requests * Number(values.ms)) / 1000 / atOnce;
    return [what, formatNumber(requests), seconds, allowed, (allowed / seconds).toFixed(2)];
  });
  const head = ['sweep', 'requests', 'seconds', 'latency allows', 'of what it allows'];
  process.stdout.write(
    `${formatNumber(Number(values.jobs))} jobs of 2 kB, answers after ${values.ms} ms, ` +
      `${atOnce} requests at once\n${formatTable(head, rows)}\n`,
  );
} finally {
  server.process.kill();
  await setUp.end();
}
