// The verb `start`: runs worker, schedules and console, until it is stopped; or one sweep of
// everything.

import {randomUUID} from 'node:crypto';
import {EventEmitter, once} from 'node:events';
import {hostname} from 'node:os';
import type {HeartbeatPlan} from '../../jobs/background.ts';
import {openQueueBackend, type QueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {type Account, describeIdle} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatDuration} from '../core/format.ts';
import {readVersion} from '../core/package.ts';
import {printFolded, printStep} from '../core/text.ts';
import {fixForCopy} from '../health/installation.ts';
import type {QueueCheck} from '../http/readiness.ts';
import {checkSequences} from '../postgres/checks.ts';
import {allStreams} from '../streams/all.ts';
import {beginAccount, listSchedules, type Schedule} from '../sweeps/schedules.ts';
import {listLatestSweeps} from '../sweeps/story.ts';
import type {Sweep, SweepStep} from '../sweeps/sweeps.ts';
import {describeNothingToDo} from './accounts.ts';
import {type App, describeUnopened, listServed, type Served, withApp} from './app.ts';
import type {OpenedServer} from './http.ts';
import {
  notifySupervisor,
  type StartLock,
  type Supervisor,
  takeStartLock,
  takeSupervisor,
} from './process.ts';
import {type Progress, watchProgress, watchPush} from './progress.ts';
import {formatPushed, hasPushed, pushAll} from './push.ts';
import {makePartsFactory, reportAbsence} from './start-parts.ts';
import {codeOfStop, StoppedError} from './stop.ts';
import {exitCodeOfSweeps, formatSummary, requestSweepNow, summarise, watchSweeps} from './sync.ts';
import {fitTable, formatNextSteps, print} from './terminal.ts';

interface StartOptions {
  readonly once: boolean;
  /** Whether a console and an HTTP API are open while it runs. */
  readonly http: boolean;
  readonly host: string;
  /** If left out: the usual port, or any other if that one is in use. */
  readonly port?: number;
  readonly json: boolean;
}

interface Run extends StartOptions, Served {
  readonly progress: Progress;
  readonly ends: EventEmitter<{ended: []}>;
  readonly signal: AbortSignal;
}

interface RunOptions extends StartOptions, Pick<Run, 'signal'> {
  /** Null if the warehouse is not in a folder of this machine, or with `once`. */
  readonly startLock: StartLock | null;
  readonly supervisor: Supervisor | null;
}

const streamNames = allStreams.map(({name}) => name);
/** Bars are for one account: with several, each stream is in progress many times. */
const plainLines: Progress = {
  begin: () => {},
  advance: () => {},
  end: (_stream, line) => printFolded(`${line}\n`),
  note: printStep,
  close: () => {},
};

/**
 * The main job: migrates, then runs worker and schedules for every account whose token is known
 * here. With `once` it runs one full sweep of every stream of each account, sends the due changes,
 * prints a summary, and exits.
 * @param signal - aborts when a person or a supervisor requests a stop
 * @returns the exit code
 */
export async function start(
  config: Config,
  options: StartOptions,
  signal: AbortSignal,
): Promise<number> {
  const startLock =
    options.once || config.databaseUrl !== null ? null : await takeStartLock(config.home);
  const supervisor = takeSupervisor(process.env);
  const run = (app: App) => runApp(app, config, {...options, startLock, supervisor, signal});
  try {
    return await withApp(config, run, {staysInCopy: !options.once, signal});
  } catch (error) {
    // If a supervisor stops a start that is not ready yet, the exit is clean, as it is later.
    const isStopped =
      error === signal.reason && error instanceof StoppedError && error.signal === 'SIGTERM';
    if (isStopped && !options.once) return 0;
    throw error;
  } finally {
    await startLock?.release();
  }
}

/**
 * Runs the workers, and the console beside them, until a stop is requested; with `once` until the
 * sweeps and the push are done.
 * @returns the exit code
 */
