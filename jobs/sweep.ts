import {UnrecoverableError} from 'bullmq';
import {z} from 'zod';
import {runSweep, type SweepResult} from '../src/sweeps/run-sweep.ts';
import type {SweepDeps} from '../src/sweeps/sweep-run.ts';
import type {DueSweep} from '../src/sweeps/sweeps.ts';
import {refreshAfter, refreshNow} from './refresh-star.ts';
import {reportOutcome} from './report-outcome.ts';
import {queueNames, type WakeQueue, wakeOptions} from './wake-queue.ts';

const id = z.string().regex(/^\d+$/);
export const payloadSchema = z.object({sweepId: id, accountId: id});

const wakeAgainMs = 10_000;

/**
 * Carries one sweep as far as it goes, and brings the star in line with it. Running it twice, or in
 * two places, leaves the same rows.
 * @param options.isWatched - a person sees the end of the sweep anyway
 */
export async function run(
  deps: SweepDeps,
  sweepId: string,
  {signal, isWatched = false}: {readonly signal: AbortSignal; readonly isWatched?: boolean},
): Promise<SweepResult> {
  let filled: Promise<void> | undefined;
  const onSweepStep: SweepDeps['onSweepStep'] = async (step, sweep) => {
    await deps.onSweepStep?.(step, sweep);
    // All rows of a first load are there, and Postgres has little to do while the list is read
    // again.
    if (step === 'list-read' && sweep.isFirstLoad) filled = refreshNow(deps);
  };
  const result = await runSweep({...deps, onSweepStep}, sweepId, signal);
  reportOutcome(deps.log, {sweepId, isWatched}, result);
  await filled;
  await refreshAfter(deps, result);
  return result;
}

/**
 * Wakes a worker for each sweep that is due. Another wake-up counts only after a while: the queue
 * job of a worker that died holding it stays locked for a minute, and must not keep the next one
 * out. A wake-up too many finds nothing due. Windows and single records come before full sweeps,
 * however many of those wait.
 */
export async function wake(queue: WakeQueue, due: readonly DueSweep[]): Promise<void> {
  if (due.length === 0) return;
  const again = Math.floor(Date.now() / wakeAgainMs);
  await queue.addBulk(
    due.map((sweep) => ({
      name: queueNames.sweeps,
      data: dataOf(sweep),
      opts: {
        ...wakeOptions,
        deduplication: {id: `sweep-${sweep.sweepId}-${sweep.fence}-${again}`},
        ...(sweep.mode === 'full' ? {priority: 1} : {}),
      },
    })),
  );
}

/** A worker reads the two ids; the rest is for people who look at the queue. */
function dataOf({
  sweepId,
  accountId,
  accountName,
  stream,
  mode,
  windowName,
  recordNumber,
  failures,
}: DueSweep) {
  return {
    ...{sweepId, accountId, account: accountName, stream, mode, attempt: failures + 1},
    ...(windowName === null ? {} : {window: windowName}),
    ...(recordNumber === null ? {} : {record: recordNumber}),
  };
}

/**
 * The result of the queue's job, as bull-board shows it.
 * @throws {UnrecoverableError} the sweep failed: the queue counts its job as failed, with the same
 *   reason
 */
export function resultOf(result: SweepResult): object {
  if (result.outcome === 'failed') throw new UnrecoverableError(result.error.message);
  if (result.outcome === 'postponed')
    return {outcome: 'postponed', reason: result.error.message, delayMs: result.delayMs};
  if (result.outcome === 'not-due') return {outcome: 'not-due'};
  const {outcome, state, reasons, counts, durationMs} = result;
  return {outcome, state, reasons, counts, durationMs};
}
