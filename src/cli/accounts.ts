// Manages the accounts that are mirrored, and the verb `keys`: the keys of the HTTP API and of the
// console. The token of an account goes one way: from a person to the seal in the warehouse. No
// command prints it, not even in part.

import {
  type ApiKey,
  addApiKey,
  checkKeyRights,
  describeRights,
  listApiKeys,
  revokeApiKey,
} from '../accounts/access.ts';
import {
  type Account,
  describeIdle,
  listAccounts,
  pauseAccount,
  toServiceAddress,
} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {formatAgo} from '../core/format.ts';
import {checkShortName, defaultSystem, demoName, nearest, type Role} from '../core/names.ts';
import {inTone} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {fitTable, type OutputOptions, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

/** Lists the accounts, each with its state and the source of its token. */
export async function accountsList(config: Config, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const accounts = (await listAccounts(pool)).map((account) => ({
      ...account,
      token: describeTokenSource(config, account),
    }));
    const rows = accounts.map(({name, apiUrl, timeZone, state, stateReason, token}) => [
      name,
      apiUrl,
      timeZone,
      inTone(state),
      token,
      stateReason ?? '',
    ]);
    const emptyMessage = 'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE';
    const columnTitles = ['account', 'address', 'time zone', 'state', 'its token', 'reason'];
    print(json, {
      json: {accounts},
      text: rows.length === 0 ? emptyMessage : fitTable(columnTitles, rows),
    });
    return 0;
  });
}

/** Pauses an account: no work begins for it until it is resumed, and due work waits. */
export async function accountsPause(
  config: Config,
  name: string,
  {json, reason}: OutputOptions & {readonly reason?: string},
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

/** Whether the account is the one in the environment, which provides its token. */
export function isFromEnvironment(config: Config, {apiUrl, name}: Account): boolean {
  return (
    config.account !== null &&
    name !== demoName &&
    toServiceAddress(config.account.apiUrl) === toServiceAddress(apiUrl)
  );
}

function describeTokenSource(config: Config, account: Account): string {
  if (account.name === demoName) return 'its own, made-up data';
  if (isFromEnvironment(config, account)) return 'the environment';
  if (account.keyId === null) return 'not known here';
  const isGiven = config.keys.some(({id}) => id === account.keyId);
  return `sealed with key ${account.keyId}${isGiven ? '' : ', which is not given'}`;
}

/**
 * Chooses the account of a command: the one named; else the environment's or the demo; else the
 * only account.
 * @param own - the environment's account or the demo, if a command has opened it
 * @throws {UsageError} no account has that name, there is no account, or there are several and none
 *   is named
 */
export async function chooseAccount(
  {pool, own = null}: {readonly pool: Queryable; readonly own?: Account | null},
  name?: string,
): Promise<Account> {
  return chooseAmong(await listAccounts(pool), name ?? own?.name);
}

/**
 * Chooses the account that is wanted, or else the only one.
 * @throws {UsageError} as `chooseAccount`
 */
export function chooseAmong(accounts: readonly Account[], wantedName: string | undefined): Account {
  const names = accounts.map((account) => account.name);
  const chosen =
    wantedName === undefined
      ? accounts[0]
      : accounts.find((account) => account.name === wantedName);
  if (chosen === undefined && wantedName !== undefined && names.length > 0)
    throw new UsageError(
      `no account "${wantedName}"${nearest(wantedName, names)}; there are ${names.join(', ')}`,
    );
  if (chosen === undefined)
    throw new UsageError(
      'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE',
    );
  if (wantedName === undefined && accounts.length > 1)
    throw new UsageError(`which account? --account NAME; there are ${names.join(', ')}`);
  return chosen;
}

/**
 * Sweeps of an account that is not active are never taken up: a command that requests one would
 * wait forever.
 * @throws {FatalError} the account is paused or stopped; the message gives the reason, and how to
 *   resume it
 */
export function requireActive(account: Account): Account {
  if (account.state === 'active') return account;
  throw new FatalError(describeIdle(account));
}

interface AddOptions extends OutputOptions {
  readonly role: Role;
  /** The name of the only account that the key opens. */
  readonly account?: string;
  /** Whether the key opens the console for all accounts, and not the API. */
  readonly allAccounts?: boolean;
  /** Whether the console hides names, phones, addresses and notes from the user of the key. */
  readonly mask?: boolean;
  /** The outside system whose record keys are sent and received with this key. */
  readonly system?: string;
  /** Whether deletes made with the key are held until a person releases them. */
  readonly holdDeletes?: boolean;
}

/**
 * Creates a key, and prints it only this once.
 * @throws {UsageError} the name is invalid or taken; an admin's key for one account; a viewer's key
 *   with held deletes
 */
export async function keysAdd(config: Config, name: string, options: AddOptions): Promise<number> {
  const {role, account, mask: masks = false, system = defaultSystem, json} = options;
  checkShortName(name, 'keys add');
  checkShortName(system, 'keys add: --system');
  const holdsDeletes = options.holdDeletes === true;
  checkKeyRights({role, holdsDeletes});
  const isForAllAccounts = options.allAccounts === true || role === 'admin';
  if (isForAllAccounts && account !== undefined)
    throw new UsageError(
      `keys add: --account: expected none, got "${account}": ` +
        (role === 'admin' ? 'an admin manages all accounts' : '--all-accounts opens all of them'),
    );
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const chosen = isForAllAccounts ? null : await chooseAccount({pool}, account);
    const accountId = chosen?.accountId ?? null;
    const key = await addApiKey(pool, {name, accountId, role, masks, system, holdsDeletes});
    if (key === null)
      throw new UsageError(
        `keys add: there is a key ${name} already, in use or revoked; choose another name`,
      );
    const text = [key.reveal(), '', describeUse(role, chosen?.name ?? null)].join('\n');
    print(json, {
      json: {
        name,
        account: chosen?.name ?? null,
        role,
        masks,
        system,
        holdsDeletes,
        key: key.reveal(),
      },
      text,
    });
    return 0;
  });
}

