// The base of verbs that move data, on top of the warehouse: the accounts, and the service behind
// them. An active account whose token is not available here is reported, not left out silently.

import type pg from 'pg';
import {
  type Account,
  listAccounts,
  listKnownAccounts,
  resumeAccount,
  stopAccount,
  toServiceAddress,
  upsertAccount,
} from '../accounts/accounts.ts';
import {Accounts, type EnvironmentAccess} from '../accounts/open-accounts.ts';
import {endDeadLeases, listWorkers} from '../accounts/workers.ts';
import type {RawPage} from '../api/client.ts';
import type {AccountConfig, Config} from '../core/config.ts';
import {AccessError, UsageError} from '../core/errors.ts';
import {causePage, createLogger, type Logger} from '../core/log.ts';
import {demoName} from '../core/names.ts';
import type {Secret} from '../core/secret.ts';
import type {SendMeans} from '../feed/receivers.ts';
import {findCopy, namePlace, refuseCopy} from '../health/installation.ts';
import {refuseWrongClock} from '../postgres/checks.ts';
import {PageReader} from '../sweeps/page-reader.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import {refuseWrongZone, requestAccount} from './accounts-check.ts';
import type {PastDeps} from './demo-past.ts';
import {openDemo} from './service.ts';
import {type Opening, type Warehouse, withWarehouse} from './warehouse.ts';

/** The warehouse and the accounts that it mirrors. */
export interface App extends Warehouse, Pick<SweepDeps, 'openAccount' | 'pageReader'> {
  readonly log: Logger;
  /** The environment's account, or the demo; null if there are only sealed tokens. */
  readonly own: Account | null;
  /**
   * The accounts whose tokens are known here, in any state. They are read again each time, because
   * an account may be added meanwhile.
   */
  readonly listKnown: () => Promise<Account[]>;
  /** The active accounts that cannot be served here, each with the reason and the next step. */
  readonly listUnopened: () => Promise<Unopened[]>;
  /**
   * The reason why the warehouse may be a copy, in which no work may run; null if there is none.
   */
  readonly findCopy: () => Promise<string | null>;
  /** The tokens that are known here, for the row of a worker. */
  readonly reach: Accounts['reach'];
  /** Registers an observer of every request to the service, which counts the requests. */
  readonly observeRequests: Accounts['observe'];
  /** The means to send the feed to its subscribers. */
  readonly hookMeans: SendMeans;
  /** Keeps an opened secret out of the log. */
  readonly keepOut: (secret: Secret) => void;
  /** The source of the data of `own`, for a person. */
  readonly source: string | null;
}

/** An account whose token is not available here. */
interface Unopened {
  readonly accountId: string;
  readonly account: string;
  readonly reason: string;
}

/**
 * Calls `use` with the migrated warehouse and the accounts whose tokens are known here. These are
 * the environment's account, and, if a key is given, those whose tokens are sealed in the
 * warehouse. If there is neither, the reference service with its made-up data is used.
 * @param options - `staysInCopy` for a verb that waits until a person has confirmed that the
 *   warehouse is no copy
 * @throws the errors of `withWarehouse`
 * @throws {FatalError} the warehouse may be a copy
 */
export async function withApp<T>(
  config: Config,
  use: (app: App) => Promise<T>,
  options: {readonly signal?: AbortSignal; readonly staysInCopy?: boolean} = {},
): Promise<T> {
  const {signal} = options;
  return await withWarehouse(config, {migrates: true, signal}, async (warehouse, opening) => {
    const {pool} = warehouse;
    const {closers} = opening;
    await refuseWrongClock(pool);
    const name = await namePlace(config);
    if (options.staysInCopy !== true) await refuseCopy(pool, name);
    const isCopy = (await findCopy(pool, name)) !== null;
    const {log, keepOut} = openLog(config, warehouse);
    if (!isCopy) await endLeases({pool, log});
    const {keys, allowsHttp: allowHttp, allowsLinkLocal: allowLinkLocal} = config;
    const accounts = new Accounts({pool, keys, allowHttp, allowLinkLocal, onToken: keepOut});
    closers.add(() => accounts.close());
    const pageReader = new PageReader();
    closers.add(() => pageReader.close());
    const opened = openOwn(
      opening,
      {
        pool,
        databaseUrl: warehouse.databaseUrl,
        pageReader,
        log,
        signal,
      },
      isCopy,
    );
    const own = await opening.step(opened);
    if (own !== null) await accounts.give(own.account.accountId, own.access);
    return await use({
      ...warehouse,
      log,
      keepOut,
      hookMeans: {
        keys,
        allowsHttp: config.allowsHttp,
        allowsLinkLocal: config.allowsLinkLocal,
        onSecret: keepOut,
      },
      openAccount: (accountId) => accounts.open(accountId),
      pageReader,
      own: own?.account ?? null,
      listKnown: () => listKnownAccounts(pool, accounts.known),
      listUnopened: () => listUnopened(pool, accounts),
      findCopy: () => findCopy(pool, name),
      reach: (workerId) => accounts.reach(workerId),
      observeRequests: (observer) => accounts.observe(observer),
      source: own?.source ?? null,
    });
  });
}

