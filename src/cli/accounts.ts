// Looking after the accounts that are mirrored. A token goes one way: from a person to the seal in
// the warehouse; no command gives it out, not even in part.

import {
  type Account,
  describeIdle,
  listAccounts,
  pauseAccount,
  placeOf,
} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {demoName, nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {fitTable, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface Output {
  readonly json: boolean;
}

/** Lists the accounts, each with its state and where its token comes from. */
export async function accountsList(config: Config, {json}: Output): Promise<number> {
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
    print(json, {json: {accounts}, text: rows.length === 0 ? none : fitTable(head, rows)});
    return 0;
  });
}

/** Pauses an account: nothing is begun for it until it is resumed, and due work waits. */
export async function accountsPause(
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

/**
 * The account that a command is about: the one named; else the environment's or the demo; else the
 * only one there is.
 * @param own - the environment's account or the demo, where a command has opened it
 * @throws {UsageError} there is none of that name, none at all, or several and none is named
 */
export async function chooseAccount(
  {pool, own = null}: {readonly pool: Queryable; readonly own?: Account | null},
  name?: string,
): Promise<Account> {
  const accounts = await listAccounts(pool);
  const names = accounts.map((account) => account.name);
  const wanted = name ?? own?.name;
  const chosen =
    wanted === undefined ? accounts[0] : accounts.find((account) => account.name === wanted);
  if (chosen === undefined && wanted !== undefined && names.length > 0)
    throw new UsageError(
      `no account "${wanted}"${nearest(wanted, names)}; there are ${names.join(', ')}`,
    );
  if (chosen === undefined)
    throw new UsageError(
      'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE',
    );
  if (wanted === undefined && accounts.length > 1)
    throw new UsageError(`which account? --account NAME; there are ${names.join(', ')}`);
  return chosen;
}

/**
 * Sweeps of an account that is not active are never taken up: a command that asks for one would
 * wait for ever.
 * @throws {FatalError} the account is paused or stopped; the message says why, and how it is
 *   resumed
 */
export function requireActive(account: Account): Account {
  if (account.state === 'active') return account;
  throw new FatalError(describeIdle(account));
}
