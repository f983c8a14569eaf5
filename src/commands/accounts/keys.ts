// The verb `keys`: the keys of the HTTP API.

import type {Config} from '../../base/config.ts';
import {UsageError} from '../../base/errors.ts';
import {nearest} from '../../base/nearest.ts';
import {formatAgo} from '../../views/format.ts';
import {type ApiKey, addApiKey, listApiKeys, revokeApiKey} from '../../warehouse/accounts/api-keys.ts';
import {drawTable, print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';
import {chooseAccount} from './choose-account.ts';

interface Output {
  readonly json: boolean;
}

/** Changes show the name in `application_name`, of which Postgres keeps 63 bytes. */
const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/;

/**
 * Makes a key, and shows it this once.
 * @throws {UsageError} the name has a wrong form, or is taken
 */
export async function add(
  config: Config,
  name: string,
  {account, readOnly = false, json}: Output & {readonly account?: string; readonly readOnly?: boolean},
): Promise<number> {
  if (!nameShape.test(name))
    throw new UsageError(
      `keys add: expected a name of up to 50 letters, digits, dots, underscores and hyphens, got ${JSON.stringify(name)}`,
    );
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const {accountId, name: accountName} = await chooseAccount({pool}, account);
    const key = await addApiKey(pool, {name, accountId, mayWrite: !readOnly});
    if (key === null)
      throw new UsageError(
        `keys add: there is a key ${name} already, in use or revoked; choose another name`,
      );
    const text = [
      key.reveal(),
      '',
      `It opens account ${accountName}${readOnly ? ', to read only' : ''}, and is shown this once. Send it as`,
      '  Authorization: Bearer …',
    ].join('\n');
    print(json, {json: {name, account: accountName, mayWrite: !readOnly, key: key.reveal()}, text});
    return 0;
  });
}

/** The keys, revoked ones too, each with its account and its last use. */
export async function list(config: Config, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const keys = await listApiKeys(pool);
    const head = ['key', 'account', 'may', 'made by', 'last used', 'revoked'];
    const text =
      keys.length === 0 ? 'no key yet: fieldmirror keys add NAME' : drawTable(head, keys.map(describe));
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
    print(json, {json: {name}, text: `key ${name} opens nothing any more`});
    return 0;
  });
}

function describe({name, account, mayWrite, createdBy, lastUsedAt, revokedAt}: ApiKey): string[] {
  const used = lastUsedAt === null ? 'never' : formatAgo(lastUsedAt);
  return [name, account, mayWrite ? 'write' : 'read', createdBy, used, revokedAt ?? ''];
}