function describeUse(role: Role, account: string | null): string {
  const scope = {viewer: ', to read only', operator: '', admin: ', its accounts and keys as well'}[
    role
  ];
  if (account === null)
    return `It opens the console for all accounts${scope}, and is shown this once.`;
  return (
    `It opens account ${account}${scope}, and is shown this once. The console takes it as it is; ` +
    'the API as\n  Authorization: Bearer …'
  );
}

/** Lists the keys, revoked ones too, each with its account and its last use. */
export async function keysList(config: Config, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const keys = await listApiKeys(pool);
    const columnTitles = ['key', 'account', 'role', 'system', 'made by', 'last used', 'revoked'];
    const text =
      keys.length === 0
        ? 'no key yet: fieldmirror keys add NAME'
        : fitTable(columnTitles, keys.map(formatKeyRow));
    print(json, {json: {keys}, text});
    return 0;
  });
}

/**
 * Revokes a key: it opens nothing from now on.
 * @throws {UsageError} no key of that name is in use
 */
export async function revoke(config: Config, name: string, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    if (!(await revokeApiKey(pool, name))) {
      const names = (await listApiKeys(pool))
        .filter(({revokedAt}) => revokedAt === null)
        .map((key) => key.name);
      throw new UsageError(
        `keys revoke: no key "${name}" is in use${nearest(name, names)}; fieldmirror keys list`,
      );
    }
    print(json, {json: {name}, text: `key ${name} is revoked`});
    return 0;
  });
}

function formatKeyRow({name, account, lastUsedAt, revokedAt, ...key}: ApiKey): string[] {
  const lastUse = lastUsedAt === null ? 'never' : formatAgo(lastUsedAt);
  const {system, createdBy} = key;
  return [name, account ?? 'all', describeRights(key), system, createdBy, lastUse, revokedAt ?? ''];
}

/** The reason why there is nothing to do, and the next step. */
export function describeNothingToDo(known: readonly Account[]): string {
  if (known.length > 0) return known.map(describeIdle).join('\n');
  return 'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE';
}
