// The workers of a process. They take the queue's jobs. They also find due work without the queue,
// by a poller and by notices of Postgres.

import {setTimeout as wait} from 'node:timers/promises';
import {UnrecoverableError} from 'bullmq';
import {z} from 'zod';
import {listAccountsWithDueChanges} from '../src/changes/claim-changes.ts';
import {AccessError, FatalError, NoRoomError, RetryableError} from '../src/core/errors.ts';
import type {SendMeans} from '../src/feed/receivers.ts';
import {FeedKeeper} from '../src/feed/send-hooks.ts';
import {explainDatabaseError} from '../src/postgres/database-errors.ts';
import {listen} from '../src/postgres/listen.ts';
import type {PushDeps} from '../src/push/run.ts';
import {makePruner} from '../src/retention/retention.ts';
import type {SweepResult} from '../src/sweeps/run-sweep.ts';
import {listDueSchedules, requestDueSchedule} from '../src/sweeps/schedules.ts';
import type {SweepDeps} from '../src/sweeps/sweep-run.ts';
import {listDueSweeps} from '../src/sweeps/sweeps.ts';
import {
  type AccountIds,
  Background,
  type BackgroundPart,
  type BackgroundSurroundings,
  type BackgroundTimes,
  CopyWatch,
  type FindCopy,
  Heartbeat,
  type HeartbeatPlan,
  OverdueSchedules,
  ServedAccounts,
} from './background.ts';
import {
  type Outage,
  type QueueBackend,
  queueNames,
  type WakeQueue,
  type WakeWorker,
} from './queue.ts';
import {makeStarRounds, runPushJob, runSweepJob, wakePushes, wakeSweeps} from './queue-jobs.ts';

/** Workers of this process, on every queue. */
export interface Workers {
  /** Rejects when the queue has been out of reach for too long to continue; never resolves. */
  readonly broken: Promise<never>;
  /** Searches for due work at once, instead of at the poller's next round. */
  wakeDue(): Promise<void>;
  /**
   * Takes no more work, gives back work under way, and returns within seconds, even if the queue
   * hangs.
   */
  stop(): Promise<void>;
}

/** The dependencies of a worker. */
type WorkerDeps = SweepDeps &
  PushDeps & {
    /** Sends the feed to its subscribers; absent in processes that end automatically. */
    readonly hookMeans?: SendMeans;
  };

/** The work that this process does. */
export interface WorkerOptions {
  readonly accountIds: AccountIds;
  /** Whether to keep schedules and carry changes as well, or only to run requested sweeps. */
  readonly keepsSchedules: boolean;
  /** An address of separate sessions, to listen at; absent if the pool's address is one. */
  readonly directUrl?: string;
  /**
   * Returns the reason why the warehouse may be a copy, or null; absent in a process that ends
   * automatically and has checked this itself.
   */
  readonly findCopy?: FindCopy;
  /** Parts beside those that every worker has. */
  readonly parts?: (surroundings: BackgroundSurroundings) => readonly BackgroundPart[];
  /**
   * How often parts are begun and noted, and by which clock; if absent, the usual times of a
   * worker.
   */
  readonly times?: Partial<BackgroundTimes>;
  /** Notes that the process is alive; absent in processes that end automatically. */
  readonly heartbeat?: HeartbeatPlan;
  /** Runs before the process is noted as alive, so it can still see that no worker was. */
  readonly beforeAlive?: () => Promise<void>;
}

/** The parts that the functions of a worker share. */
interface WorkerContext {
  readonly deps: WorkerDeps;
  readonly sweeps: WakeQueue;
  readonly pushes: WakeQueue;
  readonly accounts: ServedAccounts;
  readonly copies: CopyWatch;
  readonly signal: AbortSignal;
}

const idSchema = z.string().regex(/^\d+$/);
/** The data of a queue job. */
const sweepPayload = z.object({sweepId: idSchema, accountId: idSchema});
const pushPayload = z.object({accountId: idSchema});

/** A sweep waits for the network most of its time. */
const sweepsAtOnce = 8;
/** Accounts whose changes are carried at once. */
const pushesAtOnce = 8;
/** The limit of all workers together: a slow or large account leaves room for the others. */
const sweepsPerAccount = 2;
/** The result of a queue job that this process leaves to another one. */
const notServed = {outcome: 'not-served'};
const readyMs = 10_000;
const stopMs = 5_000;

