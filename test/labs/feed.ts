// npm run torture -- feed [--runs 100000] [--seed 1]: transactions of 16 sessions at once, followed
// by readers that are killed, and sent to a receiver that fails and one that does not by workers
// that are killed. Each world has 5,000 transactions.

import {parseArgs} from 'node:util';
import {percentile} from '../support/percentile.ts';
import {withClient} from '../support/with-client.ts';
import {runModel} from './feed/run.ts';
import {openWarehouses} from './warehouses.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {runs: {type: 'string', default: '100000'}, seed: {type: 'string', default: '1'}},
});
const runs = Number(values.runs);
const perWorld = 5_000;

const total = {writes: 0, kills: 0, workerKills: 0, repeats: 0, violations: 0};
const delays: number[] = [];
const warehouses = await openWarehouses();
try {
  for (let done = 0; done < runs; done += perWorld) {
    const seed = `${values.seed}.${done}`;
    const transactions = Math.min(perWorld, runs - done);
    const warehouse = await warehouses.make();
    const {
      violations,
      delays: some,
      ...counts
    } = await runModel({
      url: warehouse.url,
      seed,
      transactions,
      accountId: await addAccount(warehouse.url),
    });
    await warehouse.drop();
    for (const name of ['writes', 'kills', 'workerKills', 'repeats'] as const)
      total[name] += counts[name];
    delays.push(...some);
    total.violations += violations.length;
    for (const violation of violations) process.stdout.write(`seed ${seed}: ${violation}\n`);
    const delay = `${Math.round(percentile(delays, 0.5))} ms`;
    const slow = `p95 ${Math.round(percentile(delays, 0.95))} ms`;
    process.stdout.write(
      `${done + transactions} of ${runs} transactions: ${total.writes} entries, ` +
        `${total.kills} readers and ${total.workerKills} sessions of workers killed, ` +
        `${total.repeats} messages sent again, from commit to receiver ${delay}, ${slow}, ` +
        `${total.violations} violations\n`,
    );
  }
} finally {
  await warehouses.close();
}
process.exit(total.violations === 0 ? 0 : 1);

async function addAccount(url: string): Promise<string> {
  return await withClient(url, async (client) => {
    const {rows} = await client.query<{account_id: string}>(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
        VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id`,
    );
    return rows[0]?.account_id ?? '';
  });
}
