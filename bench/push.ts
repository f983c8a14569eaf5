// npm run bench:push [-- --changes 10000] [-- --waiting 100000] [-- --ms 0]: how fast changes
// drain, against the same bare requests from the same client: a read, a write and a read back for
// each record, and nothing else. The service runs in a process of its own, and so many milliseconds
// away. Both are measured in turns within one run. It reports; it asserts nothing.

import {parseArgs} from 'node:util';
import type pg from 'pg';
import {upsertAccount} from '../src/accounts/accounts.ts';
import {createClient, sendWrite} from '../src/api/client.ts';
import {createTransport, type Transport} from '../src/api/transport.ts';
import {composeRequest} from '../src/changes/request.ts';
import {formatTable} from '../src/core/format.ts';
import {createLogger} from '../src/core/log.ts';
import {Secret} from '../src/core/secret.ts';
import {openPool} from '../src/postgres/database.ts';
import {pushAccount} from '../src/push/push.ts';
import {definitions, migrateSchema} from '../src/schema/migrate.ts';
import {jobs, jobWrites} from '../src/streams/jobs.ts';
import {PageReader} from '../src/sweeps/page-reader.ts';
import {runSweep} from '../src/sweeps/run-sweep.ts';
import {requestSweep} from '../src/sweeps/sweeps.ts';
import {type Running, startCommand} from '../test/support/command.ts';
import {openFaultyLine} from '../test/support/faulty-line.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {percentile} from '../test/support/percentile.ts';
import {SetUp} from '../test/support/set-up.ts';

const {values} = parseArgs({
  options: {
    changes: {type: 'string', default: '10000'},
    waiting: {type: 'string', default: '100000'},
    ms: {type: 'string', default: '0'},
  },
});
const changeCount = Number(values.changes);
const waitingCount = Number(values.waiting);
const ms = Number(values.ms);
const turns = 5;
const jobsPerCustomer = 6;
/** More than an account is asked for at once. */
const atOnce = 24;
const timeZone = 'America/New_York';
const token = 'bench-token-of-nobody';

const setUp = new SetUp();
const {home, postgres} = await startPostgres(setUp, 'bench');
const service = await setUp.step('starting the service', startOwnService, async (started) => {
  started.process.kill('SIGTERM');
  await started.ended;
});
const pool = await setUp.step(
  'making the warehouse',
  async () => openPool(await postgres.url('warehouse'), {max: 16, applicationName: 'bench'}),
  (opened) => opened.end(),
);
const pageReader = new PageReader();
try {
  const {url: near, token: given = token} = JSON.parse(
    await service.prints(/\{[^}]*"url"[^}]*\}/),
  ) as {
    url: string;
    token?: string;
  };
  const url = ms > 0 ? await moveAway(near) : near;
  await migrateSchema(pool, definitions);
  const transport = createTransport({baseUrl: url, token: new Secret(given), allowHttp: true});
  const api = createClient(transport);
  const account = await upsertAccount(pool, {name: 'bench', apiUrl: url, timeZone});
  const log = createLogger({level: 'warn', secrets: []});
  let carriedMs = 0;
  const onCarried = () => {
    carriedMs = performance.now();
  };
  const deps = {
    pool,
    databaseUrl: '',
    openAccount: async () => ({api, timeZone}),
    pageReader,
    log,
    onCarried,
  };
  const signal = new AbortController().signal;
  process.stdout.write('filling the warehouse\n');
  const {accountId} = account;
  const {sweepId} = await requestSweep(pool, {
    accountId,
    stream: 'jobs',
    mode: 'full',
    requestedBy: 'command',
  });
  await runSweep(deps, sweepId, signal);
  const numbers = await readNumbers(pool);
  const [pushed, bare] = [numbers.slice(0, changeCount), numbers.slice(changeCount)];
  await renameBare(transport, bare.slice(0, 200));

  const rows: (string | number)[][] = [];
  const [rates, bareRates]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    const mine = pushed.slice((turn * pushed.length) / turns, ((turn + 1) * pushed.length) / turns);
    const theirs = bare.slice((turn * bare.length) / turns, ((turn + 1) * bare.length) / turns);
    const bareRate = await rateOf(theirs.length, () => renameBare(transport, theirs));
    await pool.query(
      `UPDATE warehouse.jobs SET name = 'pushed ' || job_number
        WHERE job_number = ANY ($1::bigint[])`,
      [mine],
    );
    const rate = await rateOf(mine.length, async () => {
      const counts = await pushAccount(deps, accountId, signal);
      if (counts.done !== mine.length)
        throw new Error(`expected ${mine.length} done, got ${JSON.stringify(counts)}`);
    });
    rates.push(rate);
    bareRates.push(bareRate);
    rows.push([
      turn + 1,
      theirs.length,
      bareRate.toFixed(0),
      mine.length,
      rate.toFixed(0),
      (rate / bareRate).toFixed(2),
    ]);
  }
  const head = ['turn', 'bare updates', 'a second', 'changes', 'a second', 'ratio'];
  process.stdout.write(
    `${formatTable(head, rows)}\nall turns: ${(sum(rates) / sum(bareRates)).toFixed(2)}\n`,
  );

  const carryOne = async () => {
    await pushAccount(deps, accountId, signal);
    return carriedMs;
  };
  const before = await latencyOf(pool, pushed.slice(0, 100), carryOne);
  await makeWaiting(pool, accountId);
  const after = await latencyOf(pool, pushed.slice(100, 200), carryOne);
  process.stdout.write(
    `one change, from its UPDATE to done: ${before.toFixed(1)} ms; ` +
      `with ${waitingCount.toLocaleString('en')} others waiting: ${after.toFixed(1)} ms ` +
      '(medians of 100)\n',
  );
  await transport.close();
} finally {
  await pageReader.close();
  await setUp.end();
}

