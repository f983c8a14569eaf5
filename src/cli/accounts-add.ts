// The verb `accounts add`: it tries an account and its token before it stores them.

import type pg from 'pg';
import {
  type Account,
  listAccounts,
  readAccount,
  refuseMove,
  resumeAccount,
  saveSealedToken,
  toServiceAddress,
  upsertAccount,
} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {
  accountNamePattern,
  accountNameText,
  demoName,
  expectTimeZone,
  isTimeZone,
} from '../core/names.ts';
import {type SealingKey, type Secret, seal} from '../core/secret.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {beginAccount} from '../sweeps/schedules.ts';
import {refuseWrongZone, requestAccount} from './accounts-check.ts';
import {print, readSecret} from './terminal.ts';
import {envFileOf} from './verb.ts';
import {withWarehouse} from './warehouse.ts';

interface AddOptions {
  /** Address and zone; an existing account keeps its own if they are not given. */
  readonly url?: string;
  readonly timeZone?: string;
  readonly json: boolean;
}

/**
 * Adds an account, or gives an existing account a new token. The token is read, tried, sealed, and
 * only then stored; a stopped account becomes active with it. Schedules and first sweeps are stored
 * as rows at once: a running `start` takes them up within seconds.
 * @throws {UsageError} no key to seal with, an invalid name, address or zone, a zone that is not
 *   the account's, another account at that address
 * @throws {AccessError | RetryableError | FatalError} the service refuses the token, or cannot be
 *   reached: nothing is stored
 */
export async function accountsAdd(
  config: Config,
  name: string,
  options: AddOptions,
): Promise<number> {
  checkAddable(config, name);
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const request = {
      ...options,
      name,
      findToken: (wanted: NamedAccount) => findToken(config, wanted),
    };
    const {keep: saveTriedAccount, describe: describeResult} = await tryAccount(
      config,
      pool,
      request,
    );
    const account = await inTransaction(pool, saveTriedAccount);
    const result = describeResult(account);
    print(options.json, {json: {account, result}, text: result});
    return 0;
  });
}

interface AddRequest extends Pick<AddOptions, 'url' | 'timeZone'> {
  readonly name: string;
  /** Reads the token; it is called after all other values are checked. */
  readonly findToken: (wanted: NamedAccount) => Promise<Secret>;
}

type NamedAccount = Pick<Account, 'name' | 'apiUrl'>;

/** An account whose token the service accepts; nothing of it is stored yet. */
interface TriedAccount {
  /** Stores the account and its token, in a transaction of the caller. */
  readonly keep: (client: Queryable) => Promise<Account>;
  /** A sentence that reports the result. */
  readonly describe: (account: Account) => string;
}

/**
 * Tries the token of an account that is to be added, or that is to get this token, with a request
 * to the service.
 * @throws the errors of `accountsAdd`
 */
export async function tryAccount(
  config: Config,
  pool: pg.Pool,
  {name, findToken: readToken, ...options}: AddRequest,
): Promise<TriedAccount> {
  const key = checkAddable(config, name);
  const storedAccount = await readAccount(pool, name);
  const wanted = {name, ...completeAddress(storedAccount, options)};
  await refuseDuplicate(pool, wanted);
  if (storedAccount !== null) refuseMove(storedAccount, wanted.apiUrl);
  const token = await readToken(wanted);
  const page = await requestAccount({
    apiUrl: wanted.apiUrl,
    token,
    allowsHttp: config.allowsHttp,
    allowsLinkLocal: config.allowsLinkLocal,
  });
  refuseWrongZone(page, {timeZone: wanted.timeZone, setting: 'accounts add: --time-zone'});
  const result = describeStored(config, wanted, {token, isNew: storedAccount === null});
  return {
    keep: (client) => saveAccount(client, wanted, {token, key}),
    describe: ({apiUrl, timeZone}) =>
      `account ${name} (${toServiceAddress(apiUrl)}, ${timeZone}) ${result}`,
  };
}

/**
 * Describes what was stored. If the settings have a token of this account, also whether it is this
 * one: at its next start, a worker takes that of the settings.
 */
function describeStored(
  config: Config,
  {apiUrl}: Pick<Account, 'apiUrl'>,
  {token, isNew}: {readonly token: Secret; readonly isNew: boolean},
): string {
  const setToken = findSetToken(config, apiUrl);
  const isSetToken = setToken?.secret.reveal() === token.reveal();
  const added = isSetToken ? `is added, with the token of ${setToken.name}` : 'is added';
  const replaced = isSetToken ? `has a new token, that of ${setToken.name}` : 'has a new token';
  const result = isNew ? `${added}; fieldmirror start sweeps it` : replaced;
  if (setToken === null || isSetToken || config.account === null) return result;
  return (
    `${result}. But ${setToken.name} is another token, which the next start takes in place of ` +
    'this one: set the new token there, too'
  );
}

