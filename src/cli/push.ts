// The verb `push`: sends the due changes here and now; or shows the requests, and sends nothing.

import {reportChange} from '../../jobs/queue-jobs.ts';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {type Change, listChangesForPerson, listUnsent} from '../changes/change.ts';
import {type HeldChanges, readHeldChanges} from '../changes/claim-changes.ts';
import {type PlannedRequest, planRequests, type Unplannable} from '../changes/request.ts';
import {type ChangeState, countChanges, countMovingChanges, nameState} from '../changes/states.ts';
import {describeReason, nameChange, nameOutcome} from '../changes/words.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {inTone, printOut} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {pushAccount} from '../push/push.ts';
import type {CarriedChange, PushCounts} from '../push/run.ts';
import {describeLogin, isLoginText, loginText, setLogin} from '../push/set-login.ts';
import {chooseAccount, requireActive} from './accounts.ts';
import {
  type App,
  describeUnopened,
  listServed,
  requireOpened,
  type Served,
  withApp,
} from './app.ts';
import {formatPlan} from './changes.ts';
import {type PushProgress, watchPush} from './progress.ts';
import {print, readSecret, wrap} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface PushOptions {
  readonly account?: string;
  readonly dryRun?: boolean;
  readonly json: boolean;
}

/**
 * Sends every change that is due, of one account or of all whose tokens are known here, in this
 * process and without the queue; or shows the requests.
 * @returns the exit code: 1 if the service refused or altered a change, or a change needs a
 *   decision; 3 if an account could not be served
 */
export async function push(
  config: Config,
  options: PushOptions,
  signal: AbortSignal,
): Promise<number> {
  const {account: name, json} = options;
  if (options.dryRun === true)
    return await withWarehouse(config, {migrates: false}, async (warehouse) => {
      const {pool} = warehouse;
      const accounts =
        name === undefined ? await listAccounts(pool) : [await chooseAccount(warehouse, name)];
      await printPlan(pool, accounts, json);
      return 0;
    });
  return await withApp(
    config,
    async (app) => {
      const {active, unopened} = await listPushed(app, name);
      const progress = watchPush(json);
      const pushed = await pushAll(app, active, {signal, progress}).finally(() => progress.close());
      const text = [formatPushed(pushed), ...describeUnopened(unopened)].join('\n');
      print(json, {json: {...pushed, unopened}, text});
      if (unopened.length > 0) return 3;
      return pushed.needy.length > 0 ? 1 : 0;
    },
    {signal},
  );
}

async function listPushed(
  app: App,
  name: string | undefined,
): Promise<Pick<Served, 'active' | 'unopened'>> {
  if (name === undefined) return await listServed(app);
  const account = requireActive(await chooseAccount(app, name));
  await requireOpened(app, account);
  return {active: [account], unopened: []};
}

/**
 * Sends the due changes of some accounts, one account after the other. The caller closes
 * `progress`.
 */
export async function pushAll(
  app: Pick<App, 'pool' | 'databaseUrl' | 'openAccount' | 'log'>,
  accounts: readonly Account[],
  {signal, progress}: {readonly signal: AbortSignal; readonly progress?: PushProgress},
): Promise<Pushed> {
  const {pool} = app;
  const [clockRow] = (await pool.query<{now: string}>('SELECT clock_timestamp() AS now')).rows;
  const results = [];
  for (const {accountId, name} of accounts) {
    const [moving] = await countMovingChanges(pool, [accountId]);
    progress?.begin(name, moving?.left ?? 0);
    const onCarried = (carried: CarriedChange) => {
      reportChange(app.log, carried);
      // Changes that are postponed or in doubt are tried again later.
      if (carried.end !== 'postponed' && carried.end !== 'in_doubt') progress?.advance();
    };
    const counts = await pushAccount({...app, onCarried}, accountId, signal);
    const open = await countChanges(pool, [accountId]);
    const claimedChanges = await readHeldChanges(pool, accountId);
    results.push({
      account: name,
      ...counts,
      open: open.map(({state, count}) => ({state, count})),
      held: claimedChanges,
    });
  }
  const accountIds = accounts.map(({accountId}) => accountId);
  const needy = await listChangesForPerson(pool, {accountIds, since: clockRow?.now ?? ''});
  return {accounts: results, needy};
}

/** The number of changes read at once: there may be a hundred thousand. */
const batchSize = 500;

type Plan = Pick<Change, 'state' | 'waitsFor'> & {readonly change: string} & (
    | PlannedRequest
    | Unplannable
  );

/**
 * Prints the requests of all pending and held changes, in the order in which the changes were made.
 */
async function printPlan(
  db: Queryable,
  accounts: readonly Account[],
  isJson: boolean,
): Promise<void> {
  const plans: Plan[] = [];
  let count = 0;
  for await (const batch of readPlans(db, accounts)) {
    count += batch.length;
    if (isJson) plans.push(...batch);
    else printOut(batch.map(formatPlannedChange).join(''));
  }
  const requests = count === 1 ? '1 request' : `${formatNumber(count)} requests`;
  const text = count === 0 ? 'nothing waits to be sent' : `${requests}; nothing was sent`;
  print(isJson, {json: {requests: plans}, text});
}

