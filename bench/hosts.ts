// npm run bench:hosts [-- --accounts 60] [-- --latency 100] [-- --queue redis]: workers on hosts of
// their own, Postgres, Redis and the service on others. How much 1, 2 and 4 of them sweep, what it
// costs that one of four is cut off in the middle, and how long a session that was cut off keeps
// its locks. Linux and root; elsewhere it says that it is skipped. It reports; it asserts nothing
// but that all is swept.

import {randomBytes} from 'node:crypto';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import type pg from 'pg';
import {formatTable} from '../src/core/format.ts';
import {openPool} from '../src/postgres/database.ts';
import {allStreams} from '../src/streams/all.ts';
import {programLine, startProgram} from '../test/support/command.ts';
import {migrateWarehouse} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import {withClient} from '../test/support/with-client.ts';
import {type Machines, startMachines} from './hosts/machines.ts';
import {
  addAccounts,
  beginSweeps,
  nameAccount,
  waitForSweeps,
  waitUntil,
  whileAtWork,
} from './hosts/many-accounts.ts';
import {enterNetwork, type Host, type Network} from './hosts/network.ts';

const {values} = parseArgs({
  options: {
    accounts: {type: 'string', default: '60'},
    latency: {type: 'string', default: '100'},
    queue: {type: 'string', default: 'redis'},
  },
});
const accountCount = Number(values.accounts);
const latencyMs = Number(values.latency);
const sweepCount = accountCount * allStreams.length;
/** Two pages of three customers, jobs and tasks, and one of employees. */
const rowsAnAccount = 21;
const key = randomBytes(32).toString('base64');

const network = await enterNetwork();
if (network !== null) await measureAll(network);

async function measureAll(network: Network): Promise<void> {
  const setUp = new SetUp();
  try {
    const machines = await startMachines(setUp, {network, queue: values.queue});
    for (let number = 1; number <= accountCount; number++)
      machines.server.manners.set(nameAccount(number), {before: () => wait(latencyMs)});
    say(
      `${accountCount} accounts, ${sweepCount} sweeps, answers after ${latencyMs} ms, ` +
        `the queue in ${values.queue}`,
    );
    // One run to warm up: the compile cache, the files of Postgres.
    await measure(machines, {name: 'warm', workers: 4});
    const rows: (string | number)[][] = [];
    let alone = 0;
    for (const workers of [1, 2, 4]) {
      const {seconds} = await measure(machines, {name: `workers_${workers}`, workers});
      if (workers === 1) alone = seconds;
      rows.push([
        workers,
        seconds,
        (sweepCount / seconds).toFixed(1),
        (alone / seconds).toFixed(2),
      ]);
    }
    say(formatTable(['workers', 'seconds', 'sweeps a second', 'times one worker'], rows));
    const cut = await measure(machines, {name: 'cut', workers: 4, cutsOff: true});
    say(
      'one of four cut off after a quarter: the others swept all in ' +
        `${cut.seconds.toFixed(1)} s; joined again, it was seen after ` +
        `${cut.backSeconds.toFixed(1)} s`,
    );
    const heldSeconds = await measureLock(machines, 'cut');
    say(
      'a session cut off in the middle of a COPY: its locks were free after ' +
        `${heldSeconds.toFixed(1)} s`,
    );
  } finally {
    await setUp.end();
  }
}

/** Sweeps all accounts once, in a new warehouse. */
async function measure(
  {server, postgresUrl, redisUrl, workers: hosts}: Machines,
  {
    name,
    workers,
    cutsOff = false,
  }: {readonly name: string; readonly workers: number; readonly cutsOff?: boolean},
): Promise<{seconds: number; backSeconds: number}> {
  await withClient(postgresUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  const databaseUrl = urlOf(postgresUrl, name);
  await migrateWarehouse(databaseUrl);
  const pool = openPool(databaseUrl, {max: 2, applicationName: 'bench'});
  await addAccounts(pool, server, {count: accountCount, key});
  const env = {
    DATABASE_URL: databaseUrl,
    FIELDMIRROR_KEY: key,
    FIELDMIRROR_ALLOW_HTTP: '1',
    ...(redisUrl === null ? {} : {REDIS_URL: redisUrl}),
  };
  const taking = hosts.slice(0, workers);
  const running = taking.map((host) => startProgram(host.command(programLine('start')), env));
  const work = whileAtWork(running, async () => {
    const startedAt = performance.now();
    await beginSweeps(pool);
    if (cutsOff) {
      await waitForSweeps(pool, {left: (sweepCount * 3) / 4});
      taking.at(-1)?.cutOff();
    }
    await waitForSweeps(pool);
    const seconds = (performance.now() - startedAt) / 1000;
    await expectAllRows(pool);
    return {seconds, backSeconds: cutsOff ? await joinAgain(pool, taking.at(-1)) : 0};
  });
  return await work.finally(() => pool.end());
}

async function expectAllRows(pool: pg.Pool): Promise<void> {
  const counts = allStreams.map(({name}) => `(SELECT count(*) FROM warehouse.${name})`).join(' + ');
  const {rows} = await pool.query(`SELECT (${counts})::int AS count`);
  const expected = accountCount * rowsAnAccount;
  if (rows[0].count !== expected)
    throw new Error(`expected ${expected} rows in the warehouse, got ${rows[0].count}`);
}

/** @returns seconds until the host's worker is seen again */
async function joinAgain(pool: pg.Pool, host: Host | undefined): Promise<number> {
  const before = await readSeenAt(pool, host);
  host?.joinAgain();
  return await waitUntil(
    'the worker is seen again',
    async () => (await readSeenAt(pool, host)) !== before,
  );
}

async function readSeenAt(pool: pg.Pool, host: Host | undefined): Promise<string> {
  const {rows} = await pool.query(
    'SELECT max(seen_at)::text AS at FROM sync.workers WHERE host = $1',
    [host?.name],
  );
  return rows[0].at;
}

/**
 * Cuts off a session that holds the locks of all accounts in the middle of a COPY: Postgres waits
 * for its next line, and no time limit of a statement or of an idle transaction ends that.
 * @returns seconds until the locks are free
 */
async function measureLock({postgresUrl, workers}: Machines, name: string): Promise<number> {
  const databaseUrl = urlOf(postgresUrl, name);
  const host = workers[0];
  if (host === undefined) throw new Error('no host');
  const program = [
    process.execPath,
    join(import.meta.dirname, 'hosts', 'copying-host.ts'),
    databaseUrl,
  ];
  const copying = startProgram(host.command(program), {});
  const pool = openPool(databaseUrl, {max: 1, applicationName: 'bench'});
  const isThere = async (query: string) => (await pool.query(query)).rowCount === 1;
  try {
    await waitUntil('the COPY waits for its next line', () =>
      isThere(`SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'COPY%'
                AND wait_event = 'ClientRead'`),
    );
    host.cutOff();
    return await waitUntil('the locks are free', () =>
      isThere('SELECT FROM sync.accounts ORDER BY account_id LIMIT 1 FOR UPDATE SKIP LOCKED'),
    );
  } finally {
    copying.process.kill('SIGKILL');
    await pool.end();
  }
}

function urlOf(postgresUrl: string, database: string): string {
  return postgresUrl.replace(/\w+$/, database);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
