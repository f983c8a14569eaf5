// npm run bench:idle [-- --accounts 1000] [-- --records 1000] [-- --seconds 60]: one worker with
// few accounts and with many: how long it takes to sweep them all, for the first time and again,
// and what it costs when nothing is due. It reports; it asserts nothing.

import {randomBytes} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {setTimeout as wait} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import type pg from 'pg';
import {formatTable} from '../src/core/format.ts';
import {openPool} from '../src/postgres/database.ts';
import {allStreams} from '../src/streams/all.ts';
import {insertSchedules, planSchedules} from '../src/sweeps/schedules.ts';
import {serveAccounts} from '../test/jobs/account-server.ts';
import {startCommand} from '../test/support/command.ts';
import {migrateWarehouse, startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {
  addAccounts,
  beginSweeps,
  requestSweeps,
  waitForSweeps,
  whileAtWork,
} from './hosts/many-accounts.ts';

/** Totals since the start of a worker and of its database. */
interface Totals {
  readonly transactions: number;
  readonly walBytes: number;
  readonly rows: number;
  /** CPU time of the worker's process; Linux only, NaN elsewhere. */
  readonly cpuMs: number;
}

const {values} = parseArgs({
  options: {
    accounts: {type: 'string', default: '1000'},
    records: {type: 'string', default: '1000'},
    seconds: {type: 'string', default: '60'},
  },
});
const idleSeconds = Number(values.seconds);
const fewAccounts = 10;
/** Two pages of customers, jobs and tasks, and one of employees. */
const perPage = Math.round(Number(values.records) / 7);
/**
 * After the last sweep. A session of Postgres that has nothing to do tells its counts after ten
 * seconds.
 */
const settleMs = 15_000;
const tickMs = 10;
const dayMs = 86_400_000;
const key = randomBytes(32).toString('base64');

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
const server = await setUp.step(
  'starting the service',
  () => serveAccounts({perPage}),
  (started) => started.close(),
);
try {
  const rows: (string | number)[][] = [];
  for (const count of [fewAccounts, Number(values.accounts)]) rows.push(await measure(count));
  const head = ['accounts', 'first, s', 'again, s', 'transactions', 'rows', 'WAL, kB', 'CPU, ms'];
  process.stdout.write(
    `one worker, ${allStreams.length} streams an account, ${perPage * 7} records; ` +
      `then what a minute costs in which nothing is due\n${formatTable(head, rows)}\n`,
  );
} finally {
  await setUp.end();
}

async function measure(count: number): Promise<(string | number)[]> {
  const databaseUrl = await postgres.url(`accounts_${count}`);
  await migrateWarehouse(databaseUrl);
  const pool = openPool(databaseUrl, {max: 2, applicationName: 'bench'});
  await addAccounts(pool, server, {count, key});
  const worker = startCommand(['start'], {DATABASE_URL: databaseUrl, FIELDMIRROR_KEY: key});
  const work = whileAtWork([worker], async () => {
    const first = await secondsOf(pool, () => beginSweeps(pool));
    const again = await secondsOf(pool, async () => {
      for (const accountId of await listAccounts(pool)) await requestSweeps(pool, accountId);
    });
    await addSchedules(pool);
    await wait(settleMs);
    const before = await readTotals(pool, worker.process.pid);
    await wait(idleSeconds * 1_000);
    const after = await readTotals(pool, worker.process.pid);
    const perMinute = (total: keyof Totals) =>
      Math.round(((after[total] - before[total]) * 60) / idleSeconds);
    return [
      count,
      first,
      again,
      perMinute('transactions'),
      perMinute('rows'),
      Math.round(perMinute('walBytes') / 1_000),
      perMinute('cpuMs'),
    ];
  });
  return await work.finally(() => pool.end());
}

async function secondsOf(pool: pg.Pool, begin: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await begin();
  await waitForSweeps(pool);
  return (performance.now() - startedAt) / 1000;
}

async function listAccounts(pool: pg.Pool): Promise<string[]> {
  const {rows} = await pool.query('SELECT account_id AS "accountId" FROM sync.accounts');
  return rows.map(({accountId}) => accountId);
}

/** The schedules that accounts begin with, due tomorrow. */
async function addSchedules(pool: pg.Pool): Promise<void> {
  const tomorrow = new Date(Date.now() + dayMs);
  for (const accountId of await listAccounts(pool))
    await insertSchedules(pool, accountId, planSchedules(tomorrow, 'UTC', accountId));
}

async function readTotals(pool: pg.Pool, pid: number | undefined): Promise<Totals> {
  const {rows} = await pool.query(`
    SELECT xact_commit::float8 AS transactions, pg_current_wal_lsn() - '0/0' AS "walBytes",
           (SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 FROM pg_stat_user_tables) AS rows
      FROM pg_stat_database WHERE datname = current_database()`);
  const {transactions, walBytes, rows: written} = rows[0];
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Its name may hold spaces; the fields behind it are counted from the closing bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuMs = (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * tickMs;
  return {transactions, rows: written, walBytes: Number(walBytes), cpuMs};
}
