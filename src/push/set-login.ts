// Gives an employee a login: user name and password are sent to the service at once, in one
// request. The password is in this process and in that request alone: it is never written to
// Postgres, the queue, a log or an error.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {type AuditEntry, writeAudit} from '../accounts/access.ts';
import {stopAccount} from '../accounts/accounts.ts';
import {type AccountApi, judgeAccess} from '../accounts/open-accounts.ts';
import {toPathPart} from '../api/addresses.ts';
import {sendWrite, type WriteResult} from '../api/client.ts';
import {isMissingRecord, type MissingRecord} from '../api/verdict.ts';
import {encodeDocument, type FieldKind} from '../changes/request.ts';
import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import type {Secret} from '../core/secret.ts';
import {employees, employeeWrites} from '../streams/team.ts';
import {runSweep} from '../sweeps/run-sweep.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import {readSweep, requestSweep} from '../sweeps/sweeps.ts';
import {listRemoteRows} from './decision.ts';
import {readRecordAt} from './remote.ts';

/** A login to give to an employee. */
export interface LoginRequest {
  readonly accountId: string;
  /** The employee's number. */
  readonly number: string;
  readonly username: string;
  readonly password: Secret;
  /**
   * Allows the employee whose token is in use, or may be, too: a new password makes that token
   * invalid.
   */
  readonly force?: boolean;
  /**
   * Who requests it, for the audit; null for the command, whose caller is known by the database's
   * role.
   */
  readonly by: Pick<AuditEntry, 'name' | 'role' | 'address'> | null;
}

/**
 * The result of setting a login. `set`: the service has it; `unknown`: no answer came, and no
 * reading shows whether the password was set; `refused` and `not-found`: nothing was written;
 * `not-sent`: nothing was written, and it may be possible later.
 */
export interface LoginResult {
  readonly outcome: 'set' | 'unknown' | 'refused' | 'not-found' | 'not-sent';
  /** For a person; never with the password. */
  readonly message: string;
  /** What to do next. */
  readonly hint?: string;
}

/** Describes the result and what to do next, as one text. */
export function describeLogin({message, hint}: LoginResult): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

export type SetLogin = (request: LoginRequest) => Promise<LoginResult>;

interface LoginDeps extends SweepDeps {
  /**
   * The delay from a lost answer to the first reading of the employee, then from each reading to
   * the next.
   */
  readonly checkDelaysMs?: readonly number[];
}

const usualCheckDelaysMs = [0, 2_000, 8_000];

/** Fields of the one request; a login needs all three. */
const fieldKinds: ReadonlyMap<string, FieldKind> = new Map([
  ['can_login', 'boolean'],
  ['username', 'text'],
  ['password', 'text'],
]);

const elementNames = {list: employees.list, item: employees.item};
const longestLogin = 1_000;
const newTokenHint =
  'Give the new token: fieldmirror accounts add, or FIELDMIRROR_API_TOKEN. Until then the ' +
  'account is stopped.';

/** What is allowed as a user name or a password; a value that is invalid must not be shown. */
export const loginText = `1 to ${longestLogin} characters on one line, and not blanks alone`;

/** Whether a text can be a user name or a password. */
export function isLoginText(text: string): boolean {
  return (
    text.trim() !== '' && text.length <= longestLogin && !/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u.test(text)
  );
}

/**
 * Sends a login to the service, once, and reads the employee back into the warehouse. If the answer
 * is lost, the request is not sent again: the employee is read, which may show that the request
 * arrived.
 * @param signal - aborts at shutdown: a waiting request is not sent, one in progress continues
 */
export async function setLogin(
  deps: LoginDeps,
  request: LoginRequest,
  signal: AbortSignal,
): Promise<LoginResult> {
  const {pool} = deps;
  const facts = await readEmployeeFacts(pool, request);
  const refusal = findRefusal(facts, request);
  if (refusal !== null) return refusal;
  const {number, password, accountId} = request;
  let account: AccountApi | null = null;
  let before: ShownLogin | MissingRecord;
  try {
    account = await deps.openAccount(accountId);
    before = await readLogin(pool, {account, request, signal});
  } catch (error) {
    return await describeNotSent(error, account);
  }
  if (isMissingRecord(before)) return describeUnknownEmployee(number);
  // No login is sent without a trace: the audit entry is written before the first byte.
  await writeLoginAudit(pool, request, {
    before,
    after: {username: request.username, can_login: true},
  });
  const sent = await send(account, request, signal);
  if (sent.outcome === 'done' && facts?.isTokenOwner === true) {
    await stopAccount(
      pool,
      accountId,
      'the password of the employee whose token is in use was changed here, and the token with ' +
        'it: give the new token (fieldmirror accounts add, or FIELDMIRROR_API_TOKEN)',
    );
    return {outcome: 'set', message: `employee ${number} has the login`, hint: newTokenHint};
  }
  const result = await judge(deps, {request, account, before, sent, signal});
  if (result.outcome !== 'set')
    await writeLoginAudit(pool, request, {before, after: {outcome: result.outcome}});
  return hideSecrets(result, (text) => account.api.transport.hide(text, [password]));
}

