import {z} from 'zod';
import {runSweep} from '../src/sync/sweep.ts';
import type {SweepDeps} from '../src/sync/sweep-deps.ts';
import {reportOutcome} from './outcome.ts';

export const queueName = 'sweep';

export const payloadSchema = z.object({sweepId: z.string().regex(/^\d+$/)});

/** Retries are counted in the row, so the queue makes none and keeps nothing. */
export const options = {attempts: 1, removeOnComplete: true, removeOnFail: true} as const;

/** Carries one sweep as far as it goes. Running it twice, or in two places, leaves the same rows. */
export async function run(deps: SweepDeps, payload: unknown, signal: AbortSignal): Promise<void> {
  const {sweepId} = payloadSchema.parse(payload);
  reportOutcome(deps.log, sweepId, await runSweep(deps, sweepId, signal));
}