/**
 * Starts working on the queue's jobs, and polls for due work: the rows hold it reliably, while the
 * queue may lose jobs.
 * @throws {FatalError} the queue does not answer: a worker made then would receive nothing for ever
 */
export async function startWorkers(
  deps: WorkerDeps,
  backend: QueueBackend,
  options: WorkerOptions,
): Promise<Workers> {
  const stopping = new AbortController();
  const {signal} = stopping;
  const context: WorkerContext = {
    deps,
    sweeps: backend.makeQueue(queueNames.sweeps),
    pushes: backend.makeQueue(queueNames.pushes),
    accounts: new ServedAccounts(options.accountIds, deps),
    copies: new CopyWatch(options.findCopy ?? (async () => null), deps.log),
    signal,
  };
  await context.copies.check();
  const workers = makeQueueWorkers(context, backend, options);
  const parts = [...workers, context.sweeps, context.pushes];
  const heartbeat =
    options.heartbeat === undefined ? null : new Heartbeat(deps.pool, options.heartbeat);
  const background = new Background(deps.pool, options.heartbeat?.workerId ?? null, options.times);
  const pulse = background.pulse('rounds');
  if (options.keepsSchedules) addParts(background, context, options);
  const stop = async () => {
    stopping.abort(new Error('shutdown'));
    await awaitClosed([heartbeat?.stop(), background.stop(), ...parts.map((part) => part.close())]);
  };
  await awaitReady(parts).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const begunAt = performance.now();
  deps.log.info({event: 'worker.started', queue: backend.kind}, 'the worker is running');
  if (options.keepsSchedules) listenForChanges(context, backend, options);
  await options.beforeAlive?.();
  background.begin();
  const throwExplained = (error: unknown): never => {
    throw explainDatabaseError(error, deps.databaseUrl);
  };
  const wakeOnce = () => wakeDueWork(context, options.keepsSchedules).catch(throwExplained);
  const {outage} = backend;
  const pollOnce = makePollRound(context, options, {heartbeat, outage});
  return {
    broken: poll(() => pulse.round(pollOnce).catch(throwExplained), {outage, signal}),
    // If the queue refuses jobs at the moment, the process does not end: the next round tries
    // again.
    wakeDue: () => wakeOnce().catch((error: Error) => outage.failed(error.message)),
    stop: async () => {
      await stop();
      const durationMs = Math.round(performance.now() - begunAt);
      deps.log.info({event: 'worker.stopped', durationMs}, 'the worker has stopped');
    },
  };
}

/** Makes the workers that take the queue's jobs: sweeps, and changes if schedules are kept. */
function makeQueueWorkers(
  context: WorkerContext,
  backend: QueueBackend,
  {keepsSchedules}: Pick<WorkerOptions, 'keepsSchedules'>,
): WakeWorker[] {
  const workers = [
    backend.makeWorker(queueNames.sweeps, (job) => handleSweep(context, job.data), {
      concurrency: sweepsAtOnce,
    }),
  ];
  if (keepsSchedules)
    workers.push(
      backend.makeWorker(queueNames.pushes, (job) => handlePush(context, job.data), {
        concurrency: pushesAtOnce,
      }),
    );
  return workers;
}

/**
 * One round of the poller: wakes due work, logs overdue schedules, and notes that the process is
 * alive.
 */
function makePollRound(
  context: WorkerContext,
  {keepsSchedules}: Pick<WorkerOptions, 'keepsSchedules'>,
  {heartbeat, outage}: {readonly heartbeat: Heartbeat | null; readonly outage: Outage},
): () => Promise<void> {
  const overdue = new OverdueSchedules(context.deps);
  return async () => {
    // Without due work a round sends nothing to the queue, and would seem to show that it is back.
    if (outage.isUnderWay) await context.sweeps.count();
    await wakeDueWork(context, keepsSchedules);
    const {served} = context.accounts;
    if (keepsSchedules) await overdue.tell(served);
    await heartbeat?.beat(served);
  };
}

/** Adds the parts of a worker that keeps schedules: its work beside the queue. */
function addParts(
  background: Background,
  {deps, copies, accounts}: WorkerContext,
  {directUrl, parts}: WorkerOptions,
): void {
  const {pool, log, databaseUrl, hookMeans} = deps;
  const pulse: BackgroundSurroundings['pulse'] = (part) => background.pulse(part);
  const feed = new FeedKeeper({
    pool,
    log,
    directUrl: directUrl ?? databaseUrl,
    means: hookMeans ?? {keys: [], allowsHttp: false, onSecret: () => {}},
    holds: () => copies.holds,
    pulses: {feed: pulse('feed'), hooks: pulse('hooks')},
  });
  background.add(
    feed,
    makeStarRounds(deps, pulse('star')),
    makePruner(deps, pulse('retention')),
    ...(parts?.({pulse, listServed: () => accounts.served}) ?? []),
  );
}