/** The warehouse's facts about the employee and the account. */
interface EmployeeFacts {
  readonly account: string;
  readonly state: string;
  readonly isCopy: boolean;
  readonly isHere: boolean;
  readonly isDeleted: boolean;
  /** Null if it is not known yet whose token is in use. */
  readonly isTokenOwner: boolean | null;
}

async function readEmployeeFacts(
  pool: pg.Pool,
  {accountId, number}: Pick<LoginRequest, 'accountId' | 'number'>,
): Promise<EmployeeFacts | null> {
  const {rows} = await pool.query<EmployeeFacts>(
    `SELECT account.name AS account, account.state, sync.is_copy() AS "isCopy",
            employee.row_id IS NOT NULL AS "isHere",
            employee._deleted_at IS NOT NULL AS "isDeleted",
            account.employee_id = employee.id AS "isTokenOwner"
       FROM sync.accounts AS account
       LEFT JOIN warehouse.employees AS employee
              ON employee.account_id = account.account_id AND employee_number = $2
      WHERE account.account_id = $1`,
    [accountId, number],
  );
  return rows[0] ?? null;
}

/** Why nothing is sent; null if the login may be sent. */
function findRefusal(
  facts: EmployeeFacts | null,
  {number, username, password, force = false}: LoginRequest,
): LoginResult | null {
  for (const [name, text] of [
    ['username', username],
    ['password', password.reveal()],
  ] as const)
    if (!isLoginText(text))
      return {outcome: 'refused', message: `${name}: expected ${loginText}, got another text`};
  if (facts === null) return {outcome: 'not-sent', message: 'the account is no longer here'};
  if (facts.isCopy)
    return {
      outcome: 'not-sent',
      message: 'this warehouse may be a copy, in which nothing is sent',
      hint: 'fieldmirror installation show prints more.',
    };
  if (facts.state !== 'active')
    return {outcome: 'not-sent', message: `account ${facts.account} is ${facts.state}`};
  if (!facts.isHere) return describeUnknownEmployee(number);
  if (facts.isDeleted) return {outcome: 'refused', message: `employee ${number} is deleted`};
  if (force || facts.isTokenOwner === false) return null;
  return {
    outcome: 'refused',
    message: facts.isTokenOwner
      ? `employee ${number} is the one whose token is in use, and a new password makes it invalid`
      : 'it is not known yet whose token is in use (the first record created shows it), and a ' +
        'new password would make that one invalid',
    hint:
      `fieldmirror employees login ${facts.account} ${number} --force sets it all the same; then ` +
      'give the account the new token.',
  };
}

function describeUnknownEmployee(number: string): LoginResult {
  return {
    outcome: 'not-found',
    message: `expected the number of an employee, got ${number}`,
    hint: `fieldmirror sync employees --record ${number} asks the service for it.`,
  };
}

/** The login fields of an employee; each is null if the service left it out. */
interface ShownLogin {
  readonly username: string | null;
  readonly can_login: boolean | null;
}

async function readLogin(
  pool: pg.Pool,
  {
    account,
    request: {accountId, number},
    signal,
  }: Pick<SentLogin, 'account' | 'request' | 'signal'>,
): Promise<ShownLogin | MissingRecord> {
  const place = {pool, accountId, account, stream: employees};
  const remote = await readRecordAt(place, number, {wanted: [], signal});
  if (isMissingRecord(remote)) return remote;
  const [row] = listRemoteRows({stream: employees, writes: employeeWrites}, remote);
  const {username = null, can_login: canLogin = null} = row?.values ?? {};
  return {
    username: username === null ? null : String(username),
    can_login: canLogin === null ? null : String(canLogin) === 'true',
  };
}

/** @throws only errors that are bugs; they hold neither the password nor the token */
async function send(
  account: AccountApi,
  {number, username, password}: LoginRequest,
  signal: AbortSignal,
): Promise<WriteResult> {
  const {transport} = account.api;
  try {
    const body = encodeDocument('employee', fieldKinds, {
      can_login: 'true',
      username,
      password: password.reveal(),
    });
    const path = `/employees/${toPathPart(number)}.xml`;
    const putRequest = {method: 'PUT', path, body, hidden: [password], leave: signal} as const;
    return await sendWrite(transport, putRequest, elementNames);
  } catch (error) {
    throw hideInError(error, (text) => transport.hide(text, [password]));
  }
}

interface SentLogin {
  readonly request: LoginRequest;
  readonly account: AccountApi;
  readonly before: ShownLogin;
  readonly sent: WriteResult;
  readonly signal: AbortSignal;
}

async function judge(deps: LoginDeps, sentLogin: SentLogin): Promise<LoginResult> {
  const {request, account, sent, signal} = sentLogin;
  const {number} = request;
  if (sent.outcome === 'done') return await readBack(deps, request, signal);
  if (sent.outcome === 'not-sent') return {outcome: 'not-sent', message: sent.reason};
  if (sent.outcome === 'in-doubt') return await checkLogin(deps, sentLogin, sent.reason);
  if (sent.isGone) return describeUnknownEmployee(number);
  const {error, status, message} = sent;
  if (!(error instanceof RecordError)) return await describeNotSent(error, account);
  return {outcome: 'refused', message: `the service refused it: ${status}: ${message}`};
}

