// One full sweep of the jobs, as in the product, in a process of its own, so that its memory can be
// measured: with the star that is brought in line beside it, or without; and, where asked for, one
// more by the same process.

import {upsertAccount} from '../../src/accounts/accounts.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {allTables} from '../../src/streams/all.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';

const [databaseUrl = '', apiUrl = '', ...how] = process.argv.slice(2);
const timeZone = 'America/New_York';
const pool = openPool(databaseUrl, {max: 4, applicationName: 'bench'});
const transport = createTransport({baseUrl: apiUrl, token: new Secret('bench')});
const api = createClient(transport);
const pageReader = new PageReader();
const log = createLogger({level: 'warn', secrets: []});
const {accountId} = await upsertAccount(pool, {name: 'bench', apiUrl: 'bench', timeZone});
const carry = how.includes('star') ? await carryWithStar() : runSweep;
const deps = {pool, databaseUrl, openAccount: async () => ({api, timeZone}), pageReader, log};

const before = await pool.query(
  'SELECT pg_current_wal_lsn() AS lsn, pg_current_xact_id()::text AS transaction',
);
const {seconds, result} = await sweepOnce();
// Kilobytes on every platform that Node knows.
const peakMegabytes = process.resourceUsage().maxRSS / 1024;
const wal = await pool.query('SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::int8 AS bytes', [
  before.rows[0].lsn,
]);

process.send?.({
  result,
  written: await countWritten(before.rows[0].transaction),
  seconds,
  walBytes: Number(wal.rows[0].bytes),
  peakMegabytes,
  again: how.includes('again') ? await sweepOnce() : null,
});
await transport.close();
await pageReader.close();
await pool.end();
process.exit();

async function sweepOnce() {
  const asked = {accountId, stream: 'jobs', mode: 'full', requestedBy: 'command'} as const;
  const {sweepId} = await requestSweep(pool, asked);
  const startedAt = performance.now();
  const result = await carry(deps, sweepId, new AbortController().signal);
  return {seconds: (performance.now() - startedAt) / 1000, result};
}

/**
 * Loaded where it is needed, before the clock runs: with it comes the queue, whose memory is not
 * that of a sweep.
 */
async function carryWithStar(): Promise<typeof runSweep> {
  const {runSweepJob} = await import('../../jobs/queue-jobs.ts');
  return (deps, sweepId, signal) => runSweepJob(deps, sweepId, {signal});
}

/** Rows written since a transaction began: in the warehouse, and superseded versions in history. */
async function countWritten(transaction: string): Promise<{warehouse: number; history: number}> {
  const count = async (schema: string, prefix: string) => {
    const counts = allTables.map(
      ({name}) =>
        `SELECT count(*) FROM ${schema}."${prefix}${name}" WHERE xmin::text::bigint >= $1`,
    );
    const {rows} = await pool.query(
      `SELECT sum(count) AS sum FROM (${counts.join(' UNION ALL ')}) AS counts`,
      [transaction],
    );
    return Number(rows[0].sum);
  };
  return {warehouse: await count('warehouse', ''), history: await count('history', 'past_')};
}
