// The verbs that check an account: `accounts check`, and `accounts resume` of a stopped one. Other
// modules use the same light request, too; its answer shows whether the zone is right.

import PQueue from 'p-queue';
import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import {
  type Account,
  listAccounts,
  readAccountAccess,
  resumeAccount,
  saveSealedToken,
} from '../accounts/accounts.ts';
import {openToken} from '../accounts/open-accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {type Client, createClient, type RawPage} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {isIsoInstant} from '../api/value-types.ts';
import {readList} from '../api/xml-strict.ts';
import type {Config} from '../core/config.ts';
import {AccessError, FatalError, RecordError, RetryableError, UsageError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import {markToken, type Secret, seal} from '../core/secret.ts';
import {chooseAccount, isFromEnvironment} from './accounts.ts';
import {type OutputOptions, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

/** The result of checking one account. */
interface AccountCheck extends AccountFinding {
  readonly account: string;
  readonly state: string;
  /** The account was stopped, and is active now. */
  readonly isResumed: boolean;
  /** Its token was sealed again, with the first of the keys given. */
  readonly isResealed: boolean;
}

const checksAtOnce = 8;

/**
 * Checks each account, or one, with a light request, and prints its problems. A stopped account
 * that answers becomes active. A token sealed with another key is sealed again with the first key
 * given.
 * @returns the exit code: 3 if an account has a problem
 */
export async function accountsCheck(
  config: Config,
  name: string | undefined,
  {json}: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const chosen =
      name === undefined ? await listAccounts(pool) : [await chooseAccount({pool}, name)];
    const accountsToCheck = chosen.filter((account) => account.name !== demoName);
    const checks = accountsToCheck.map((account) => () => runAccountCheck(config, pool, account));
    const accounts = await new PQueue({concurrency: checksAtOnce}).addAll(checks);
    const lines = accounts.map(describeCheck);
    print(json, {
      json: {accounts},
      text: lines.length === 0 ? 'no account to check' : lines.join('\n'),
    });
    return accounts.every(({verdict}) => verdict === 'good') ? 0 : 3;
  });
}

/** Checks one account in the same way, for the console. @returns a sentence */
export async function checkAccount(config: Config, pool: pg.Pool, name: string): Promise<string> {
  return describeCheck(await runAccountCheck(config, pool, await chooseAccount({pool}, name)));
}

/**
 * Resumes an account. A stopped account must pass its check first.
 * @throws {FatalError} the check fails
 */
export async function accountsResume(
  config: Config,
  name: string,
  {json}: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const accountBefore = await chooseAccount({pool}, name);
    if (accountBefore.state === 'stopped') {
      const {verdict, found: finding} = await runAccountCheck(config, pool, accountBefore);
      if (verdict !== 'good') throw new FatalError(`account ${name} stays stopped: ${finding}`);
    } else await resumeAccount(pool, accountBefore.accountId);
    const account = await chooseAccount({pool}, name);
    print(json, {json: {account}, text: `account ${name} is active`});
    return 0;
  });
}

async function runAccountCheck(
  config: Config,
  pool: pg.Pool,
  account: Account,
): Promise<AccountCheck> {
  const {accountId, name, apiUrl, timeZone} = account;
  const {token, problem} = await findToken(config, pool, account);
  const firstFinding: AccountFinding =
    token === null
      ? {verdict: 'token unknown', found: problem}
      : await examineAccount({
          name,
          apiUrl,
          timeZone,
          token,
          allowsHttp: config.allowsHttp,
          allowsLinkLocal: config.allowsLinkLocal,
        });
  const mayResume =
    token !== null && firstFinding.verdict === 'good' && account.state === 'stopped';
  const finding = (mayResume ? await findOtherToken(pool, accountId, token) : null) ?? firstFinding;
  const isResumed =
    finding.verdict === 'good' &&
    account.state === 'stopped' &&
    (await resumeAccount(pool, accountId));
  const isResealed = await resealToken(config, pool, account);
  return {
    account: name,
    state: isResumed ? 'active' : account.state,
    ...finding,
    isResumed,
    isResealed,
  };
}

/** Finds a live worker with another token: it would stop the account again at once. */
async function findOtherToken(
  pool: pg.Pool,
  accountId: string,
  token: Secret,
): Promise<AccountFinding | null> {
  const otherWorker = (await listWorkers(pool)).find(
    ({isAlive, given: givenAccess, workerId}) =>
      isAlive &&
      givenAccess?.accountId === accountId &&
      givenAccess.tokenMark !== markToken(token, workerId),
  );
  if (otherWorker === undefined) return null;
  const workerName = `the worker on ${otherWorker.host}, pid ${otherWorker.pid}`;
  return {
    verdict: 'other token',
    found:
      `answers, and takes the token given here; but ${workerName}, was started with another one, ` +
      'and would stop the account again: restart it with this one',
  };
}

