// Moves an account to a new address of the same business. Its records there must match, and its
// token is tried there before anything is stored. This file also renames accounts, and removes them
// with all their rows.

import type pg from 'pg';
import {writeAudit} from '../accounts/access.ts';
import {
  type Account,
  countHoldings,
  findRunningWork,
  type Holding,
  listAccounts,
  readAccountAccess,
  removeAccount,
  renameAccount,
  type SealedToken,
  saveSealedToken,
  toServiceAddress,
} from '../accounts/accounts.ts';
import {
  type ComparedBusiness,
  compareBusiness,
  countOpenChanges,
  moveAccount,
  openToken,
} from '../accounts/open-accounts.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {describeChangeCount} from '../changes/words.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import {type Secret, seal} from '../core/secret.ts';
import {printErr} from '../core/text.ts';
import {inTransaction} from '../postgres/database.ts';
import {chooseAccount, isFromEnvironment} from './accounts.ts';
import {checkName} from './accounts-add.ts';
import {refuseWrongZone, requestAccount} from './accounts-check.ts';
import {fitTable, type OutputOptions, print, typeBack} from './terminal.ts';
import {openPatientPool, withWarehouse} from './warehouse.ts';

interface Options {
  readonly url: string;
  readonly json: boolean;
}

/** The token for the new address. */
interface NewAccess {
  readonly token: Secret;
  /**
   * The token to store in place of the stored one. It is null if the stored token is used, or if
   * the environment provides the token.
   */
  readonly sealed: SealedToken | null;
}

/**
 * Moves an account to another address. Its rows, history and changes stay. Open changes are sent to
 * the new address, after a person has typed the account's name back.
 * @throws {UsageError} another business is at the address, or its records cannot be compared;
 *   another account has the address; the typed name is wrong
 * @throws {AccessError | RetryableError | FatalError} the service refuses the token, or cannot be
 *   reached; the account is active, or work of it is in progress. Nothing is stored
 */
export async function move(config: Config, name: string, {url, json}: Options): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, name);
    await refuseAddress(pool, account, url);
    refuseWork(
      name,
      await inTransaction(pool, (client) => findRunningWork(client, account.accountId)),
    );
    const newAccess = await findToken(config, pool, {account, url});
    const compared = await compareAtAddress(config, pool, {account, url, token: newAccess.token});
    printErr(`${formatCompared(compared)}\n`);
    refuseOtherBusiness(account, url, compared);
    const openCount = await countOpenChanges(pool, account.accountId);
    if (openCount > 0)
      await typeBack(
        `to send ${describeChangeCount(openCount)} on ${openCount === 1 ? 'its' : 'their'} way ` +
          `to ${toServiceAddress(url)}`,
        name,
      );
    await inTransaction(pool, (client) =>
      saveMove(client, account, {url, compared, sealed: newAccess.sealed}),
    );
    print(json, {
      json: {
        account: name,
        before: account.apiUrl,
        after: url,
        compared: compared.streams,
        openChanges: openCount,
      },
      text: describeMoved(config, account, url),
    });
    return 0;
  });
}

async function refuseAddress(pool: pg.Pool, {name, apiUrl}: Account, url: string): Promise<void> {
  if (name === demoName)
    throw new UsageError(
      `accounts move: "${demoName}" holds made-up data, whose service moves automatically`,
    );
  const place = toServiceAddress(url);
  if (place === toServiceAddress(apiUrl))
    throw new UsageError(
      `accounts move: expected a new address, got ${place}, which ${name} mirrors`,
    );
  const duplicate = (await listAccounts(pool)).find(
    (each) => each.name !== demoName && toServiceAddress(each.apiUrl) === place,
  );
  if (duplicate !== undefined)
    throw new UsageError(
      `accounts move: expected an address that no account mirrors, got ${place}, ` +
        `which is that of ${duplicate.name}`,
    );
}

function refuseWork(name: string, reason: string | null): void {
  if (reason === null) return;
  throw new FatalError(
    `account ${name}: expected it to rest, but ${reason}; fieldmirror accounts pause ${name}, ` +
      'and move it when none of its work is in progress',
    {kind: 'in-use'},
  );
}