/**
 * A change is carried as soon as it is committed; the next round finds the changes of a lost
 * notice.
 */
function listenForChanges(
  context: WorkerContext,
  {outage}: QueueBackend,
  {directUrl}: Pick<WorkerOptions, 'directUrl'>,
): void {
  const {deps, signal} = context;
  const url = directUrl ?? deps.databaseUrl;
  const setting = url === deps.databaseUrl ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  const isServed = (accountId: string) => context.accounts.knows(accountId);
  const wakeForAccounts = (accountIds: readonly string[]) => wakeForChanges(context, accountIds);
  const onNotice = handleNotices({isServed, search: wakeForAccounts, signal});
  const onFailure = (error: unknown) =>
    outage.failed(explainDatabaseError(error, url, setting).message);
  void listen(url, 'fieldmirror_due', {onNotice, onFailure, signal});
}

/**
 * If the first connection fails, BullMQ on Postgres does nothing from then on, without an error; on
 * Redis it waits.
 */
async function awaitReady(parts: readonly {waitUntilReady(): Promise<unknown>}[]): Promise<void> {
  const timeout = new AbortController();
  const timedOut = wait(readyMs, 'late' as const, {signal: timeout.signal});
  try {
    const ready = Promise.all(parts.map((part) => part.waitUntilReady()));
    if ((await Promise.race([ready, timedOut])) === 'late')
      throw new Error(`no answer in ${readyMs / 1000} s`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    throw new FatalError(
      `the queue: expected it to answer, got "${reason}"; ` +
        'nothing is lost, start again when it is back',
      {cause, kind: 'queue'},
    );
  } finally {
    timeout.abort();
    timedOut.catch(() => {});
  }
}

/**
 * Waits for all to close, for some seconds at most: a worker whose Redis is out of reach never
 * closes, and its rows are given back already.
 */
async function awaitClosed(closing: readonly (Promise<void> | undefined)[]): Promise<void> {
  const closed = Promise.all(closing).catch(() => {});
  await Promise.race([closed, wait(stopMs, undefined, {ref: false})]);
}

/** @returns the result of the queue's job */
async function handleSweep(context: WorkerContext, payload: unknown): Promise<object> {
  const {deps, accounts, signal} = context;
  const {sweepId, accountId} = sweepPayload.parse(payload);
  // Another process has the key of the account's token, and the poller wakes it.
  if (signal.aborted || context.copies.holds || !(await accounts.serves(accountId)))
    return notServed;
  const result = await runSweepJob(deps, sweepId, {signal});
  if (!signal.aborted && result.outcome !== 'not-due') await wakeNext(context, accountId, result);
  return resultOfSweep(result);
}

/**
 * The result of the queue's job, as bull-board shows it.
 * @throws {UnrecoverableError} the sweep failed: the queue counts its job as failed, with the same
 *   reason
 */
function resultOfSweep(result: SweepResult): object {
  if (result.outcome === 'failed') throw new UnrecoverableError(result.error.message);
  if (result.outcome === 'postponed')
    return {outcome: 'postponed', reason: result.error.message, delayMs: result.delayMs};
  if (result.outcome === 'not-due') return {outcome: 'not-due'};
  const {outcome, state, reasons, counts, durationMs} = result;
  return {outcome, state, reasons, counts, durationMs};
}

/** The end of one sweep wakes the next of its account. */
async function wakeNext(
  context: WorkerContext,
  accountId: string,
  result: SweepResult,
): Promise<void> {
  const {deps, accounts} = context;
  try {
    if (result.outcome === 'failed' && result.error instanceof AccessError) await accounts.read();
    else
      await wakeSweeps(
        context.sweeps,
        await listDueSweeps(deps.pool, [accountId], sweepsPerAccount),
      );
  } catch (error) {
    deps.log.debug(
      {event: 'sweep.not_woken', reason: String(error)},
      'the next sweep of the account is left to the poller',
    );
  }
}

async function handlePush(
  {deps, accounts, copies, signal}: WorkerContext,
  payload: unknown,
): Promise<object> {
  const {accountId} = pushPayload.parse(payload);
  if (signal.aborted || copies.holds || !(await accounts.serves(accountId))) return notServed;
  return await runPushJob(deps, accountId, signal);
}

async function wakeDueWork(context: WorkerContext, keepsSchedules: boolean): Promise<void> {
  const {deps, sweeps, accounts} = context;
  const accountIds = await accounts.read();
  if (await context.copies.check()) return;
  if (keepsSchedules) await wakeForChanges(context, accountIds);
  const due = keepsSchedules ? await listDueSchedules(deps.pool, accountIds) : [];
  for (const {scheduleId} of due) await requestDueSchedule(deps.pool, scheduleId);
  await wakeSweeps(sweeps, await listDueSweeps(deps.pool, accountIds, sweepsPerAccount));
}

async function wakeForChanges(
  {deps, pushes, copies}: WorkerContext,
  accountIds: readonly string[],
): Promise<void> {
  if (copies.holds) return;
  await wakePushes(pushes, await listAccountsWithDueChanges(deps.pool, accountIds));
}

// With the poller the queue only makes work start sooner. Every two seconds the poller reads the
// due work from the rows alone. It wakes a worker for that work, even if the queue has lost it.

interface PollTimes {
  /** From the end of a round to the next one. */
  readonly roundMs: number;
  readonly outOfReachMs: number;
}

const defaultTimes: PollTimes = {roundMs: 2_000, outOfReachMs: 60_000};

/**
 * Runs rounds until it is stopped. A failed round is tried again. An outage is logged at its start
 * and end, with each reason once.
 * @param round - searches once for due work, and wakes workers for it
 * @returns rejects when no round has succeeded for a minute: a person must check the queue or the
 *   warehouse, and a supervisor may restart the process; never resolves. If the warehouse has no
 *   room, or somebody else's session has locked it, the loop continues
 */
export function poll(
  round: () => Promise<void>,
  {
    outage,
    signal,
    times = defaultTimes,
  }: {readonly outage: Outage; readonly signal: AbortSignal; readonly times?: PollTimes},
): Promise<never> {
  const loop = async (): Promise<never> => {
    for (let succeededAt = performance.now(); ; ) {
      try {
        await round();
        succeededAt = performance.now();
        outage.succeeded();
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        if (!signal.aborted) outage.roundFailed(reason);
        if (outlastsRestart(cause)) succeededAt = performance.now();
        else if (performance.now() - succeededAt > times.outOfReachMs) {
          throw new FatalError(
            'the queue or the warehouse has been out of reach for ' +
              `${times.outOfReachMs / 1000} s: ${reason}; ` +
              'nothing is lost, start again when it is back',
            {cause, kind: 'outage'},
          );
        }
      }
      await wait(times.roundMs, undefined, {signal});
    }
  };
  const broken = loop().catch((error: unknown): Promise<never> => {
    // After a stop the failure has no listener left.
    if (signal.aborted) return new Promise<never>(() => {});
    throw error;
  });
  broken.catch(() => {});
  return broken;
}

/** A new process would find no more room, and the same lock; this one reports both meanwhile. */
function outlastsRestart(cause: unknown): boolean {
  return (
    cause instanceof NoRoomError || (cause instanceof RetryableError && cause.kind === 'locked')
  );
}

// A notice of Postgres wakes only the poller. Any login may send any number of notices with any
// text: Postgres has no grant that forbids it. So a payload is only a hint, and counts only if it
// is an account served here. Hints are collected in a set while one search is under way: neither
// memory nor the queue grows with the number of notices.

/** The search that a notice may start, for the accounts served here. */
interface NoticeSearch {
  readonly isServed: (accountId: string) => boolean;
  /** Searches for due changes of these accounts; never two searches at once. */
  readonly search: (accountIds: readonly string[]) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * @returns a function that takes the payload of each notice; if a search fails, the poller's next
 *   round repeats it
 */
export function handleNotices({
  isServed,
  search: searchAccounts,
  signal,
}: NoticeSearch): (payload: string) => void {
  const hintedAccountIds = new Set<string>();
  let isSearching = false;
  const searchHinted = async () => {
    while (hintedAccountIds.size > 0 && !signal.aborted) {
      const accountIds = [...hintedAccountIds];
      hintedAccountIds.clear();
      await searchAccounts(accountIds).catch(() => {});
    }
    isSearching = false;
  };
  return (payload) => {
    if (!isServed(payload)) return;
    hintedAccountIds.add(payload);
    if (isSearching) return;
    isSearching = true;
    void searchHinted();
  };
}
