import {setTimeout as wait} from 'node:timers/promises';
import {AccessError, FatalError} from '../src/errors.ts';
import type {PushDeps} from '../src/sync/push/push-deps.ts';
import type {SweepDeps} from '../src/sync/sweep-deps.ts';
import {listAccountsWithDueChanges} from '../src/warehouse/claim-changes.ts';
import {explainDatabaseError} from '../src/warehouse/database-errors.ts';
import {listen} from '../src/warehouse/listen.ts';
import {dropExpiredLogins} from '../src/warehouse/login-keys.ts';
import {listDueSchedules, listOverdueSchedules} from '../src/warehouse/schedules.ts';
import {listDueSweeps} from '../src/warehouse/sweeps.ts';
import type {BellQueue, QueueBackend} from './backend.ts';
import {type Heart, Heartbeat} from './heartbeat.ts';
import {keepRinging} from './keeper.ts';
import {hearNotices} from './notices.ts';
import * as push from './push.ts';
import {type AccountIds, Roster} from './roster.ts';
import * as schedule from './schedule.ts';
import * as sweep from './sweep.ts';

/** Workers of this process, on every queue. */
export interface Workers {
  /** Rejects when the queue has been out of reach for too long to go on; never resolves. */
  readonly broken: Promise<never>;
  /** Looks at once for what is due, instead of at the keeper's next round. */
  ringDue(): Promise<void>;
  /** Takes no more work, gives back what is under way, and returns within a few seconds whatever the queue does. */
  stop(): Promise<void>;
}

/** What this process looks after. */
export interface Duty {
  readonly accountIds: AccountIds;
  /** Whether their schedules and the changes made here, too, or only the sweeps that are asked for. */
  readonly keepsSchedules: boolean;
  /** Says that it is alive; left out of what ends by itself. */
  readonly heart?: Heart;
}

/** What a part of a worker works with. */
interface Post {
  readonly deps: SweepDeps & PushDeps;
  readonly sweeps: BellQueue;
  readonly pushes: BellQueue;
  readonly schedules: BellQueue;
  readonly roster: Roster;
  readonly signal: AbortSignal;
}

/** A sweep waits for the network most of its time. */
const sweepsAtOnce = 8;
/** Accounts whose changes are carried at once. */
const pushesAtOnce = 8;
/** Of all workers together: an account that is slow, or large, leaves room for the others. */
const sweepsPerAccount = 2;
const assertMs = 30_000;
const readyMs = 10_000;
const stopMs = 5_000;

/**
 * Starts working on what is rung, and keeps ringing what is due: the rows know, the queue may forget.
 * @throws {FatalError} the queue does not answer: a worker made then would hear nothing for ever
 */
export async function startWorkers(
  deps: SweepDeps & PushDeps,
  backend: QueueBackend,
  duty: Duty,
): Promise<Workers> {
  const stopping = new AbortController();
  const {signal} = stopping;
  const sweeps = backend.makeQueue(sweep.queueName);
  const schedules = backend.makeQueue(schedule.queueName);
  const pushes = backend.makeQueue(push.queueName);
  const post: Post = {deps, sweeps, pushes, schedules, roster: new Roster(duty.accountIds, deps), signal};
  const workers = [
    backend.makeWorker(sweep.queueName, (job) => hearSweep(post, job.data), {concurrency: sweepsAtOnce}),
  ];
  if (duty.keepsSchedules)
    workers.push(
      backend.makeWorker(schedule.queueName, (job) => hearSchedule(post, job.data), {concurrency: 1}),
      backend.makeWorker(push.queueName, (job) => hearPush(post, job.data), {concurrency: pushesAtOnce}),
    );
  const bells = [...workers, sweeps, pushes, schedules];
  const heartbeat = duty.heart === undefined ? null : new Heartbeat(deps.pool, duty.heart);
  const stop = async () => {
    stopping.abort(new Error('shutdown'));
    const closing = Promise.all([heartbeat?.stop(), ...bells.map((bell) => bell.close())]);
    // A worker whose Redis is away never closes; its rows are given back already.
    await Promise.race([closing.catch(() => {}), wait(stopMs, undefined, {ref: false})]);
  };
  await awaitReady(bells).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  if (duty.keepsSchedules) {
    // A change is carried as soon as it is committed; what is not heard is found by the next round.
    const isServed = (accountId: string) => post.roster.knows(accountId);
    const hear = hearNotices({isServed, look: (accountIds) => ringDueChanges(post, accountIds), signal});
    void listen(deps.databaseUrl, 'fieldmirror_due', {hear, signal});
  }
  const explain = (error: unknown): never => {
    throw explainDatabaseError(error, deps.databaseUrl);
  };
  const look = () => lookForDue(post, duty.keepsSchedules).catch(explain);
  const inStep = duty.keepsSchedules ? keepInStep(post) : async () => {};
  const beat = async () => await heartbeat?.beat(post.roster.served);
  const round = () => look().then(inStep).then(beat).catch(explain);
  const {outage} = backend;
  return {
    broken: keepRinging(round, {outage, signal}),
    // A queue that takes nothing just now is no reason to end: the next round tries again.
    ringDue: () => look().catch((error: Error) => outage.failed(error.message)),
    stop,
  };
}

