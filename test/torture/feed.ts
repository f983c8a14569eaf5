// npm run torture -- feed [--runs 100000] [--seed 1]: transactions of 16 sessions at once, followed by readers that are killed.
// Each world has 5,000 of them.

import {parseArgs} from 'node:util';
import {runModel} from '../feed/model/run.ts';
import {withClient} from '../support/with-client.ts';
import {openWarehouses} from './warehouses.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {runs: {type: 'string', default: '100000'}, seed: {type: 'string', default: '1'}},
});
const runs = Number(values.runs);
const perWorld = 5_000;

const total = {writes: 0, kills: 0, violations: 0};
const warehouses = await openWarehouses();
try {
  for (let done = 0; done < runs; done += perWorld) {
    const seed = `${values.seed}.${done}`;
    const transactions = Math.min(perWorld, runs - done);
    const warehouse = await warehouses.make();
    const {writes, kills, violations} = await runModel({
      ...{url: warehouse.url, seed, transactions},
      accountId: await addAccount(warehouse.url),
    });
    await warehouse.drop();
    total.writes += writes;
    total.kills += kills;
    total.violations += violations.length;
    for (const violation of violations) process.stdout.write(`seed ${seed}: ${violation}\n`);
    process.stdout.write(
      `${done + transactions} of ${runs} transactions: ${total.writes} entries, ${total.kills} readers killed, ${total.violations} violations\n`,
    );
  }
} finally {
  await warehouses.close();
}
process.exit(total.violations === 0 ? 0 : 1);

async function addAccount(url: string): Promise<string> {
  return await withClient(url, async (client) => {
    const {rows} = await client.query<{account_id: string}>(
      `INSERT INTO sync.accounts (name, api_url, time_zone) VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id`,
    );
    return rows[0]?.account_id ?? '';
  });
}
