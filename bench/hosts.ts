// npm run bench:hosts [-- --accounts 60] [-- --latency 100] [-- --queue redis]: workers on hosts of their own, Postgres,
// Redis and the service on others. How much 1, 2 and 4 of them sweep, and what it costs that one of four is cut off in
// the middle. Linux and root; elsewhere it says that it is skipped. It reports; it asserts nothing but that all is swept.

import {type ChildProcess, spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import type pg from 'pg';
import {drawTable} from '../src/commands/terminal/report.ts';
import {allStreams} from '../src/streams/all.ts';
import {openPool} from '../src/warehouse/postgres/database.ts';
import {type AccountServer, serveAccounts} from '../test/jobs/account-server.ts';
import {main, startProgram} from '../test/support/command.ts';
import {migrateWarehouse} from '../test/support/own-postgres.ts';
import {kill, tie} from '../test/support/server-process.ts';
import {SetUp} from '../test/support/set-up.ts';
import {withClient} from '../test/support/with-client.ts';
import {enterNetwork, type Host, hubAddress, type Network} from './hosts/network.ts';
import {addAccounts, beginSweeps, nameAccount, waitForSweeps, whileAtWork} from './many-accounts.ts';

/** The machines that workers share. */
interface Shared {
  readonly server: AccountServer;
  readonly postgresUrl: string;
  /** Null where the queue is in Postgres. */
  readonly redisUrl: string | null;
  readonly hosts: readonly Host[];
}

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
const lookEveryMs = 50;

const network = await enterNetwork();
if (network !== null) await measureAll(network);

async function measureAll(network: Network): Promise<void> {
  const setUp = new SetUp();
  try {
    const shared = await startShared(setUp, network);
    process.stdout.write(
      `${accountCount} accounts, ${sweepCount} sweeps, answers after ${latencyMs} ms, the queue in ${values.queue}\n`,
    );
    // One run to warm up: the compile cache, the files of Postgres.
    await measure(shared, {name: 'warm', workers: 4});
    const rows: (string | number)[][] = [];
    let alone = 0;
    for (const workers of [1, 2, 4]) {
      const {seconds} = await measure(shared, {name: `workers_${workers}`, workers});
      if (workers === 1) alone = seconds;
      rows.push([workers, seconds, (sweepCount / seconds).toFixed(1), (alone / seconds).toFixed(2)]);
    }
    const cut = await measure(shared, {name: 'cut', workers: 4, cutsOff: true});
    rows.push(['4, one cut off', cut.seconds, (sweepCount / cut.seconds).toFixed(1), '']);
    const head = ['workers', 'seconds', 'sweeps a second', 'times one worker'];
    process.stdout.write(
      `${drawTable(head, rows)}\na worker was cut off after a quarter, and the others swept all; joined again, it was seen after ${cut.backSeconds.toFixed(1)} s\n`,
    );
  } finally {
    await setUp.end();
  }
}

async function startShared(setUp: SetUp, network: Network): Promise<Shared> {
  const [postgres, redis] = [network.addHost('postgres'), network.addHost('redis')];
  const {url} = await setUp.step(
    'starting Postgres',
    () => startPostgresHost(postgres),
    (started) => started.end(),
  );
  const onRedis = values.queue === 'redis';
  if (onRedis) await setUp.step('starting Redis', async () => startRedisHost(redis), kill);
  const server = await setUp.step(
    'starting the service',
    () => serveAccounts({address: hubAddress}),
    (started) => started.close(),
  );
  for (let number = 1; number <= accountCount; number++)
    server.manners.set(nameAccount(number), {before: () => wait(latencyMs)});
  return {
    server,
    postgresUrl: url,
    redisUrl: onRedis ? `redis://${redis.address}` : null,
    hosts: [1, 2, 3, 4].map((number) => network.addHost(`worker-${number}`)),
  };
}

async function startPostgresHost(host: Host): Promise<{url: string; end(): Promise<void>}> {
  const program = [process.execPath, join(import.meta.dirname, 'hosts', 'postgres-host.ts')];
  const [command = '', ...args] = host.command(program);
  const child = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit']});
  const ended = once(child, 'exit');
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`Postgres ended with ${code}`))),
  ]);
  const url = new URL(JSON.parse(String(line)).url);
  url.hostname = host.address;
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  return {url: url.href, end};
}

function startRedisHost(host: Host): ChildProcess {
  const settings = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--save', ''];
  const [command = '', ...args] = host.command(['redis-server', ...settings]);
  return tie(spawn(command, args, {stdio: 'ignore', cwd: tmpdir()}));
}

/** Sweeps all accounts once, in a new warehouse. */
async function measure(
  {server, postgresUrl, redisUrl, hosts}: Shared,
  {
    name,
    workers,
    cutsOff = false,
  }: {readonly name: string; readonly workers: number; readonly cutsOff?: boolean},
): Promise<{seconds: number; backSeconds: number}> {
  await withClient(postgresUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  const databaseUrl = postgresUrl.replace(/\w+$/, name);
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
  const running = taking.map((host) => startProgram(host.command([process.execPath, main, 'start']), env));
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
  const joinedAt = performance.now();
  host?.joinAgain();
  while ((await readSeenAt(pool, host)) === before) await wait(lookEveryMs);
  return (performance.now() - joinedAt) / 1000;
}

async function readSeenAt(pool: pg.Pool, host: Host | undefined): Promise<string> {
  const {rows} = await pool.query('SELECT max(seen_at)::text AS at FROM sync.workers WHERE host = $1', [
    host?.name,
  ]);
  return rows[0].at;
}