async function runApp(
  app: App,
  config: Config,
  {startLock, supervisor, signal, ...options}: RunOptions,
): Promise<number> {
  await checkSequences(app.pool);
  const copy = await app.findCopy();
  if (copy !== null && !options.json) printFolded(`${copy}; ${fixForCopy}\n\n`);
  const served = await listServed(app);
  const {known, active, unopened} = served;
  const backend = await openQueueBackend({
    redisUrl: config.redisUrl,
    databaseUrl: app.directUrl,
    log: app.log,
  });
  const progress = known.length > 1 && !options.json ? plainLines : watchProgress(options.json);
  const run = {...options, ...served, progress, ends: new EventEmitter<{ended: []}>(), signal};
  if (!options.json) printFolded(`${formatOpening(app, served, backend.kind)}\n\n`);
  if (options.once && active.length === 0) throw new FatalError(describeNothingToDo(known));
  if (!options.once)
    for (const account of active) await beginAccount(app.pool, account, streamNames);
  const server =
    options.once || !options.http
      ? null
      : await openConsole(config, app, {...options, ...backend, signal});
  startLock?.setConsole(server?.url ?? null);
  const workers = await startReportingWorkers(app, backend, {...run, config, server});
  const ending = new AbortController();
  const supervision = reportReadiness(options.once ? null : supervisor, app, {
    outage: backend.outage,
    signal: AbortSignal.any([signal, ending.signal]),
  });
  try {
    if (!options.once) return await runUntilStopped(app, workers, {...run, server});
    const code = await runOnce(app, workers, run);
    return unopened.length > 0 || known.some(({state}) => state === 'stopped') ? 3 : code;
  } finally {
    progress.close();
    ending.abort();
    await server?.close();
    await Promise.all([workers.stop(), supervision]);
  }
}

/** Starts the workers, which report to the run; with `once` they only run requested sweeps. */
async function startReportingWorkers(
  app: App,
  backend: QueueBackend,
  {config, server, ...run}: Run & {readonly config: Config; readonly server: OpenedServer | null},
): Promise<Workers> {
  const accountIds = async () =>
    (await app.listKnown()).filter(isActive).map(({accountId}) => accountId);
  const onSweepStep = async (step: SweepStep) => {
    if (step === 'end-committed') run.ends.emit('ended');
  };
  const deps = {...app, onProgress: run.progress.advance, onSweepStep};
  const workerOptions = run.once
    ? {keepsSchedules: false}
    : {
        keepsSchedules: true,
        heartbeat: makeHeartbeat(app, config, server),
        parts: makePartsFactory({...app, config, onSecret: app.keepOut}),
        beforeAlive: () => reportAbsence({...app, config, onSecret: app.keepOut}),
      };
  return await startWorkers(deps, backend, {
    accountIds,
    directUrl: app.directUrl,
    findCopy: app.findCopy,
    ...workerOptions,
  });
}

/** If several starts run on one machine, each has a separate port. */
async function openConsole(
  config: Config,
  app: App,
  {host, port, outage, signal}: StartOptions & Pick<QueueBackend, 'outage'> & Pick<Run, 'signal'>,
): Promise<OpenedServer> {
  const {openHttpServer, usualPort} = await import('./http.ts');
  const {RequestMetrics} = await import('../http/metrics.ts');
  const listening = {host, port: port ?? usualPort, mayMove: port === undefined};
  const requests = new RequestMetrics();
  app.observeRequests(requests);
  const telemetry = {requests, queue: makeQueueCheck(outage)};
  const {setLogin} = await import('../push/set-login.ts');
  return await openHttpServer(config, app, {
    ...listening,
    log: app.log,
    telemetry,
    setLogin: (request) => setLogin(app, request, signal),
  });
}

