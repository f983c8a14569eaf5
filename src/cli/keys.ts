// The verb `keys`: the keys of the HTTP API and the console.

import {
  type ApiKey,
  addApiKey,
  checkKeyRights,
  describeRights,
  listApiKeys,
  revokeApiKey,
} from '../accounts/access.ts';
import {defaultSystem, type Role} from '../accounts/roles.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatAgo} from '../core/format.ts';
import {checkShortName, nearest} from '../core/names.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface Output {
  readonly json: boolean;
}

interface AddOptions extends Output {
  readonly role: Role;
  /** Name of the only account that it opens. */
  readonly account?: string;
  /** Whether it opens the console for all accounts, and not the API. */
  readonly allAccounts?: boolean;
  /** Whether the console hides names, phones, addresses and notes from it. */
  readonly mask?: boolean;
  /** The outside system whose keys it gives and is given. */
  readonly system?: string;
  /** Whether its deletes are held until a person releases them. */
  readonly holdDeletes?: boolean;
}

/**
 * Makes a key, and shows it this once.
 * @throws {UsageError} the name has a wrong form, or is taken; an admin's key of one account; a
 *   viewer whose deletes are held
 */
export async function keysAdd(config: Config, name: string, options: AddOptions): Promise<number> {
  const {role, account, mask: masks = false, system = defaultSystem, json} = options;
  checkShortName(name, 'keys add');
  checkShortName(system, 'keys add: --system');
  const holdsDeletes = options.holdDeletes === true;
  checkKeyRights({role, holdsDeletes});
  const isOfAll = options.allAccounts === true || role === 'admin';
  if (isOfAll && account !== undefined)
    throw new UsageError(
      `keys add: --account: expected none, got "${account}": ` +
        (role === 'admin'
          ? 'an admin looks after all accounts'
          : '--all-accounts opens all of them'),
    );
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const chosen = isOfAll ? null : await chooseAccount({pool}, account);
    const accountId = chosen?.accountId ?? null;
    const key = await addApiKey(pool, {name, accountId, role, masks, system, holdsDeletes});
    if (key === null)
      throw new UsageError(
        `keys add: there is a key ${name} already, in use or revoked; choose another name`,
      );
    const text = [key.reveal(), '', tellUse(role, chosen?.name ?? null)].join('\n');
    print(json, {
      json: {
        ...{name, account: chosen?.name ?? null, role, masks, system, holdsDeletes},
        key: key.reveal(),
      },
      text,
    });
    return 0;
  });
}

function tellUse(role: Role, account: string | null): string {
  const may = {viewer: ', to read only', operator: '', admin: ', its accounts and keys as well'}[
    role
  ];
  if (account === null)
    return `It opens the console for all accounts${may}, and is shown this once.`;
  return (
    `It opens account ${account}${may}, and is shown this once. The console takes it as it is; ` +
    'the API as\n  Authorization: Bearer …'
  );
}

/** The keys, revoked ones too, each with its account and its last use. */
export async function keysList(config: Config, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const keys = await listApiKeys(pool);
    const head = ['key', 'account', 'role', 'system', 'made by', 'last used', 'revoked'];
    const text =
      keys.length === 0
        ? 'no key yet: fieldmirror keys add NAME'
        : fitTable(head, keys.map(describe));
    print(json, {json: {keys}, text});
    return 0;
  });
}

/** From now on the key opens nothing. @throws {UsageError} no key of that name is in use */
export async function revoke(config: Config, name: string, {json}: Output): Promise<number> {
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

function describe({name, account, lastUsedAt, revokedAt, ...key}: ApiKey): string[] {
  const used = lastUsedAt === null ? 'never' : formatAgo(lastUsedAt);
  const {system, createdBy} = key;
  return [name, account ?? 'all', describeRights(key), system, createdBy, used, revokedAt ?? ''];
}
