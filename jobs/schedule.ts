import type pg from 'pg';
import {z} from 'zod';
import type {Logger} from '../src/base/log.ts';
import {listActiveSchedules, type Schedule, takeDueSchedule} from '../src/warehouse/sweeps/schedules.ts';
import type {Sweep} from '../src/warehouse/sweeps/sweep.ts';
import {queueNames, type WakeQueue} from './queue/wake-queue.ts';

export const payloadSchema = z.object({scheduleId: z.string().regex(/^\d+$/)});

const options = {attempts: 1, removeOnComplete: true, removeOnFail: true} as const;
const dayMs = 86_400_000;

/**
 * Turns a schedule that is due into a sweep. The row decides whether it is due: a queue job that comes early, twice or on two
 * workers makes one sweep.
 * @returns the sweep to wake a worker for, null when the schedule was not due
 */
export async function run(deps: {readonly pool: pg.Pool}, payload: unknown): Promise<Sweep | null> {
  const {scheduleId} = payloadSchema.parse(payload);
  return await takeDueSchedule(deps.pool, scheduleId);
}

/**
 * Makes BullMQ's schedulers say what the rows say, of all active accounts, so that every worker says the same. Where
 * one of them cannot be made, the poller still finds it in time.
 */
export async function keepSchedulersInStep(
  queue: WakeQueue,
  deps: {readonly pool: pg.Pool; readonly log: Logger},
): Promise<void> {
  const wanted = new Map((await listActiveSchedules(deps.pool)).map((row) => [keyOf(row), row]));
  const held = new Map((await queue.getJobSchedulers(0, -1)).map((scheduler) => [scheduler.key, scheduler]));
  for (const key of held.keys()) {
    if (!wanted.has(key)) await queue.removeJobScheduler(key);
  }
  for (const [key, row] of wanted) {
    const repetition = repetitionOf(row);
    const {every, pattern} = held.get(key) ?? {};
    // As a hash of Redis it comes back as text.
    if ('every' in repetition ? Number(every) === repetition.every : pattern === repetition.pattern) continue;
    await makeScheduler(queue, {key, row}, deps.log);
  }
}

async function makeScheduler(
  queue: WakeQueue,
  {key, row}: {readonly key: string; readonly row: Schedule},
  log: Logger,
): Promise<void> {
  try {
    const template = {name: queueNames.schedules, data: {scheduleId: row.scheduleId}, opts: options};
    await queue.upsertJobScheduler(key, repetitionOf(row), template);
  } catch (cause) {
    // After a death in the middle of a scheduled queue job, Postgres refuses the next one: "job ID already exists".
    const reason = cause instanceof Error ? cause.message : String(cause);
    log.info(
      {schedule: row.name, reason},
      'the queue does not wake workers for this schedule; the poller does',
    );
  }
}

function keyOf({scheduleId}: Schedule): string {
  return `schedule-${scheduleId}`;
}

/** A daily schedule keeps its time of day, in UTC, so that no change of clocks skips or repeats it. */
function repetitionOf(row: Schedule): {every: number} | {pattern: string; tz: string} {
  if (row.everyMs !== dayMs) return {every: row.everyMs};
  const due = new Date(row.nextDueAt);
  return {pattern: `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`, tz: 'UTC'};
}
