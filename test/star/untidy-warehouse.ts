import type pg from 'pg';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import type {SetUp} from '../support/set-up.ts';
import {openStarWarehouse} from './star-warehouse.ts';
import {fillUntidyBusiness} from './untidy-business.ts';

/** Two businesses in two zones; their numbers are known once they are in a warehouse. */
export const untidyAccounts = () => [
  {name: 'here', timeZone: 'America/New_York', currency: 'USD', accountId: ''},
  {name: 'far', timeZone: 'Australia/Lord_Howe', currency: 'AUD', accountId: ''},
];

/** A warehouse with an untidy business for each account, whose numbers it sets. */
export async function openUntidyWarehouse(
  setUp: SetUp,
  accounts: ReturnType<typeof untidyAccounts>,
): Promise<{readonly pool: pg.Pool; readonly url: string}> {
  const {pool, url} = await openStarWarehouse(setUp, 4);
  for (const [seed, account] of accounts.entries()) {
    const {name, timeZone, currency} = account;
    ({accountId: account.accountId} = await upsertAccount(pool, {
      name,
      timeZone,
      apiUrl: `http://127.0.0.1:${seed + 1}`,
    }));
    const {accountId} = account;
    await inSweepTransaction(pool, (client) => fillUntidyBusiness(client, {accountId, seed}));
    await pool.query(
      `INSERT INTO mart.settings (account_key, currency, working_hours) VALUES ($1, $2, $3)`,
      [accountId, currency, [8, 8, 8, 8, 8, 0, 0]],
    );
  }
  await pool.query(
    `INSERT INTO mart.labels (account_key, kind, id, label)
     VALUES ($1, 'customer_source', 1, 'Web page'), ($1, 'customer_type', 2, 'none of these')`,
    [accounts[0]?.accountId],
  );
  await pool.query('SELECT sync.refresh_star()');
  return {pool, url};
}