async function startOwnService(): Promise<Running> {
  const customers = String(Math.ceil((changeCount * 1.25) / jobsPerCustomer));
  const options = ['--port', '0', '--customers', customers, '--json'];
  return startCommand(['service', ...options, '--database', await postgres.url('service')], {
    FIELDMIRROR_HOME: home,
  });
}

/** @returns the address of the same service, each request to which takes so much longer */
async function moveAway(near: string): Promise<string> {
  const open = async () =>
    await openFaultyLine(Number(new URL(near).port), () => ({kind: 'delay', ms}));
  const {port} = await setUp.step('moving the service away', open, (line) => line.close());
  return `http://127.0.0.1:${port}`;
}

async function readNumbers(pool: pg.Pool): Promise<string[]> {
  const {rows} = await pool.query<{number: string}>(
    'SELECT job_number AS number FROM warehouse.jobs ORDER BY 1',
  );
  return rows.map(({number}) => number);
}

/** The three requests of a change, so many at once. */
async function renameBare(transport: Transport, numbers: readonly string[]): Promise<void> {
  const left = [...numbers];
  const query = {include: jobs.include.join(',')};
  const lane = async () => {
    for (let number = left.pop(); number !== undefined; number = left.pop()) {
      const path = `/jobs/${number}.xml`;
      await transport.read({path, query, urgency: 'write-back'});
      const fields = {name: `bare ${number} ${left.length}`};
      const request = composeRequest(
        jobWrites,
        {operation: 'update', number, parent: null},
        {fields, timeZone},
      );
      await sendWrite(transport, request, jobs);
      await transport.read({path, query, urgency: 'write-back'});
    }
  };
  await Promise.all(Array.from({length: atOnce}, lane));
}

async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (count * 1000) / (performance.now() - startedAt);
}

/**
 * Milliseconds for one change: the median of these changes.
 * @param carry - returns when the change was done; a worker then looks whether another is due
 */
async function latencyOf(
  pool: pg.Pool,
  numbers: readonly string[],
  carry: () => Promise<number>,
): Promise<number> {
  const times: number[] = [];
  for (const number of numbers) {
    const startedAt = performance.now();
    await pool.query(`UPDATE warehouse.jobs SET name = name || ' again' WHERE job_number = $1`, [
      number,
    ]);
    times.push((await carry()) - startedAt);
  }
  return percentile(times, 0.5);
}

/** A person holds a third, a third backs off, a third waits for another change. */
async function makeWaiting(pool: pg.Pool, accountId: string): Promise<void> {
  await pool.query(
    `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
      state, due_at, waits_for)
     SELECT $1, 'tasks', 1000000 + at, 'update', 1000000 + at, '{"name": "x"}', '{"name": "y"}',
            CASE at % 3 WHEN 0 THEN 'held' ELSE 'pending' END,
              now() + CASE at % 3 WHEN 1 THEN interval '1 day' ELSE interval '0' END,
            CASE at % 3 WHEN 2 THEN 1 END
       FROM generate_series(1, $2::integer) AS at`,
    [accountId, waitingCount],
  );
  await pool.query('ANALYZE sync.changes');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
