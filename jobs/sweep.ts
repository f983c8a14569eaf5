import {z} from 'zod';
import {runSweep, type SweepResult} from '../src/sync/sweep.ts';
import type {SweepDeps} from '../src/sync/sweep-deps.ts';
import type {Sweep} from '../src/warehouse/sweep.ts';
import type {BellQueue} from './backend.ts';
import {reportOutcome} from './outcome.ts';

export const queueName = 'sweep';

const id = z.string().regex(/^\d+$/);
export const payloadSchema = z.object({sweepId: id, accountId: id});

/** Retries are counted in the row, so the queue makes none and keeps nothing. */
const options = {attempts: 1, removeOnComplete: true, removeOnFail: true} as const;
const ringAgainMs = 10_000;

/** Carries one sweep as far as it goes. Running it twice, or in two places, leaves the same rows. */
export async function run(deps: SweepDeps, sweepId: string, signal: AbortSignal): Promise<SweepResult> {
  const result = await runSweep(deps, sweepId, signal);
  reportOutcome(deps.log, sweepId, result);
  return result;
}

/**
 * Rings for sweeps that are due. A ring is heard once, and another one only counts after a while: the queue job of a
 * worker that died holding it stays locked for a minute, and must not keep the next ring out. A ring too many finds
 * nothing due. What keeps data fresh is heard before full sweeps, however many of those wait.
 */
export async function ring(queue: BellQueue, due: readonly Sweep[]): Promise<void> {
  if (due.length === 0) return;
  const again = Math.floor(Date.now() / ringAgainMs);
  await queue.addBulk(
    due.map(({sweepId, accountId, fence, mode}) => ({
      name: queueName,
      data: {sweepId, accountId},
      opts: {
        ...options,
        jobId: `sweep-${sweepId}-${fence}-${again}`,
        ...(mode === 'full' ? {priority: 1} : {}),
      },
    })),
  );
}
