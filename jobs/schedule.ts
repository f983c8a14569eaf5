import type pg from 'pg';
import {z} from 'zod';
import {takeDueSchedule} from '../src/warehouse/schedules.ts';
import type {Sweep} from '../src/warehouse/sweep.ts';

export const queueName = 'schedule';

export const payloadSchema = z.object({scheduleId: z.string().regex(/^\d+$/)});

export const options = {attempts: 1, removeOnComplete: true, removeOnFail: true} as const;

/**
 * Turns a schedule that is due into a sweep. The row decides whether it is due: a bell that rings early, twice or on two
 * workers makes one sweep.
 * @returns the sweep to ring, null when the schedule was not due
 */
export async function run(deps: {readonly pool: pg.Pool}, payload: unknown): Promise<Sweep | null> {
  const {scheduleId} = payloadSchema.parse(payload);
  return await takeDueSchedule(deps.pool, scheduleId);
}
