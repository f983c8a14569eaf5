// A process that exports: so many rows of the star's widest fact as Parquet, or a snapshot of the
// whole star, as a delivery takes it. It tells its peak memory, and the seconds of CPU that it and
// its session of Postgres took.

import {createWriteStream} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {takeSnapshot} from '../../src/delivery/snapshot.ts';
import {openPool} from '../../src/postgres/database.ts';
import {writeParquet} from '../../src/star/parquet.ts';
import {clockOf} from '../../test/support/cpu.ts';

/** What an export came to. */
export interface Exported {
  readonly written: number;
  readonly bytes: number;
  readonly peakMb: number;
  readonly cpuSeconds: number;
  readonly postgresSeconds: number;
}

type Work = (pool: pg.Pool) => Promise<Pick<Exported, 'written' | 'bytes'>>;

const [databaseUrl = '', what = '', rows = ''] = process.argv.slice(2);
const pool = openPool(databaseUrl, {max: 1, applicationName: 'bench', statementTimeoutMs: 0});
const work: Work = what === 'snapshot' ? writeSnapshot : await prepareRows(Number(rows));
// One session: the CPU time that is measured is its own.
const session = await pool.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
const clock = clockOf(session.rows[0]?.pid ?? 0);
const startedAt = clock();
const exported = await work(pool);
const postgresSeconds = clock() - startedAt;
await pool.end();
const {maxRSS, userCPUTime, systemCPUTime} = process.resourceUsage();
process.send?.({
  ...exported,
  peakMb: Math.round(maxRSS / 1024),
  cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
  postgresSeconds,
} satisfies Exported);
process.disconnect();

/** The jobs again and again, until there are enough; each time all of them, in their order. */
async function prepareRows(count: number): Promise<Work> {
  await pool.query(
    `CREATE TEMPORARY TABLE many AS
       SELECT row_number() OVER (ORDER BY again, job_key) AS row, job.*
         FROM generate_series(1, ${count} / (SELECT count(*) FROM mart.fct_job) + 1) AS again
        CROSS JOIN mart.fct_job AS job ORDER BY again, job_key LIMIT ${count}`,
  );
  return writeRows;
}

async function writeRows() {
  const out = createWriteStream('/dev/null');
  let bytes = 0;
  const client = await pool.connect();
  await client.query('BEGIN READ ONLY');
  const {rows: written} = await writeParquet(client, 'SELECT * FROM many', (part) => {
    bytes += part.length;
    return new Promise((resolve) => out.write(part, () => resolve()));
  });
  await client.query('ROLLBACK');
  client.release();
  return {written, bytes};
}

async function writeSnapshot() {
  const folder = await mkdtemp(join(tmpdir(), 'bench-snapshot-'));
  try {
    const course = {signal: new AbortController().signal, onStep: () => {}};
    const {rows: written, bytes} = await takeSnapshot(pool, folder, course);
    return {written, bytes};
  } finally {
    await rm(folder, {recursive: true});
  }
}
