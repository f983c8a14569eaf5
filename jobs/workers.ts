import {setTimeout as wait} from 'node:timers/promises';
import {FatalError} from '../src/errors.ts';
import type {SweepDeps} from '../src/sync/sweep-deps.ts';
import {listSchedules, type Schedule} from '../src/warehouse/schedules.ts';
import {listDueSweeps} from '../src/warehouse/sweeps.ts';
import type {BellQueue, QueueBackend} from './backend.ts';
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

const sweepsAtOnce = 2;
const keeperRoundMs = 2_000;
const ringAgainMs = 10_000;
const outOfReachMs = 60_000;
const stopMs = 5_000;
const dayMs = 86_400_000;

/**
 * Starts working on what is rung, and keeps ringing what is due: the rows know, the queue may forget.
 * @param duty - the account that this process looks after, and whether its schedules too or only what is asked for
 */
export async function startWorkers(
  deps: SweepDeps,
  backend: QueueBackend,
  duty: {readonly accountId: string; readonly keepsSchedules: boolean},
): Promise<Workers> {
  const {accountId, keepsSchedules} = duty;
  const stopping = new AbortController();
  const sweeps = backend.makeQueue(sweep.queueName);
  const schedules = backend.makeQueue(schedule.queueName);
  const ring = (due: {readonly sweepId: string; readonly fence: number}) => ringSweep(sweeps, due);
  const runSchedule = async (scheduleId: string) => {
    const due = await schedule.run(deps, {scheduleId});
    if (due !== null) await ring(due);
  };
  const workers = [
    backend.makeWorker(sweep.queueName, (job) => sweep.run(deps, job.data, stopping.signal), {
      concurrency: sweepsAtOnce,
    }),
    ...(keepsSchedules
      ? [backend.makeWorker(schedule.queueName, (job) => runSchedule(job.data.scheduleId), {concurrency: 1})]
      : []),
  ];
  const ringDue = async () => {
    const dueSchedules = keepsSchedules ? await listSchedules(deps.pool, {accountId, isDue: true}) : [];
    for (const {scheduleId} of dueSchedules) await runSchedule(scheduleId);
    for (const due of await listDueSweeps(deps.pool, accountId)) await ring(due);
  };
  const keeper = keepRinging({ringDue, deps, signal: stopping.signal});
  if (keepsSchedules)
    await keepSchedulersInStep(schedules, await listSchedules(deps.pool, {accountId}), deps);
  return {
    broken: keeper.broken,
    ringDue,
    stop: async () => {
      stopping.abort(new Error('shutdown'));
      const closing = Promise.all([...workers, sweeps, schedules].map((bell) => bell.close()));
      // A worker whose Redis is away never closes; its rows are given back already.
      await Promise.race([closing.catch(() => {}), wait(stopMs, undefined, {ref: false})]);
    },
  };
}

/**
 * A ring is heard once, and another one only counts after a while: the queue job of a worker that died holding it stays
 * locked for a minute, and must not keep the next ring out. A ring too many finds nothing due.
 */
async function ringSweep(
  queue: BellQueue,
  due: {readonly sweepId: string; readonly fence: number},
): Promise<void> {
  const jobId = `sweep-${due.sweepId}-${due.fence}-${Math.floor(Date.now() / ringAgainMs)}`;
  await queue.add(sweep.queueName, {sweepId: due.sweepId}, {...sweep.options, jobId});
}

function keepRinging(round: {ringDue: () => Promise<void>; deps: SweepDeps; signal: AbortSignal}): {
  broken: Promise<never>;
} {
  const {ringDue, deps, signal} = round;
  const loop = async (): Promise<never> => {
    for (let goodAt = performance.now(); ; ) {
      try {
        await ringDue();
        goodAt = performance.now();
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        deps.log.warn({reason}, 'nothing could be rung; trying again');
        if (performance.now() - goodAt > outOfReachMs) {
          throw new FatalError(
            `the queue or the warehouse has been out of reach for ${outOfReachMs / 1000} s: ${reason}; nothing is lost, start again when it is back`,
            {cause},
          );
        }
      }
      await wait(keeperRoundMs, undefined, {signal});
    }
  };
  const broken = loop().catch((error: unknown): Promise<never> => {
    // After a stop there is nobody left to tell.
    if (signal.aborted) return new Promise<never>(() => {});
    throw error;
  });
  broken.catch(() => {});
  return {broken};
}

/** BullMQ's schedulers say what the rows say; where it fails to, the keeper still rings in time. */
async function keepSchedulersInStep(
  queue: BellQueue,
  rows: readonly Schedule[],
  deps: SweepDeps,
): Promise<void> {
  try {
    const wanted = new Map(rows.map((row) => [`schedule-${row.scheduleId}`, row]));
    for (const held of await queue.getJobSchedulers()) {
      if (!wanted.has(held.key)) await queue.removeJobScheduler(held.key);
    }
    for (const [id, row] of wanted) {
      const template = {name: schedule.queueName, data: {scheduleId: row.scheduleId}, opts: schedule.options};
      await queue.upsertJobScheduler(id, repetitionOf(row), template);
    }
  } catch (cause) {
    // After a death in the middle of a scheduled queue job, Postgres refuses the next one: "job ID already exists".
    deps.log.warn(
      {reason: cause instanceof Error ? cause.message : String(cause)},
      "the queue's schedulers are not in step",
    );
  }
}

/** A daily schedule keeps its time of day, in UTC, so that no change of clocks skips or repeats it. */
function repetitionOf(row: Schedule): {every: number} | {pattern: string; tz: string} {
  if (row.everyMs !== dayMs) return {every: row.everyMs};
  const due = new Date(row.nextDueAt);
  return {pattern: `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`, tz: 'UTC'};
}
