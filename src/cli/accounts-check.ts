// The verbs that ask an account: `accounts check`, and `accounts resume` of one that was stopped.

import PQueue from 'p-queue';
import type pg from 'pg';
import {
  type Account,
  keepSealedToken,
  listAccounts,
  readAccountAccess,
  resumeAccount,
} from '../accounts/accounts.ts';
import {openToken} from '../accounts/open-accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import type {Secret} from '../core/secret.ts';
import {markToken, seal} from '../core/secret.ts';
import {isEnvironments} from './accounts.ts';
import {type AccountFinding, examineAccount} from './ask-account.ts';
import {chooseAccount} from './choose-account.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

/** The result of checking one account. */
interface Checked extends AccountFinding {
  readonly account: string;
  readonly state: string;
  /** The account was stopped, and goes on now. */
  readonly isResumed: boolean;
  /** Its token is sealed with another key than before: the first of those given. */
  readonly isSealedAnew: boolean;
}

const checksAtOnce = 8;

/**
 * Asks each account, or one, a light question, and tells its flaws. A stopped account that answers
 * goes on; a token that another key sealed is sealed anew with the first key given.
 * @returns the exit code: 3 when an account is not well
 */
export async function check(
  config: Config,
  name: string | undefined,
  {json}: Output,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const chosen =
      name === undefined ? await listAccounts(pool) : [await chooseAccount({pool}, name)];
    const asked = chosen.filter((account) => account.name !== demoName);
    const questions = asked.map((account) => () => checkOne(config, pool, account));
    const accounts = await new PQueue({concurrency: checksAtOnce}).addAll(questions);
    const lines = accounts.map(describeCheck);
    print(json, {
      json: {accounts},
      text: lines.length === 0 ? 'no account to check' : lines.join('\n'),
    });
    return accounts.every(({verdict}) => verdict === 'good') ? 0 : 3;
  });
}

/** The same of one account, for the console. @returns a sentence */
export async function checkAccount(config: Config, pool: pg.Pool, name: string): Promise<string> {
  return describeCheck(await checkOne(config, pool, await chooseAccount({pool}, name)));
}

/**
 * Lets an account go on. A stopped account must pass its check first.
 * @throws {FatalError} the check fails
 */
export async function resume(config: Config, name: string, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const held = await chooseAccount({pool}, name);
    if (held.state === 'stopped') {
      const {verdict, found} = await checkOne(config, pool, held);
      if (verdict !== 'good') throw new FatalError(`account ${name} stays stopped: ${found}`);
    } else await resumeAccount(pool, held.accountId);
    const account = await chooseAccount({pool}, name);
    print(json, {json: {account}, text: `account ${name} is active`});
    return 0;
  });
}

async function checkOne(config: Config, pool: pg.Pool, account: Account): Promise<Checked> {
  const {accountId, name, apiUrl, timeZone} = account;
  const {token, problem} = await findToken(config, pool, account);
  const asked: AccountFinding =
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
  const isTaken = token !== null && asked.verdict === 'good' && account.state === 'stopped';
  const finding = (isTaken ? await findOtherToken(pool, accountId, token) : null) ?? asked;
  const isResumed =
    finding.verdict === 'good' &&
    account.state === 'stopped' &&
    (await resumeAccount(pool, accountId));
  const isSealedAnew = await sealAnew(config, pool, account);
  return {
    account: name,
    state: isResumed ? 'active' : account.state,
    ...finding,
    isResumed,
    isSealedAnew,
  };
}

/** A worker that was started with another token would stop the account again at once. */
async function findOtherToken(
  pool: pg.Pool,
  accountId: string,
  token: Secret,
): Promise<AccountFinding | null> {
  const other = (await listWorkers(pool)).find(
    ({isAlive, given, workerId}) =>
      isAlive && given?.accountId === accountId && given.tokenMark !== markToken(token, workerId),
  );
  if (other === undefined) return null;
  const worker = `the worker on ${other.host}, pid ${other.pid}`;
  return {
    verdict: 'other token',
    found: `answers, and takes the token given here; but ${worker}, was started with another one, and would stop the account again: start it anew with this one`,
  };
}

/** The environment's token goes before the sealed one, as it does in a sweep. */
async function findToken(
  config: Config,
  pool: pg.Pool,
  account: Account,
): Promise<{readonly token: Secret | null; readonly problem: string}> {
  if (isEnvironments(config, account)) return {token: config.token, problem: ''};
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

/** Key rotation: the same token under the first key. A token replaced meanwhile is left alone. */
async function sealAnew(config: Config, pool: pg.Pool, account: Account): Promise<boolean> {
  const [key] = config.keys;
  const sealed = (await readAccountAccess(pool, account.accountId))?.sealed ?? null;
  const isKnown = config.keys.some(({id}) => id === sealed?.keyId);
  if (key === undefined || sealed === null || sealed.keyId === key.id || !isKnown) return false;
  try {
    const token = openToken({...account, sealed}, config.keys);
    const {accountId} = account;
    await keepSealedToken(pool, accountId, {...seal(token, key, accountId), instead: sealed});
    return true;
  } catch (error) {
    // A damaged seal is the check's finding already.
    if (error instanceof FatalError) return false;
    throw error;
  }
}

function describeCheck({account, state, verdict, found, isResumed, isSealedAnew}: Checked): string {
  const notes = [
    ...(isResumed ? ['it goes on'] : []),
    ...(state === 'active' ? [] : [`it is ${state}`]),
    ...(isSealedAnew ? ['its token is sealed with the first key now'] : []),
  ];
  return `${verdict.padEnd(13)} ${account}: ${[found, ...notes].join('; ')}`;
}
