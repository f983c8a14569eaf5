import {RetryableError} from '../errors.ts';
import {explainDatabaseError} from '../warehouse/database-errors.ts';
import type {Sweep, SweepCounts} from '../warehouse/sweep.ts';
import {claimSweep, endSweep, postponeSweep} from '../warehouse/sweeps.ts';
import {holdLease, leaseMs} from './lease.ts';
import {sweepList} from './list-sweep.ts';
import {sweepRecord} from './record-sweep.ts';
import type {SweepDeps} from './sweep-deps.ts';

export type SweepResult =
  | {readonly outcome: 'not-due'}
  | {readonly outcome: 'ended'; readonly state: 'uncertified'; readonly counts: SweepCounts}
  | {readonly outcome: 'postponed'; readonly error: RetryableError; readonly delayMs: number}
  | {readonly outcome: 'failed'; readonly error: Error};

const maxAttempts = 5;
const firstDelayMs = 5_000;
const maxDelayMs = 300_000;

/**
 * Carries one sweep to its end, if it is due and nobody else has it. Running it twice, or in two places, leaves the
 * same rows. A passing failure puts it back with a delay, its checkpoint kept; after five it ends `failed`.
 * @param sweepId - a row of sync.sweeps
 * @param signal - aborts at shutdown: the sweep is given back at once
 */
export async function runSweep(deps: SweepDeps, sweepId: string, signal: AbortSignal): Promise<SweepResult> {
  const sweep = await claimSweep(deps.pool, sweepId, leaseMs);
  if (sweep === null) return {outcome: 'not-due'};
  try {
    const work = (held: AbortSignal) => carry(deps, sweep, held);
    return await holdLease(deps.pool, sweep, {signal, work});
  } catch (error) {
    return await settleFailure(deps, {sweep, error, isShutdown: signal.aborted}).catch(
      (unsettled: unknown): SweepResult => {
        // Not even that could be written, or the sweep is somebody else's by now: the lease runs out by itself.
        const reason = explainDatabaseError(unsettled, deps.databaseUrl).message;
        return {outcome: 'postponed', error: new RetryableError(reason, {cause: error}), delayMs: leaseMs};
      },
    );
  }
}

async function carry(deps: SweepDeps, sweep: Sweep, signal: AbortSignal): Promise<SweepResult> {
  const counts =
    sweep.mode === 'record' ? await sweepRecord(deps, sweep, signal) : await sweepList(deps, sweep, signal);
  const reasons = ['the list was read once; no second pass has proven that nothing moved between its pages'];
  await endSweep(deps.pool, sweep, {state: 'uncertified', reasons});
  return {outcome: 'ended', state: 'uncertified', counts};
}

/** Records in the sweep's row what stopped it; the row decides when it goes on. */
async function settleFailure(
  deps: SweepDeps,
  failed: {readonly sweep: Sweep; readonly error: unknown; readonly isShutdown: boolean},
): Promise<SweepResult> {
  const {sweep, isShutdown} = failed;
  const error = explainDatabaseError(failed.error, deps.databaseUrl);
  if (isShutdown) {
    await postponeSweep(deps.pool, sweep, {delayMs: 0, isFailure: false, error: null});
    return {outcome: 'postponed', error: new RetryableError('the process stops'), delayMs: 0};
  }
  if (error instanceof RetryableError && sweep.failures + 1 < maxAttempts) {
    const delayMs = Math.min(error.retryAfterMs ?? firstDelayMs * 2 ** sweep.failures, maxDelayMs);
    await postponeSweep(deps.pool, sweep, {delayMs, isFailure: true, error: error.message});
    return {outcome: 'postponed', error, delayMs};
  }
  await endSweep(deps.pool, sweep, {state: 'failed', error: error.message});
  return {outcome: 'failed', error};
}