/**
 * Reads the employee by a separate sweep, as any record that is requested by its number. If it
 * cannot be read now, a worker reads it later.
 */
async function readBack(
  deps: LoginDeps,
  {accountId, number, username}: LoginRequest,
  signal: AbortSignal,
): Promise<LoginResult> {
  const message = `employee ${number} has the login`;
  const {sweepId} = await requestSweep(deps.pool, {
    accountId,
    stream: employees.name,
    mode: 'record',
    recordNumber: number,
    requestedBy: 'command',
  });
  await runSweep(deps, sweepId, signal);
  const problem = await findProblem(deps.pool, sweepId, signal);
  if (problem !== null) return {outcome: 'set', message: `${message}; ${problem}`};
  const {rows} = await deps.pool.query<ShownLogin>(
    `SELECT username, can_login FROM warehouse.employees
      WHERE account_id = $1 AND employee_number = $2`,
    [accountId, number],
  );
  if (isShown(rows[0], username)) return {outcome: 'set', message};
  return {
    outcome: 'set',
    message: `the service took the login of employee ${number}, and shows another one`,
    hint: 'warehouse.employees has username and can_login as the service shows them.',
  };
}

const sweepChecks = 20;
const sweepCheckEveryMs = 250;

/**
 * Why a sweep has not read the employee back; null if it has. If another process has claimed the
 * sweep, this waits for it.
 */
async function findProblem(
  pool: pg.Pool,
  sweepId: string,
  signal: AbortSignal,
): Promise<string | null> {
  for (let tries = 0; tries < sweepChecks && !signal.aborted; tries++) {
    const sweep = await readSweep(pool, sweepId);
    if (sweep === null || sweep.state === 'due') break;
    if (sweep.error !== null) return `it could not be read back: ${sweep.error}`;
    if (sweep.endedAt !== null) return null;
    await wait(sweepCheckEveryMs);
  }
  return 'it could not be read back yet, and a sweep will';
}

function isShown(shown: ShownLogin | undefined, username: string): boolean {
  return shown?.username === username && shown.can_login === true;
}

/**
 * Checks what became of a request whose answer was lost. User name and password are sent in one
 * request, so a new user name at the service proves both. If the user name is the same as before,
 * it proves nothing.
 */
async function checkLogin(
  deps: LoginDeps,
  {request, account, before, signal}: SentLogin,
  reason: string,
): Promise<LoginResult> {
  const {number, username} = request;
  const hint =
    `Try the login, or set it again: fieldmirror employees login sends it again. ` +
    'Nothing is sent again automatically.';
  if (isShown(before, username))
    return {
      outcome: 'unknown',
      message:
        `${reason}; the user name was the same before, so no reading shows whether the password ` +
        'was set',
      hint,
    };
  let result = 'the employee could not be read';
  for (const delayMs of deps.checkDelaysMs ?? usualCheckDelaysMs) {
    await wait(delayMs);
    if (signal.aborted) break;
    try {
      const login = await readLogin(deps.pool, {account, request, signal});
      if (isMissingRecord(login)) return describeUnknownEmployee(number);
      if (isShown(login, username)) return await readBack(deps, request, signal);
      result = 'the service shows none of it so far, and it may still arrive';
    } catch (error) {
      if (!isExpected(error)) throw error;
      result = `the employee could not be read: ${(await explainError(error, account)).message}`;
    }
  }
  return {outcome: 'unknown', message: `${reason}; ${result}`, hint};
}

function isExpected(error: unknown): error is Error {
  return (
    error instanceof RetryableError || error instanceof FatalError || error instanceof RecordError
  );
}

/** Adds to the error of a refused token how to give another one. */
async function explainError(error: Error, account: AccountApi | null): Promise<Error> {
  const judged = account === null ? error : await judgeAccess(error, account);
  return judged instanceof Error ? judged : error;
}

async function describeNotSent(error: unknown, account: AccountApi | null): Promise<LoginResult> {
  if (!isExpected(error)) throw error;
  const {message} = await explainError(error, account);
  return {outcome: 'not-sent', message};
}

async function writeLoginAudit(
  pool: pg.Pool,
  {by, accountId, number}: LoginRequest,
  {before, after}: Pick<AuditEntry, 'before' | 'after'>,
): Promise<void> {
  const subject = `employee ${number}`;
  const action = 'employees.login';
  const caller = by ?? (await readCaller(pool));
  await writeAudit(pool, {...caller, sessionId: null, action, accountId, subject, before, after});
}

async function readCaller(pool: pg.Pool): Promise<NonNullable<LoginRequest['by']>> {
  const {rows} = await pool.query<{name: string}>(`SELECT 'command:' || session_user AS name`);
  return {name: rows[0]?.name ?? '', role: 'admin', address: ''};
}

function hideSecrets(result: LoginResult, hide: (text: string) => string): LoginResult {
  return {...result, message: hide(result.message)};
}
