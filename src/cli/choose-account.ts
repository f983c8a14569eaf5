import {type Account, describeIdle, listAccounts} from '../accounts/accounts.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';

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
