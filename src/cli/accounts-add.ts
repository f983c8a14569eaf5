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
import {demoName, expectTimeZone, isTimeZone} from '../core/names.ts';
import {type SealingKey, type Secret, seal} from '../core/secret.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {beginAccount} from '../sweeps/schedules.ts';
import {refuseWrongZone, requestAccount} from './accounts-check.ts';
import {print, readSecret} from './terminal.ts';
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
    print(options.json, {json: {account}, text: describeResult(account)});
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
  const result =
    storedAccount === null ? 'is added; fieldmirror start sweeps it' : 'has a new token';
  return {
    keep: (client) => saveAccount(client, wanted, {token, key}),
    describe: ({apiUrl, timeZone}) =>
      `account ${name} (${toServiceAddress(apiUrl)}, ${timeZone}) ${result}`,
  };
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
  if (!/^[A-Za-z0-9]\S{0,99}$/.test(name)) {
    throw new UsageError(
      `${verb}: expected a name of up to 100 characters without blanks that begins with a ` +
        `letter or digit, got "${name}"`,
    );
  }
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

/** The environment's token is sent only to the environment's address, if one is set. */
async function findToken(
  config: Config,
  {name, apiUrl}: Pick<Account, 'name' | 'apiUrl'>,
): Promise<Secret> {
  const isForThisAddress =
    config.apiUrl === null || toServiceAddress(config.apiUrl) === toServiceAddress(apiUrl);
  if (config.token !== null && isForThisAddress) return config.token;
  return await readSecret(
    `API token of ${name} (it is not shown): `,
    'accounts add: expected the token on standard input or in FIELDMIRROR_API_TOKEN, got nothing',
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
