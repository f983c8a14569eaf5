// npm run bench:accounts [-- --accounts 200] [-- --runs 3]: whether one slow account and one that
// refuses its token keep the others waiting. Two worker processes sweep all four streams of every
// account, once with all accounts well and once with these two, in turn; the ratio is what counts.
// It reports; it asserts nothing.

import {randomBytes} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {setTimeout as wait} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import {formatTable} from '../src/core/format.ts';
import {openPool} from '../src/postgres/database.ts';
import type {EmbeddedPostgres} from '../src/postgres/embedded.ts';
import {allStreams} from '../src/streams/all.ts';
import {type AccountServer, serveAccounts} from '../test/jobs/account-server.ts';
import {type Running, startCommand} from '../test/support/command.ts';
import {migrateWarehouse, startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {
  addAccounts,
  beginSweeps,
  nameAccount,
  waitForSweeps,
  whileAtWork,
} from './hosts/many-accounts.ts';

/** One whole pass over all accounts. */
interface Pass {
  readonly seconds: number;
  /** The larger of the two workers' peaks. */
  readonly peakMegabytes: number;
  readonly slowRequests: number;
  readonly refusedRequests: number;
}

const {values} = parseArgs({
  options: {accounts: {type: 'string', default: '200'}, runs: {type: 'string', default: '3'}},
});
const accountCount = Number(values.accounts);
const runs = Number(values.runs);
const workerCount = 2;
const slowMs = 5_000;
const [slow, refusing] = [nameAccount(1), nameAccount(2)];
const key = randomBytes(32).toString('base64');

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
const server = await setUp.step(
  'starting the service',
  () => serveAccounts(),
  (started) => started.close(),
);
try {
  const rows: (string | number)[][] = [];
  // One run to warm up: the compile cache, the files of Postgres.
  await measure(postgres, server, 'warm');
  for (let run = 1; run <= runs; run++) {
    const well = await measure(postgres, server, `well_${run}`);
    const ill = await measure(postgres, server, `ill_${run}`, true);
    rows.push([
      run,
      well.seconds,
      ill.seconds,
      (ill.seconds / well.seconds).toFixed(2),
      `${ill.slowRequests} and ${ill.refusedRequests}`,
      Math.round(Math.max(well.peakMegabytes, ill.peakMegabytes)),
    ]);
  }
  const head = [
    'run',
    'all well, s',
    'two ill, s',
    'ratio',
    'requests to the slow and the refusing',
    'peak MB',
  ];
  process.stdout.write(
    `${accountCount} accounts, ${workerCount} workers; ` +
      `seconds until the ${accountCount - 2} others have all ${allStreams.length} streams swept\n` +
      `${formatTable(head, rows)}\n`,
  );
} finally {
  await setUp.end();
}

async function measure(
  postgres: EmbeddedPostgres,
  server: AccountServer,
  name: string,
  isIll = false,
): Promise<Pass> {
  const databaseUrl = await postgres.url(name);
  await migrateWarehouse(databaseUrl);
  const pool = openPool(databaseUrl, {max: 2, applicationName: 'bench'});
  await addAccounts(pool, server, {count: accountCount, key});
  server.manners.clear();
  server.asked.clear();
  if (isIll) {
    server.manners.set(slow, {before: () => wait(slowMs)});
    server.manners.set(refusing, {isRefusing: true});
  }
  const workers = Array.from({length: workerCount}, () =>
    startCommand(['start'], {DATABASE_URL: databaseUrl, FIELDMIRROR_KEY: key}),
  );
  const work = whileAtWork(workers, async () => {
    const startedAt = performance.now();
    await beginSweeps(pool);
    await waitForSweeps(pool, {except: [slow, refusing]});
    const seconds = (performance.now() - startedAt) / 1000;
    return {
      seconds,
      peakMegabytes: Math.max(...(await Promise.all(workers.map(readPeak)))),
      slowRequests: server.asked.get(slow) ?? 0,
      refusedRequests: server.asked.get(refusing) ?? 0,
    };
  });
  return await work.finally(() => pool.end());
}

/** Linux only; NaN elsewhere. */
async function readPeak({process: child}: Running): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