/**
 * BullMQ on Postgres remembers that the first connection failed, and then does nothing, without a word; on Redis it
 * waits.
 */
async function awaitReady(bells: readonly {waitUntilReady(): Promise<unknown>}[]): Promise<void> {
  const late = new AbortController();
  const tooLate = wait(readyMs, 'late' as const, {signal: late.signal});
  try {
    const ready = Promise.all(bells.map((bell) => bell.waitUntilReady()));
    if ((await Promise.race([ready, tooLate])) === 'late')
      throw new Error(`no answer in ${readyMs / 1000} s`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    throw new FatalError(
      `the queue: expected it to answer, got "${reason}"; nothing is lost, start again when it is back`,
      {cause},
    );
  } finally {
    late.abort();
    tooLate.catch(() => {});
  }
}

async function hearSweep(post: Post, payload: unknown): Promise<void> {
  const {deps, roster, signal} = post;
  const {sweepId, accountId} = sweep.payloadSchema.parse(payload);
  // Another process knows its token, and rings again.
  if (signal.aborted || !(await roster.serves(accountId))) return;
  const result = await sweep.run(deps, sweepId, signal);
  if (signal.aborted || result.outcome === 'not-due') return;
  try {
    if (result.outcome === 'failed' && result.error instanceof AccessError) await roster.look();
    else await sweep.ring(post.sweeps, await listDueSweeps(deps.pool, [accountId], sweepsPerAccount));
  } catch (error) {
    deps.log.debug({reason: String(error)}, 'the next sweep of the account is left to the keeper');
  }
}

async function hearSchedule(post: Post, payload: unknown): Promise<void> {
  const due = await schedule.run(post.deps, payload);
  if (due !== null) await sweep.ring(post.sweeps, [due]);
}

async function hearPush({deps, roster, signal}: Post, payload: unknown): Promise<void> {
  const {accountId} = push.payloadSchema.parse(payload);
  if (signal.aborted || !(await roster.serves(accountId))) return;
  await push.run(deps, accountId, signal);
}

async function lookForDue(post: Post, keepsSchedules: boolean): Promise<void> {
  const {deps, sweeps, roster} = post;
  const accountIds = await roster.look();
  if (keepsSchedules) await dropExpiredLogins(deps.pool);
  if (keepsSchedules) await ringDueChanges(post, accountIds);
  const due = keepsSchedules ? await listDueSchedules(deps.pool, accountIds) : [];
  for (const {scheduleId} of due) await schedule.run(deps, {scheduleId});
  await sweep.ring(sweeps, await listDueSweeps(deps.pool, accountIds, sweepsPerAccount));
}

async function ringDueChanges({deps, pushes}: Post, accountIds: readonly string[]): Promise<void> {
  await push.ring(pushes, await listAccountsWithDueChanges(deps.pool, accountIds));
}

/** Sees to it that the queue's own schedulers are there, and tells once of each schedule that does not run. */
function keepInStep({deps, schedules, roster}: Post): () => Promise<void> {
  const overdue = new Set<string>();
  let held = 0;
  let assertedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const haveVanished = (await schedules.getJobSchedulersCount()) < held;
    if (performance.now() - assertedAt < assertMs && !haveVanished) return;
    if (haveVanished)
      deps.log.warn('the queue has lost its schedulers; they are made again, and nothing is late');
    await schedule.keepSchedulersInStep(schedules, deps);
    // What could not be made is not missed at every round.
    held = await schedules.getJobSchedulersCount();
    assertedAt = performance.now();
    const late = await listOverdueSchedules(deps.pool, await roster.look());
    for (const {scheduleId, name, accountName, waitsSince} of late) {
      if (overdue.has(scheduleId)) continue;
      deps.log.warn(
        {schedule: name, account: accountName, waitsSince},
        'a schedule has not run for two intervals',
      );
    }
    overdue.clear();
    for (const {scheduleId} of late) overdue.add(scheduleId);
  };
}