/**
 * A token from the environment takes precedence over the stored one. If the environment names an
 * address, its token is used only for that address, or for the account at it.
 */
async function findToken(
  config: Config,
  pool: pg.Pool,
  {account, url}: {readonly account: Account; readonly url: string},
): Promise<NewAccess> {
  const {token, apiUrl, keys} = config;
  const isForThisAddress =
    isFromEnvironment(config, account) ||
    (apiUrl !== null && toServiceAddress(apiUrl) === toServiceAddress(url));
  if (token !== null && isForThisAddress) return {token, sealed: null};
  if (token !== null && apiUrl === null) {
    const [key] = keys;
    if (key === undefined)
      throw new UsageError(
        'accounts move: expected a key to seal the token with, got none: give FIELDMIRROR_KEY',
      );
    return {token, sealed: seal(token, key, account.accountId)};
  }
  const access = await readAccountAccess(pool, account.accountId);
  return {token: openToken({...account, sealed: access?.sealed ?? null}, keys), sealed: null};
}

async function compareAtAddress(
  {allowsHttp, allowsLinkLocal}: Config,
  pool: pg.Pool,
  {account, url, token}: {readonly account: Account; readonly url: string; readonly token: Secret},
): Promise<ComparedBusiness> {
  const page = await requestAccount({apiUrl: url, token, allowsHttp, allowsLinkLocal});
  refuseWrongZone(page, {
    timeZone: account.timeZone,
    setting: `accounts move: ${toServiceAddress(url)}`,
  });
  const transport = createTransport({
    baseUrl: url,
    token,
    allowHttp: allowsHttp,
    allowLinkLocal: allowsLinkLocal,
  });
  try {
    return await compareBusiness(pool, createClient(transport), account);
  } finally {
    await transport.close();
  }
}

function formatCompared({streams}: ComparedBusiness): string {
  const rows = streams.map(({stream, equal, gone: missing, differing}) => [
    stream,
    ...[equal, differing.length, missing.length].map(formatNumber),
  ]);
  return fitTable(['number, id and moment of creation', 'equal', 'differ', 'not there'], rows);
}

function refuseOtherBusiness(
  {name}: Account,
  url: string,
  {streams, isSame}: ComparedBusiness,
): void {
  if (isSame) return;
  const different = streams.flatMap(({differing}) => differing);
  const missing = streams.flatMap(({stream, gone: numbers}) =>
    numbers.map((number) => `${stream} ${number}: not there`),
  );
  const samples = [...different, ...missing].slice(0, 3);
  const reason =
    samples.length === 0
      ? 'no row is here to be compared: remove the account, and add it again'
      : `its records are not those of the warehouse (${samples.join('; ')}): ` +
        'give that business a separate name with fieldmirror accounts add';
  throw new UsageError(
    `accounts move: ${toServiceAddress(url)}: expected the business of ${name}, but ${reason}; ` +
      'nothing was stored',
  );
}

interface MovedAccount extends Pick<NewAccess, 'sealed'> {
  readonly url: string;
  readonly compared: ComparedBusiness;
}

async function saveMove(
  client: pg.ClientBase,
  account: Account,
  {url, compared, sealed}: MovedAccount,
): Promise<void> {
  const {accountId, name, apiUrl} = account;
  refuseWork(name, await findRunningWork(client, accountId));
  if (!(await moveAccount(client, account, url)))
    throw new FatalError(
      `account ${name}: expected it at ${apiUrl}, but somebody has moved it meanwhile; ` +
        'nothing was stored',
    );
  if (sealed !== null) await saveSealedToken(client, accountId, sealed);
  const {rows} = await client.query<{role: string}>('SELECT session_user AS role');
  await writeAudit(client, {
    sessionId: null,
    name: `command:${rows[0]?.role}`,
    role: 'admin',
    address: '',
    action: 'accounts.move',
    accountId,
    subject: `account ${name}`,
    before: {apiUrl},
    after: {
      apiUrl: url,
      equal: Object.fromEntries(compared.streams.map(({stream, equal}) => [stream, equal])),
    },
  });
}

