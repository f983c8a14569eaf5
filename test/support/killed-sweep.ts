// One sweep whose worker dies at a named step, while it brings a held list up to the list as it is
// now.

import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {openPool} from '../../src/postgres/database.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {readSweep, requestSweep, type Sweep, type SweepStep} from '../../src/sweeps/sweeps.ts';
import type {Work} from './sweep-worker.ts';

export interface KilledSweep {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly service: {readonly url: string; readonly token: string};
  /** The number of workers; the one that dies is replaced when it was the only one. */
  readonly workers: 1 | 2;
  /** Null: no worker dies. */
  readonly dies: {readonly at: SweepStep; readonly time: number; readonly file: string} | null;
}

/**
 * The state that a sweep leaves: no instants, no numbers of its own, so that two can be compared.
 */
export interface Left {
  readonly state: string;
  readonly rows: readonly string[];
  readonly versions: readonly string[];
  readonly tombstones: readonly string[];
  readonly absent: readonly string[];
  /** Sightings kept for a sweep under way, useless afterwards. */
  readonly sightings: number;
  readonly hasDied: boolean;
}

/** Columns that differ between two sweeps that did the same. */
const passing = [
  'row_id',
  '_first_seen_at',
  '_changed_at',
  '_deleted_at',
  '_sweep_id',
  '_page',
  'valid_from',
  'valid_to',
];
const leaseMs = 1_000;
const lookEveryMs = 50;
const longestMs = 60_000;
const soonMs = 10_000;
const workerFile = join(import.meta.dirname, 'sweep-worker.ts');

/** Carries one full sweep of jobs to its end with worker processes, one of which dies. */
export async function carryKilled(killed: KilledSweep): Promise<Left> {
  const {databaseUrl, redisUrl, service, dies} = killed;
  const pool = openPool(databaseUrl, {max: 2, applicationName: 'killed sweep'});
  const {rows} = await pool.query<{account_id: string}>('SELECT account_id FROM sync.accounts');
  const accountId = rows[0]?.account_id ?? '';
  const work: Work = {
    databaseUrl,
    redisUrl,
    accountId,
    service,
    timeZone: 'America/New_York',
    leaseMs,
    dies,
  };
  const workers = new Set<ChildProcess>();
  try {
    const target = {accountId, stream: 'jobs', mode: 'full', requestedBy: 'command'} as const;
    const {sweepId} = await requestSweep(pool, target);
    for (let count = 0; count < killed.workers; count++) workers.add(startWorker(work));
    const sweep = await awaitEnd(pool, sweepId, () => {
      for (const worker of workers) if (worker.signalCode !== null) workers.delete(worker);
      if (workers.size === 0) workers.add(startWorker({...work, dies: null}));
    });
    // The sweep has ended in the database a moment before its worker comes to the last step.
    return await readLeft(pool, sweep, dies !== null && (await comes(dies.file)));
  } finally {
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(
      [...workers].map((worker) => worker.exitCode ?? worker.signalCode ?? once(worker, 'exit')),
    );
    await pool.end();
  }
}

function startWorker(work: Work): ChildProcess {
  return spawn(process.execPath, [workerFile], {
    // Compiling is most of the work of a process that soon dies.
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      WORK: JSON.stringify(work),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

async function awaitEnd(pool: pg.Pool, sweepId: string, meanwhile: () => void): Promise<Sweep> {
  for (const until = Date.now() + longestMs; Date.now() < until; ) {
    const sweep = await readSweep(pool, sweepId);
    if (sweep !== null && sweep.endedAt !== null) return sweep;
    meanwhile();
    await wait(lookEveryMs);
  }
  throw new Error(`sweep ${sweepId}: expected its end within ${longestMs / 1000} s`);
}

/** Whether a file is there, or comes soon. */
async function comes(file: string): Promise<boolean> {
  for (const until = Date.now() + soonMs; Date.now() < until; await wait(lookEveryMs))
    if (existsSync(file)) return true;
  return false;
}

async function readLeft(
  pool: pg.Pool,
  {state, sweepId, accountId}: Sweep,
  hasDied: boolean,
): Promise<Left> {
  const lines = async (sql: string, values: unknown[] = []) =>
    (await pool.query<{line: string}>(sql, values)).rows.map((row) => row.line);
  const tables = ['jobs', ...jobs.children.map(({table}) => table.name)];
  const rows: string[] = [];
  const versions: string[] = [];
  for (const name of tables) {
    const kept = `to_jsonb(held) - '{${passing.join(',')}}'::text[]`;
    const plain = `concat('${name} ', ${kept}, _deleted_at IS NULL)`;
    rows.push(
      ...(await lines(
        `SELECT ${plain} AS line FROM warehouse.${pg.escapeIdentifier(name)} AS held ORDER BY 1`,
      )),
    );
    versions.push(
      ...(await lines(
        `SELECT concat(${plain}, valid_to IS NULL) AS line
         FROM history.${pg.escapeIdentifier(name)} AS held ORDER BY 1`,
      )),
    );
  }
  return {
    state,
    rows,
    versions,
    tombstones: await lines(
      `SELECT number || ' ' || status || ' ' || message || (written_at IS NOT NULL) AS line
       FROM sync.tombstones WHERE sweep_id = $1 ORDER BY 1`,
      [sweepId],
    ),
    absent: await lines(
      `SELECT number || ' ' || message AS line FROM sync.absent_numbers WHERE account_id = $1
       ORDER BY 1`,
      [accountId],
    ),
    sightings: (await lines(`SELECT sweep_id::text AS line FROM sync.sightings`)).length,
    hasDied,
  };
}