function makeQueueCheck(outage: QueueBackend['outage']): QueueCheck {
  return async () =>
    outage.isUnderWay ? 'it is out of reach, or was shortly before; nothing is lost' : 'ok';
}

/** Reports to a supervisor the state that `/readyz` shows, with the HTTP server and without. */
async function reportReadiness(
  supervisor: Supervisor | null,
  {pool, log}: App,
  {outage, signal}: Pick<QueueBackend, 'outage'> & {readonly signal: AbortSignal},
): Promise<void> {
  if (supervisor === null) return;
  const {ReadinessProbe} = await import('../http/readiness.ts');
  const probe = new ReadinessProbe({pool, log, queue: makeQueueCheck(outage)});
  await notifySupervisor(supervisor, {
    isReady: async () => (await probe.look()).isReady,
    signal,
    log,
  });
}

function makeHeartbeat(
  {reach}: App,
  {smtpUrl}: Config,
  server: OpenedServer | null,
): HeartbeatPlan {
  const workerId = randomUUID();
  return {
    workerId,
    host: hostname(),
    pid: process.pid,
    version: readVersion(),
    consoleUrl: server?.url ?? null,
    reach: () => ({...reach(workerId), sendsMail: smtpUrl !== null}),
  };
}

function isActive({state}: Account): boolean {
  return state === 'active';
}

async function runOnce(app: App, workers: Workers, run: Run): Promise<number> {
  const sweepIdsByAccount = new Map<Account, string[]>();
  for (const account of run.active)
    sweepIdsByAccount.set(account, await requestAll(app, account, run));
  await workers.wakeDue();
  const endedSweeps: {readonly account: Account; readonly sweeps: Sweep[]}[] = [];
  for (const [account, sweepIds] of sweepIdsByAccount) {
    if (sweepIdsByAccount.size > 1 && !run.json) printFolded(`\naccount ${account.name}\n`);
    const sweeps = await Promise.race([watchSweeps(app, sweepIds, run), workers.broken]);
    endedSweeps.push({account, sweeps});
  }
  run.progress.close();
  const summaries = [];
  for (const {account, sweeps} of endedSweeps)
    summaries.push({account: account.name, lines: await summarise(app, sweeps)});
  const streams = summaries.flatMap(({account, lines}) =>
    lines.map((line) => ({account, ...line})),
  );
  const tables = summaries.map(({account, lines}) =>
    summaries.length > 1
      ? `\naccount ${account}\n${formatSummary(lines)}`
      : `\n${formatSummary(lines)}`,
  );
  // The push comes last, so that changes are compared with the service's present values.
  const progress = watchPush(run.json);
  const pushed = await pushAll(app, run.active, {...run, progress}).finally(() => progress.close());
  const pushLines = hasPushed(pushed) ? [`\nchanges made here\n${formatPushed(pushed)}`] : [];
  print(run.json, {
    json: {streams, pushed, unopened: run.unopened},
    text: [...tables, ...pushLines, `\n${formatNextSteps(app.own?.name ?? null)}`].join('\n'),
  });
  return exitCodeOfSweeps(streams) || (pushed.needy.length > 0 ? 1 : 0);
}

async function requestAll(app: App, {accountId}: Account, {progress}: Run): Promise<string[]> {
  const sweepIds: string[] = [];
  for (const stream of streamNames)
    sweepIds.push(await requestSweepNow(app, {accountId, stream, mode: 'full'}, progress));
  return sweepIds;
}