async function* readPlans(db: Queryable, accounts: readonly Account[]): AsyncGenerator<Plan[]> {
  const accountIds = accounts.map(({accountId}) => accountId);
  let after = '0';
  for (;;) {
    const changes = await listUnsent(db, {accountIds, after, limit: batchSize});
    const last = changes.at(-1);
    if (last === undefined) return;
    const requests = await planRequests(db, changes, accounts);
    yield changes.flatMap((change, at) => {
      const request = requests[at];
      const {state, waitsFor} = change;
      return request === undefined
        ? []
        : [{change: nameChange(change), state, waitsFor, ...request}];
    });
    after = last.changeId;
  }
}

function formatPlannedChange(plan: Plan): string {
  const waits = plan.waitsFor === null ? '' : `, waits for change ${plan.waitsFor}`;
  const head = `change ${plan.changeId}: ${plan.change}, ${nameState(plan.state)}${waits}`;
  return `${[head, ...formatPlan(plan).map((line) => `  ${line}`)].join('\n')}\n\n`;
}

/** The result of a push. */
interface Pushed {
  readonly accounts: readonly (PushCounts & {
    /** The name of the account. */
    readonly account: string;
    /** The changes still in progress, by state. */
    readonly open: readonly {readonly state: ChangeState; readonly count: number}[];
    /**
     * Changes that another process has claimed, and the time until the last claim expires if that
     * process has ended.
     */
    readonly held: HeldChanges;
  })[];
  /** Conflicts, and the changes that the service has just refused or altered. */
  readonly needy: readonly Change[];
}

const mostShownNeedy = 20;
const nothingDue = 'nothing was due';

/** Whether there was anything to push, or is still. */
export function hasPushed({accounts, needy}: Pushed): boolean {
  return needy.length > 0 || accounts.some((pushed) => describeCounts(pushed) !== nothingDue);
}

/** A line for each account, and the changes that need a person. */
export function formatPushed({accounts, needy}: Pushed): string {
  if (accounts.length === 0) return 'no account is active: fieldmirror accounts list';
  const width = Math.max(...accounts.map(({account}) => account.length));
  const lines = accounts.map((pushed) =>
    wrap(`${pushed.account.padEnd(width)}  ${describeCounts(pushed)}`),
  );
  if (needy.length === 0) return lines.join('\n');
  const hiddenCount = needy.length - mostShownNeedy;
  return [
    ...lines,
    '',
    inTone('Needs a person:', 'bad'),
    ...needy.slice(0, mostShownNeedy).flatMap(formatNeedy),
    ...(hiddenCount > 0
      ? [`  and ${formatNumber(hiddenCount)} more: fieldmirror changes list`]
      : []),
  ].join('\n');
}

function describeCounts({
  done,
  rejected,
  conflict,
  inDoubt,
  postponed,
  open,
  held,
}: Pushed['accounts'][number]): string {
  const counts: readonly (readonly [number, string])[] = [
    [done, 'done'],
    [rejected, 'refused'],
    [conflict, conflict === 1 ? 'needs a decision' : 'need a decision'],
    [inDoubt, 'in doubt'],
    [postponed, 'to be tried again'],
  ];
  const outcomes = counts
    .filter(([count]) => count > 0)
    .map(([count, label]) => `${formatNumber(count)} ${label}`);
  const openTexts = open.map(({state, count}) => `${formatNumber(count)} ${nameState(state)}`);
  return [
    outcomes.length === 0 ? nothingDue : outcomes.join(', '),
    ...(openTexts.length === 0 ? [] : [`still open: ${openTexts.join(', ')}`]),
    ...(held.count === 0
      ? []
      : [
          `another process has ${formatNumber(held.count)} in hand; if that process has ended, ` +
            'fieldmirror push carries them in ' +
            `${formatDuration(Math.max(1_000, held.leaseMs))} at most`,
        ]),
  ].join('; ');
}

function formatNeedy(change: Change): string[] {
  const {changeId} = change;
  return [
    wrap(
      `  change ${changeId}, ${nameChange(change)}, ${nameOutcome(change)}: ` +
        describeReason(change),
    ),
    `    fieldmirror changes show ${changeId}`,
  ];
}

// The verb `employees login`: sends user name and password of an employee to the service at once.

interface EmployeesLoginOptions {
  readonly username: string;
  readonly force?: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/**
 * Gives an employee a login. The password is read from standard input or a hidden prompt, and is
 * never stored.
 * @returns the exit code: 1 if it was refused, 3 if nothing could be sent or no answer came
 * @throws {UsageError} no such account or employee, no password
 */
export async function employeesLogin(
  config: Config,
  {account: name, number}: {readonly account: string; readonly number: string},
  {username, force = false, json, signal}: EmployeesLoginOptions,
): Promise<number> {
  if (!isLoginText(username))
    throw new UsageError(`employees login: --username: expected ${loginText}, got another text`);
  return await withApp(
    config,
    async (app) => {
      const account = requireActive(await chooseAccount(app, name));
      await requireOpened(app, account);
      const password = await readSecret(
        `Password of employee ${number} (it is not shown): `,
        'employees login: expected the password on standard input, got nothing',
        {keepsBlanks: true},
      );
      const {accountId} = account;
      const request = {accountId, number, username, password, force, by: null};
      const result = await setLogin(app, request, signal);
      const {outcome, message, hint = null} = result;
      if (outcome === 'not-found') throw new UsageError(describeLogin(result));
      print(json, {
        json: {employee_number: number, username, outcome, detail: message, hint},
        text: wrap(describeLogin(result)),
      });
      return exitCodes[outcome];
    },
    {signal},
  );
}

const exitCodes = {set: 0, refused: 1, unknown: 3, 'not-sent': 3} as const;
