// npm run bench:insight [-- --jobs 60000 --rows 1000000 --turns 13]: the star of a business with so
// many jobs. How much CPU time each answer takes, a refresh after a hundred changed jobs, after
// none and of everything, and the query that a BI tool writes; what so many rows take as Parquet,
// and a snapshot of all for a delivery; what the star adds to a first load and to an unchanged
// sweep. It reports; it asserts nothing.

import {fork} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {allocatorLimits, heapLimits} from '../src/cli/launch.ts';
import {formatNumber, formatTable} from '../src/core/format.ts';
import {inSweepTransaction, openPool} from '../src/postgres/database.ts';
import {refreshStar} from '../src/star/mart.ts';
import {members, questions} from '../src/star/star.ts';
import {startProgram} from '../test/support/command.ts';
import {clockOf} from '../test/support/cpu.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';
import type {Exported} from './load/export-process.ts';
import {measureStarCost, type Spread} from './load/star-cost.ts';

const {values} = parseArgs({
  options: {
    jobs: {type: 'string', default: '60000'},
    rows: {type: 'string', default: '1000000'},
    turns: {type: 'string', default: '13'},
  },
});
const runs = 3;
/**
 * Jobs of a first load, for each that is asked for: each is loaded twice a turn, with 20 kB of XML.
 */
const loadedShare = 1 / 6;
const fewestLoaded = 100;

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
const service = fork(join(import.meta.dirname, 'load', 'kept-service.ts'), [
  await postgres.url('business'),
  values.jobs,
]);
const databaseUrl = await postgres.url('warehouse');
// One session: the CPU time that is measured is its own.
const pool = openPool(databaseUrl, {max: 1, applicationName: 'bench', statementTimeoutMs: 0});
try {
  const [{url, token}] = await once(service, 'message');
  await mirror(url, token);
  await pool.query('VACUUM (ANALYZE)');
  await pool.query('SET jit = off; SET max_parallel_workers_per_gather = 0');
  const {rows} = await pool.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  const clock = clockOf(rows[0]?.pid ?? 0);
  const secondsOf = async (act: () => Promise<unknown>) => {
    const startedAt = clock();
    await act();
    return clock() - startedAt;
  };
  const read = (text: string) => bestOf(() => secondsOf(() => pool.query(text)));
  await pool.query(
    `INSERT INTO mart.settings (account_key, working_hours) SELECT account_key, '{8,8,8,8,8,0,0}'
      FROM mart.dim_account`,
  );
  const refreshes = [
    ['everything', await secondsOf(() => refreshStar(pool))],
    [
      'after 100 changed jobs',
      await bestOf(() => changeJobs().then(() => secondsOf(() => refreshStar(pool)))),
    ],
    ['after none', await bestOf(() => secondsOf(() => refreshStar(pool)))],
  ] as const;
  await pool.query('VACUUM (ANALYZE)');
  const answers: [string, number][] = [];
  for (const {name} of questions)
    answers.push([name, await read(`SELECT * FROM mart.${name} WHERE account_key = 1`)]);
  answers.sort(([, one], [, other]) => other - one);
  const naive: [string, number][] = [];
  for (const fact of members.filter(({name}) => name.startsWith('fct_')))
    naive.push([fact.name, await read(naiveQuery(fact))]);
  const draw = (head: string, rows: readonly (readonly [string, number])[]) =>
    formatTable(
      [head, 'CPU seconds'],
      rows.map(([name, seconds]) => [name, seconds.toFixed(3)]),
    );
  const parquet = await measureExport(['parquet', values.rows]);
  const snapshot = await measureExport(['snapshot']);
  const loaded = Math.max(fewestLoaded, Math.round(Number(values.jobs) * loadedShare));
  const {firstLoad, unchanged} = await measureStarCost(postgres, {
    jobs: loaded,
    turns: Number(values.turns),
  });
  const ofLoads = `a first load ${formatSpread(firstLoad)} of the time`;
  const lines = [
    `${formatNumber(Number(values.jobs))} jobs and all that belongs to them`,
    draw('refresh', refreshes),
    draw('answer', answers),
    draw('one fact and its dimensions, LIMIT 6', naive),
    `fct_job as Parquet: ${parquet}`,
    `a snapshot of the whole star, with its tie-outs: ${snapshot}`,
    `${formatNumber(loaded)} jobs with the star, against without: ${ofLoads}, ` +
      `an unchanged sweep ${formatSpread(unchanged)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
} finally {
  await pool.end();
  service.disconnect();
  await setUp.end();
}

function formatSpread({median, least, most}: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)} by turn)`;
}

async function mirror(url: string, token: string): Promise<void> {
  const program = join(import.meta.dirname, '..', 'bin', 'fieldmirror');
  const {code, stdout, stderr} = await startProgram([program, 'start', '--once'], {
    DATABASE_URL: databaseUrl,
    FIELDMIRROR_API_URL: url,
    FIELDMIRROR_API_TOKEN: token,
    FIELDMIRROR_TIME_ZONE: 'America/New_York',
  }).ended;
  if (code !== 0) throw new Error(`start --once ended with ${code}: ${stdout}${stderr}`);
}

/**
 * As a BI tool writes it: a fact with every dimension that it has a key of, and nothing of them
 * asked for.
 */
function naiveQuery({name, columns}: (typeof members)[number]): string {
  const keys = new Set(columns.map(([column]) => column));
  const dimensions = members.filter(
    ({name: other, columns: [first]}) =>
      /^dim_(?!.*_version$)/.test(other) && first !== undefined && keys.has(first[0]),
  );
  const joins = dimensions.map(
    ({name: other, columns: [first]}) => `LEFT JOIN mart.${other} USING (${first?.[0]})`,
  );
  return `SELECT count(*) FROM mart.${name} AS fact ${joins.join(' ')} WHERE fact.account_key = 1
    LIMIT 6`;
}

/**
 * In a process of its own, with the limits of the verb, whose memory is that of the export alone.
 * @returns what it came to, in words
 */
async function measureExport(what: readonly string[]): Promise<string> {
  const startedAt = performance.now();
  const child = fork(
    join(import.meta.dirname, 'load', 'export-process.ts'),
    [databaseUrl, ...what],
    {execArgv: heapLimits, env: {...process.env, ...allocatorLimits}},
  );
  const [told] = (await once(child, 'message')) as [Exported];
  const seconds = (performance.now() - startedAt) / 1000;
  return (
    `${formatNumber(told.written)} rows, ${formatNumber(told.bytes / 1e6)} MB, in ` +
    `${seconds.toFixed(1)} s, with ${told.cpuSeconds.toFixed(1)} s of CPU here and ` +
    `${told.postgresSeconds.toFixed(1)} s in Postgres, at a peak of ${told.peakMb} MB of memory`
  );
}

async function changeJobs(): Promise<void> {
  await inSweepTransaction(pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET subtotal = subtotal + 1, total = total + 1
        WHERE row_id IN (SELECT row_id FROM warehouse.jobs ORDER BY md5(row_id::text) LIMIT 100)`,
    );
  });
}

async function bestOf(measure: () => Promise<number>): Promise<number> {
  const seconds: number[] = [];
  for (let run = 0; run < runs; run++) seconds.push(await measure());
  return Math.min(...seconds);
}