function describeMoved(config: Config, account: Account, url: string): string {
  const {name} = account;
  const environmentNote = isFromEnvironment(config, account)
    ? `; the environment names its old address: set FIELDMIRROR_API_URL to ${url}, ` +
      'and restart each worker'
    : '';
  return (
    `account ${name} is at ${toServiceAddress(url)} now, and paused as before${environmentNote}; ` +
    'a file of settings that names its address needs the new one, too; ' +
    `fieldmirror accounts resume ${name}`
  );
}

/**
 * Gives an account another name here. Its rows, history and changes refer to its number and stay. A
 * file of settings that names the account needs the new name, too.
 * @throws {UsageError} the name is invalid, or another account has it; the made-up account keeps
 *   its name
 */
export async function rename(
  config: Config,
  name: string,
  toName: string,
  {json}: OutputOptions,
): Promise<number> {
  checkName(toName, 'accounts rename');
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, name);
    if (name === demoName)
      throw new UsageError(
        `accounts rename: "${demoName}" is the name by which the made-up data are known`,
      );
    const duplicate = (await listAccounts(pool)).find((each) => each.name === toName);
    if (duplicate !== undefined)
      throw new UsageError(
        `accounts rename: expected a name that no account has, got "${toName}", ` +
          `which mirrors ${toServiceAddress(duplicate.apiUrl)}`,
      );
    await inTransaction(pool, (client) => renameAccount(client, account, toName));
    print(json, {
      json: {accountId: account.accountId, before: name, after: toName},
      text:
        `account ${name} is called ${toName} now; a file of settings that names it needs the new ` +
        'name, too',
    });
    return 0;
  });
}

/**
 * Removes an account with all its rows here. It first shows the rows, and a person types the
 * account's name back. Nothing is sent to the service.
 * @throws {UsageError} another name was typed
 * @throws {FatalError} the account is active, or work of it is in progress
 */
export async function accountsRemove(
  config: Config,
  name: string,
  {json}: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({directUrl}) => {
    const pool = openPatientPool(directUrl);
    try {
      const account = await chooseAccount({pool}, name);
      refuseRemoval(
        name,
        await inTransaction(pool, (client) => findRunningWork(client, account.accountId)),
      );
      const holdings = await countHoldings(pool, account.accountId);
      printErr(
        `${formatHoldings(holdings)}\n${describeRemoval(name, toServiceAddress(account.apiUrl))}\n`,
      );
      await typeBack(`to remove account ${name} from here`, name);
      await inTransaction(pool, async (client) => {
        refuseRemoval(name, await findRunningWork(client, account.accountId));
        await removeAccount(client, account);
      });
      const environmentNote = isFromEnvironment(config, account)
        ? '; the environment names it, and the next start would mirror it again: ' +
          'take FIELDMIRROR_API_URL away'
        : '';
      print(json, {
        json: {account, holdings},
        text: `account ${name} is removed${environmentNote}`,
      });
      return 0;
    } finally {
      await pool.end();
    }
  });
}

function refuseRemoval(name: string, reason: string | null): void {
  if (reason === null) return;
  throw new FatalError(
    `account ${name}: expected it to rest, but ${reason}; fieldmirror accounts pause ${name}, ` +
      'and remove it when none of its work is in progress',
    {kind: 'in-use'},
  );
}

function formatHoldings(holdings: readonly Holding[]): string {
  if (holdings.length === 0) return 'It holds nothing here.';
  return fitTable(
    ['table', 'rows that go'],
    holdings.map(({table, rows}) => [table, formatNumber(Number(rows))]),
  );
}

function describeRemoval(name: string, place: string): string {
  return (
    `These rows, the token and the settings of ${name} go for good, ` +
    `and changes that were not sent are never sent. ${place} keeps what it has.\n` +
    'Backups hold them still. Entries of the audit stay.'
  );
}
