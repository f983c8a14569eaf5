// One full sweep of the jobs, as in the product, in a process of its own, so that its memory can be
// measured: with the star that is brought in line beside it, or without.

import {upsertAccount} from '../../src/accounts/accounts.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';

const [databaseUrl = '', apiUrl = '', how] = process.argv.slice(2);
const timeZone = 'America/New_York';
const pool = openPool(databaseUrl, {max: 4, applicationName: 'bench'});
const transport = createTransport({baseUrl: apiUrl, token: new Secret('bench')});
const api = createClient(transport);
const pageReader = new PageReader();
const log = createLogger({level: 'warn', secrets: []});
const {accountId} = await upsertAccount(pool, {name: 'bench', apiUrl: 'bench', timeZone});
const carry = how === 'star' ? await carryWithStar() : runSweep;
const deps = {pool, databaseUrl, openAccount: async () => ({api, timeZone}), pageReader, log};

const {sweepId} = await requestSweep(pool, {
  accountId,
  stream: 'jobs',
  mode: 'full',
  requestedBy: 'command',
});
const startedAt = performance.now();
const result = await carry(deps, sweepId, new AbortController().signal);
process.send?.({
  result,
  seconds: (performance.now() - startedAt) / 1000,
  // Kilobytes on every platform that Node knows.
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
});
await transport.close();
await pageReader.close();
await pool.end();
process.exit();

/**
 * Loaded where it is needed, before the clock runs: with it comes the queue, whose memory is not
 * that of a sweep.
 */
async function carryWithStar(): Promise<typeof runSweep> {
  const {runSweepJob} = await import('../../jobs/queue-jobs.ts');
  return (deps, sweepId, signal) => runSweepJob(deps, sweepId, {signal});
}