/** The environment's token takes precedence over the sealed one, as it does in a sweep. */
async function findToken(
  config: Config,
  pool: pg.Pool,
  account: Account,
): Promise<{readonly token: Secret | null; readonly problem: string}> {
  if (isFromEnvironment(config, account)) return {token: config.token, problem: ''};
  const access = await readAccountAccess(pool, account.accountId);
  try {
    return {
      token: openToken({...account, sealed: access?.sealed ?? null}, config.keys),
      problem: '',
    };
  } catch (error) {
    if (!(error instanceof FatalError)) throw error;
    return {token: null, problem: error.message};
  }
}

/**
 * Key rotation: seals the same token with the first key. A token replaced meanwhile is left alone.
 */
async function resealToken(config: Config, pool: pg.Pool, account: Account): Promise<boolean> {
  const [key] = config.keys;
  const sealed = (await readAccountAccess(pool, account.accountId))?.sealed ?? null;
  const isKnown = config.keys.some(({id}) => id === sealed?.keyId);
  if (key === undefined || sealed === null || sealed.keyId === key.id || !isKnown) return false;
  try {
    const token = openToken({...account, sealed}, config.keys);
    const {accountId} = account;
    await saveSealedToken(pool, accountId, {...seal(token, key, accountId), instead: sealed});
    return true;
  } catch (error) {
    // The check has reported a damaged seal already.
    if (error instanceof FatalError) return false;
    throw error;
  }
}

function describeCheck({
  account,
  state,
  verdict,
  found,
  isResumed,
  isResealed,
}: AccountCheck): string {
  const notes = [
    ...(isResumed ? ['it continues'] : []),
    ...(state === 'active' ? [] : [`it is ${state}`]),
    ...(isResealed ? ['its token is sealed with the first key now'] : []),
  ];
  return `${verdict.padEnd(13)} ${account}: ${[found, ...notes].join('; ')}`;
}

/** The address and token of an account that is to be checked. */
export interface AccountAddress {
  readonly apiUrl: string;
  readonly token: Secret;
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal?: boolean;
  /**
   * Whether the account was mirrored from this address before. If so, a web page in its place, or
   * an unknown host, may be a temporary failure.
   */
  readonly isProven?: boolean;
}

/**
 * The result of a check, and the next step. `refused`: the token is refused; `address`: the address
 * is wrong; `unreachable`: the service does not answer; `zone`: the zone is not the account's;
 * `other token`: a worker serves the account with another token.
 */
interface AccountFinding {
  readonly verdict:
    | 'good'
    | 'refused'
    | 'address'
    | 'unreachable'
    | 'zone'
    | 'token unknown'
    | 'other token';
  readonly found: string;
}

const lightList = '/customers.xml';
const timeoutMs = 20_000;
const attempts = 2;

/**
 * Sends one light request to an account, so that a wrong token or address is reported before any
 * work begins.
 * @throws {AccessError} the token is refused
 * @throws {RetryableError | FatalError | UsageError} the service cannot be reached, or is not at
 *   that address
 */
export async function requestAccount({
  apiUrl,
  token,
  allowsHttp,
  allowsLinkLocal,
  isProven = false,
}: AccountAddress): Promise<RawPage> {
  const transport = createTransport({
    baseUrl: apiUrl,
    token,
    allowHttp: allowsHttp,
    allowLinkLocal: allowsLinkLocal,
    isProven,
    limits: {timeoutMs},
    retry: {attempts},
  });
  try {
    const page = await requestLightList(createClient(transport));
    if (!isProven) refuseWrongPage(page, transport.place);
    return page;
  } finally {
    await transport.close();
  }
}

/**
 * Sends the same request, and returns the problem as a value. A zone that is not the account's own
 * is a problem, too.
 */