/** Makes the log; each wait for a lock is a line of it. */
function openLog(
  {token, logLevel}: Config,
  {tellWaitsTo}: Pick<Warehouse, 'tellWaitsTo'>,
): Pick<App, 'log' | 'keepOut'> {
  // The log must not contain these secrets; tokens are added as they are opened.
  const secrets = token === null ? [] : [token];
  const log = createLogger({level: logLevel, secrets, isPretty: process.stderr.isTTY});
  tellWaitsTo((reason) =>
    log.warn({event: 'warehouse.blocked', reason}, 'a lock holds a statement up'),
  );
  const keepOut = (secret: Secret) => {
    if (!secrets.some((each) => each.reveal() === secret.reveal())) secrets.push(secret);
  };
  return {log, keepOut};
}

type LoggedPool = Pick<App, 'pool' | 'log'>;

/** Ends the leases of dead processes of this machine, so that their work continues at once. */
async function endLeases({pool, log}: LoggedPool): Promise<void> {
  const count = await endDeadLeases(pool);
  if (count > 0)
    log.info(
      {event: 'leases.ended', count},
      'the leases of dead processes of this machine have been ended',
    );
}

/** The demo is left out if it does not run: its made-up data are no loss. */
async function listUnopened(pool: pg.Pool, accounts: Accounts): Promise<Unopened[]> {
  const unopened: Unopened[] = [];
  for (const {accountId, name: account, state} of await listAccounts(pool)) {
    if (state !== 'active' || account === demoName) continue;
    const reason = await accounts.findProblem(accountId);
    if (reason !== null) unopened.push({accountId, account, reason});
  }
  return unopened;
}

/** An account whose token is not kept in the warehouse. */
interface OwnAccount {
  readonly account: Account;
  readonly access: EnvironmentAccess;
  readonly source: string;
}

async function openOwn(
  opening: Opening,
  deps: PastDeps,
  isCopy: boolean,
): Promise<OwnAccount | null> {
  const {account, keys} = opening.config;
  if (account !== null)
    return await openEnvironmentAccount(opening.config, account, {...deps, isCopy});
  const storedAccounts = await listAccounts(deps.pool);
  const ownAccounts = storedAccounts.filter(({name}) => name !== demoName);
  // If a key is set and no account is stored, the person is about to add an account. A stored demo
  // continues with a key, because hooks and alerts need one, too.
  const isDemoWanted = keys.length === 0 || storedAccounts.length > 0;
  if (ownAccounts.length === 0 && isDemoWanted) {
    const demo = await openDemo(opening, deps);
    return {...demo, account: await resumeStopped(deps.pool, demo.account)};
  }
  if (keys.length > 0) return null;
  throw new UsageError(
    `config: ${expectAccess(ownAccounts)}; without it made-up data would be mixed with theirs`,
  );
}

/**
 * Names the missing settings, if accounts are mirrored and the environment gives no access to them.
 */
function expectAccess(storedAccounts: readonly Account[]): string {
  const sealed = storedAccounts.filter(({keyId}) => keyId !== null);
  const names = (accounts: readonly Account[]) => accounts.map(({name}) => name).join(', ');
  if (sealed.length > 0)
    return (
      `FIELDMIRROR_KEY: expected the key of ${names(sealed)} (key ${sealed[0]?.keyId}), ` +
      'got nothing'
    );
  return (
    'FIELDMIRROR_API_URL, FIELDMIRROR_API_TOKEN: expected the address and token of ' +
    `${names(storedAccounts)}, got nothing`
  );
}

