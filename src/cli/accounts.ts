// Looking after the accounts that are mirrored. A token goes one way: from a person to the seal in
// the warehouse; no command gives it out, not even in part.

import {type Account, listAccounts, pauseAccount, placeOf} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {demoName} from '../core/names.ts';
import {chooseAccount} from './choose-account.ts';
import {drawTable, print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

/** Lists the accounts, each with its state and where its token comes from. */
export async function list(config: Config, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const accounts = (await listAccounts(pool)).map((account) => ({
      ...account,
      token: sourceOfToken(config, account),
    }));
    const rows = accounts.map(({name, apiUrl, timeZone, state, stateReason, token}) => [
      name,
      apiUrl,
      timeZone,
      state,
      token,
      stateReason ?? '',
    ]);
    const none = 'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE';
    const head = ['account', 'address', 'time zone', 'state', 'its token', 'reason'];
    print(json, {json: {accounts}, text: rows.length === 0 ? none : drawTable(head, rows)});
    return 0;
  });
}

/** Pauses an account: nothing is begun for it until it is resumed, and due work waits. */
export async function pause(
  config: Config,
  name: string,
  {json, reason}: Output & {readonly reason?: string},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const {accountId} = await chooseAccount({pool}, name);
    await pauseAccount(pool, accountId, reason ?? null);
    const account = await chooseAccount({pool}, name);
    print(json, {
      json: {account},
      text: `account ${name} is paused; fieldmirror accounts resume ${name}`,
    });
    return 0;
  });
}

/** Whether the account is that of the environment, which brings its token. */
export function isEnvironments(config: Config, {apiUrl, name}: Account): boolean {
  return (
    config.account !== null &&
    name !== demoName &&
    placeOf(config.account.apiUrl) === placeOf(apiUrl)
  );
}

function sourceOfToken(config: Config, account: Account): string {
  if (account.name === demoName) return 'its own, made-up data';
  if (isEnvironments(config, account)) return 'the environment';
  if (account.keyId === null) return 'not known here';
  const isGiven = config.keys.some(({id}) => id === account.keyId);
  return `sealed with key ${account.keyId}${isGiven ? '' : ', which is not given'}`;
}