export async function examineAccount(
  address: AccountAddress & {readonly timeZone: string; readonly name: string},
): Promise<AccountFinding> {
  try {
    const {ms, body} = await requestAccount({isProven: true, ...address});
    const mismatch = findZoneMismatch(body.toString(), address.timeZone);
    if (mismatch !== null) {
      const nextStep = `fieldmirror accounts add ${address.name} --time-zone ZONE`;
      return {verdict: 'zone', found: `its time zone: ${mismatch}; ${nextStep}`};
    }
    return {verdict: 'good', found: `answers, and takes the token (${Math.round(ms)} ms)`};
  } catch (error) {
    if (error instanceof AccessError) return {verdict: 'refused', found: error.message};
    if (error instanceof RetryableError) return {verdict: 'unreachable', found: error.message};
    const isReportable =
      error instanceof FatalError || error instanceof RecordError || error instanceof UsageError;
    if (isReportable) return {verdict: 'address', found: error.message};
    throw error;
  }
}

/** @throws {FatalError} the answer is not the list that was requested */
function refuseWrongPage({body, contentType}: RawPage, place: string): void {
  const request = `GET ${lightList} at ${place}`;
  try {
    readList(body, {list: 'customers', item: 'customer'}, {thing: request, contentType});
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    const check = "check the base address: the API's host, and the path of the account";
    throw new FatalError(`${error.message}; ${check}`, {cause: error, kind: 'address'});
  }
}

async function requestLightList(api: Client): Promise<RawPage> {
  return await api.fetchPage(lightList, {only: 'customer_number,created_at', page: '1'});
}

// Checks whether the zone given for an account is its own. The service writes moments with the
// offset of the account's clock, and accepts text without an offset. In a wrong zone every time
// that is written back would be hours off.

const createdAt = /<created[-_]at\b[^>]*>\s*(\d{4}-\d\d-\d\dT[^<\s]{6,30})\s*</g;
/** The zones that most accounts with a wrong setting may be in; the first that fits is offered. */
const offeredZones = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'Pacific/Honolulu',
  'America/Halifax',
  'Europe/London',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Australia/Sydney',
];

/**
 * Compares the offsets of moments on a page with those of a zone. A few differences prove nothing:
 * rules of zones change, and not every system knows the change at once. Moments that are all in UTC
 * prove nothing either.
 * @param page - XML of a list whose records have a `created_at`
 * @returns the zone expected and the zone given, if most moments differ; else null
 */
export function findZoneMismatch(page: string, timeZone: string): string | null {
  const instants = listInstants(page);
  if (instants.length === 0) return null;
  const [oddInstant] = listDiffering(instants, timeZone);
  if (oddInstant === undefined || fits(instants, timeZone)) return null;
  const likelyZone = offeredZones.find((zone) => fits(instants, zone));
  const zone = `${timeZone}, whose clock has ${offsetIn(oddInstant, timeZone)} then`;
  const hint = likelyZone === undefined ? '' : ` (did you mean ${likelyZone}?)`;
  return `expected the account's own zone${hint}, got ${zone}; the service writes ${oddInstant}`;
}

/**
 * @param setting - the setting that gave the zone
 * @throws {UsageError} the zone is not the account's
 */
export function refuseWrongZone(
  {body}: {readonly body: Buffer},
  {timeZone, setting}: {readonly timeZone: string; readonly setting: string},
): void {
  const mismatch = findZoneMismatch(body.toString(), timeZone);
  if (mismatch !== null) throw new UsageError(`${setting}: ${mismatch}`);
}

/**
 * The zones whose offsets fit all moments of a page: only the zone of this machine if it fits, else
 * those of `offeredZones` that fit. The list is empty if the moments are all in UTC.
 */
export function guessZones(
  page: string,
  ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone,
): readonly string[] {
  const instants = listInstants(page);
  if (instants.length === 0) return [];
  const fittingZones = [ownZone, ...offeredZones].filter(
    (zone) => listDiffering(instants, zone).length === 0,
  );
  return fittingZones.includes(ownZone) ? [ownZone] : fittingZones;
}

/** The moments on a page; the list is empty if all are in UTC, which proves nothing. */
function listInstants(page: string): string[] {
  const instants = [...page.matchAll(createdAt)].flatMap(([, text = '']) =>
    isIsoInstant(text) ? [text] : [],
  );
  return instants.every((instant) => offsetOf(instant) === '+00:00') ? [] : instants;
}

function fits(instants: readonly string[], timeZone: string): boolean {
  return listDiffering(instants, timeZone).length * 2 <= instants.length;
}

function listDiffering(instants: readonly string[], timeZone: string): string[] {
  return instants.filter((instant) => offsetOf(instant) !== offsetIn(instant, timeZone));
}

function offsetOf(instant: string): string {
  return instant.endsWith('Z') ? '+00:00' : instant.slice(-6);
}

function offsetIn(instant: string, timeZone: string): string {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone).offset;
}