/**
 * Opens the environment's account. If it is stopped and passes its check, it becomes active. If a
 * person paused it, it stays paused.
 */
async function openEnvironmentAccount(
  config: Config,
  access: AccountConfig,
  {pool, log, isCopy}: LoggedPool & {readonly isCopy: boolean},
): Promise<OwnAccount> {
  const {apiUrl, token} = access;
  const {timeZone} = config;
  const place = toServiceAddress(apiUrl);
  const storedAccount = (await listAccounts(pool)).find(
    (account) => toServiceAddress(account.apiUrl) === place && account.name !== demoName,
  );
  // A copy sends nothing to the service, not even a check of the token.
  if (isCopy && storedAccount !== undefined) return {account: storedAccount, access, source: place};
  let page: RawPage;
  try {
    page = await requestAccount({
      apiUrl,
      token,
      isProven: storedAccount !== undefined,
      allowsHttp: config.allowsHttp,
      allowsLinkLocal: config.allowsLinkLocal,
    });
  } catch (error) {
    if (storedAccount !== undefined && error instanceof AccessError)
      await stopUnserved(pool, storedAccount, error);
    // If a key is given for other accounts, a refused or unreachable account does not block them.
    if (storedAccount === undefined || config.keys.length === 0) throw error;
    log.error(
      {
        event: 'account.unreachable',
        account: storedAccount.name,
        reason: String(error),
        ...causePage(error),
      },
      'the account of the environment does not answer',
    );
    return {account: storedAccount, access, source: place};
  }
  refuseWrongZone(page, {timeZone, setting: 'config: FIELDMIRROR_TIME_ZONE'});
  const account = await upsertAccount(pool, {name: storedAccount?.name ?? place, apiUrl, timeZone});
  return {account: await resumeStopped(pool, account), access, source: place};
}

/**
 * Stops an account, unless a worker serves it: that worker's token works, and ours may be mistyped.
 */
async function stopUnserved(
  pool: pg.Pool,
  {accountId}: Account,
  {message}: AccessError,
): Promise<void> {
  const isServed = (await listWorkers(pool)).some(
    ({isAlive, accountIds}) => isAlive && accountIds.includes(accountId),
  );
  const nextStep = 'FIELDMIRROR_API_TOKEN has it: restart with the right one';
  if (!isServed) await stopAccount(pool, accountId, `${message}; ${nextStep}`);
}

async function resumeStopped(pool: pg.Pool, account: Account): Promise<Account> {
  if (account.state !== 'stopped') return account;
  await resumeAccount(pool, account.accountId);
  return {...account, state: 'active', stateReason: null};
}

export interface Served {
  /** Accounts in any state whose tokens this process has or can open. */
  readonly known: readonly Account[];
  /** The accounts that are served. */
  readonly active: readonly Account[];
  /** Active accounts that are not served. */
  readonly unopened: readonly Unopened[];
}

/** @throws {UsageError} there are active accounts, and the token of none is available here */
export async function listServed(app: Pick<App, 'listKnown' | 'listUnopened'>): Promise<Served> {
  const known = await app.listKnown();
  const unopened = await app.listUnopened();
  const unopenedIds = new Set(unopened.map(({accountId}) => accountId));
  const active = known.filter(
    ({accountId, state}) => state === 'active' && !unopenedIds.has(accountId),
  );
  if (active.length === 0) refuseUnopened(unopened);
  return {known, active, unopened};
}

/** @throws {UsageError} the token of this account is not available here */
export async function requireOpened(
  app: Pick<App, 'listUnopened'>,
  {accountId}: Account,
): Promise<void> {
  refuseUnopened((await app.listUnopened()).filter((each) => each.accountId === accountId));
}

/** One line for each account that is not served, with the reason and the next step. */
export function describeUnopened(unopened: readonly Unopened[]): string[] {
  return unopened.map(({reason}) => `not served: ${reason}`);
}

function refuseUnopened(unopened: readonly Unopened[]): void {
  if (unopened.length > 0) throw new UsageError(describeUnopened(unopened).join('\n'));
}