async function runUntilStopped(
  app: App,
  workers: Workers,
  run: Run & {readonly server: OpenedServer | null},
): Promise<number> {
  await workers.wakeDue();
  const plans: AccountPlan[] = [];
  for (const {name, accountId} of run.active)
    plans.push({account: name, schedules: await listSchedules(app.pool, {accountId})});
  const schedules = plans.flatMap((plan) =>
    plan.schedules.map((row) => ({account: plan.account, ...row})),
  );
  const text = [
    formatPlans(plans),
    '',
    ...(await describeFullSweeps(app, run.active)),
    ...(await describeConsole(run.server)),
    'Running. Ctrl-C stops.',
  ];
  print(run.json, {
    json: {schedules, unopened: run.unopened, console: run.server?.url ?? null},
    text: text.join('\n'),
  });
  if (!run.signal.aborted) await Promise.race([once(run.signal, 'abort'), workers.broken]);
  if (!run.json)
    printFolded(
      '\nStopping: no more work is taken; what is in progress continues at the next start.\n',
    );
  return codeOfStop(run.signal);
}

/** A link signs in anybody who has it, so it is printed only for a person, never into a log. */
async function describeConsole(server: OpenedServer | null): Promise<string[]> {
  if (server === null) return [];
  if (!process.stdout.isTTY)
    return [`Console: ${server.url} (fieldmirror open prints a link that signs in)`];
  return [`Console: ${await server.makeLink()}`];
}

/** At a first start nothing else would show that the warehouse is being filled. */
async function describeFullSweeps({pool}: App, accounts: readonly Account[]): Promise<string[]> {
  const sweepingStreams = new Set<string>();
  for (const {accountId} of accounts) {
    const latest = await listLatestSweeps(pool, accountId);
    for (const {stream, mode, endedAt} of latest)
      if (mode === 'full' && endedAt === null) sweepingStreams.add(stream);
  }
  if (sweepingStreams.size === 0) return [];
  return [
    `Full sweeps are in progress: ${[...sweepingStreams].join(', ')}. ` +
      'In another terminal, fieldmirror status shows more.',
  ];
}

/** More accounts than these are described in one line. */
const fewAccounts = 3;

/**
 * The first lines of `start`: the sources and the target of the mirror, and the accounts that it
 * does not serve.
 */
function formatOpening(app: App, {known, unopened}: Served, queue: 'redis' | 'postgres'): string {
  const otherAccounts = known.filter(({accountId}) => accountId !== app.own?.accountId);
  const sources = [
    ...(app.source === null ? [] : [app.source]),
    ...(otherAccounts.length > fewAccounts
      ? [`${otherAccounts.length} accounts whose tokens are sealed in the warehouse`]
      : otherAccounts.map(({name, apiUrl}) => `${name}, ${apiUrl}`)),
  ];
  const idle = known.filter(({state}) => state !== 'active').map(describeIdle);
  return [
    'Fieldmirror',
    ...(sources.length > 0 ? sources : ['no account yet']).map(
      (source, at) => `  ${at === 0 ? 'from ' : '     '}  ${source}`,
    ),
    `  to     ${app.place}`,
    `  queue  ${queue === 'redis' ? 'Redis' : 'in the same Postgres'}`,
    ...[...idle, ...describeUnopened(unopened)].map((line) => `\n${line}`),
  ].join('\n');
}

/** The schedules of an account. */
interface AccountPlan {
  readonly account: string;
  readonly schedules: Schedule[];
}

/** Each schedule of the only account, or one line for each of several. */
function formatPlans(plans: readonly AccountPlan[]): string {
  const [first] = plans;
  if (first === undefined)
    return 'No account is active: one that is added or resumed is taken up within seconds.';
  if (plans.length > 1) {
    const rows = plans.map(({account, schedules}) => [
      account,
      schedules.length,
      formatDue(schedules[0]?.nextDueAt),
    ]);
    return fitTable(['account', 'schedules', 'next due'], rows);
  }
  const rows = first.schedules.map((row) => [
    row.name,
    `every ${formatDuration(row.everyMs)}`,
    formatDue(row.nextDueAt),
  ]);
  return fitTable(['schedule', 'comes round', 'next due'], rows);
}

function formatDue(instant: string | undefined): string {
  if (instant === undefined) return '';
  const inMs = Date.parse(instant) - Date.now();
  return inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`;
}