/** @throws {UsageError} the name is invalid, or there is no key to seal a token with */
function checkAddable({keys: [key]}: Config, name: string): SealingKey {
  checkName(name);
  if (key !== undefined) return key;
  throw new UsageError(
    'accounts add: expected a key to seal the token with, got none: ' +
      'openssl rand -base64 32 makes one; keep it, and give it as FIELDMIRROR_KEY or in the file ' +
      'FIELDMIRROR_KEY_FILE',
  );
}

/** @throws {UsageError} the name is invalid; the message begins with the verb */
export function checkName(name: string, verb = 'accounts add'): void {
  if (!accountNamePattern.test(name))
    throw new UsageError(`${verb}: ${accountNameText}, got "${name}"`);
  if (name === demoName)
    throw new UsageError(
      `${verb}: "${demoName}" is the name of the made-up data; choose another one`,
    );
}

function completeAddress(
  storedAccount: Account | null,
  {url, timeZone}: Pick<AddOptions, 'url' | 'timeZone'>,
): Pick<Account, 'apiUrl' | 'timeZone'> {
  const wanted = {
    apiUrl: url ?? storedAccount?.apiUrl,
    timeZone: timeZone ?? storedAccount?.timeZone,
  };
  if (wanted.apiUrl === undefined) {
    throw new UsageError(
      "accounts add: --url: expected the account's base address, " +
        'such as https://app.example.com/acme, got nothing',
    );
  }
  if (wanted.timeZone === undefined)
    throw new UsageError(
      "accounts add: --time-zone: expected the account's IANA zone, such as America/New_York, " +
        'got nothing',
    );
  if (!isTimeZone(wanted.timeZone)) {
    throw new UsageError(
      `accounts add: --time-zone: ${expectTimeZone(wanted.timeZone)}, got "${wanted.timeZone}"`,
    );
  }
  return {apiUrl: wanted.apiUrl, timeZone: wanted.timeZone};
}

/** @throws {UsageError} another account mirrors the same address already */
async function refuseDuplicate(
  db: Queryable,
  wanted: Pick<Account, 'name' | 'apiUrl'>,
): Promise<void> {
  const place = toServiceAddress(wanted.apiUrl);
  const duplicate = (await listAccounts(db)).find(
    ({name, apiUrl}) =>
      name !== wanted.name && name !== demoName && toServiceAddress(apiUrl) === place,
  );
  if (duplicate === undefined) return;
  throw new UsageError(
    `accounts add: account ${duplicate.name} mirrors ${place} already; ` +
      `give it a token with fieldmirror accounts add ${duplicate.name}`,
  );
}

interface SetToken {
  readonly secret: Secret;
  /** `FIELDMIRROR_API_TOKEN in .env` */
  readonly name: string;
}

/**
 * The token of the settings; null if they have none for this address. It is sent only to the
 * address of the settings, if they have one.
 */
export function findSetToken(
  {token, apiUrl: setUrl, settings}: Config,
  apiUrl: string,
): SetToken | null {
  const isForThisAddress = setUrl === null || toServiceAddress(setUrl) === toServiceAddress(apiUrl);
  if (token === null || !isForThisAddress) return null;
  const source = settings.find(({name}) => name === 'FIELDMIRROR_API_TOKEN')?.source;
  const place = source === 'file' ? envFileOf(process.env) : 'the environment';
  return {secret: token, name: `FIELDMIRROR_API_TOKEN in ${place}`};
}

/** A token that is typed or piped takes precedence: it may replace that of the settings. */
async function findToken(
  config: Config,
  {name, apiUrl}: Pick<Account, 'name' | 'apiUrl'>,
): Promise<Secret> {
  const fallback = findSetToken(config, apiUrl);
  const hint = fallback === null ? '' : `; if nothing is typed: that of ${fallback.name}`;
  return await readSecret(
    `API token of ${name} (it is not shown${hint}): `,
    'accounts add: expected the token on standard input or in FIELDMIRROR_API_TOKEN, got nothing',
    {fallback},
  );
}

async function saveAccount(
  client: Queryable,
  wanted: Pick<Account, 'name' | 'apiUrl' | 'timeZone'>,
  {token, key}: {readonly token: Secret; readonly key: SealingKey},
): Promise<Account> {
  const account = await upsertAccount(client, wanted);
  const {accountId} = account;
  await saveSealedToken(client, accountId, seal(token, key, accountId));
  // An account that a person has paused stays paused.
  if (account.state === 'stopped') await resumeAccount(client, accountId);
  await beginAccount(
    client,
    account,
    allStreams.map((stream) => stream.name),
  );
  return (await readAccount(client, wanted.name)) ?? account;
}
