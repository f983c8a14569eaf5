import type {AccountApi} from '../accounts/account-api.ts';
import type {Stream} from '../streams/stream.ts';
import {wholeList} from '../streams/windows.ts';
import type {Evidence} from './evidence.ts';
import type {FieldSightings} from './field-sightings.ts';
import type {ClaimedSweep} from './sweep.ts';
import type {SweepDeps} from './sweep-deps.ts';
import type {SweepStep} from './sweep-step.ts';
import type {Tally} from './tally.ts';

/** One sweep under way in this process. */
export interface SweepRun {
  readonly deps: SweepDeps;
  readonly sweep: ClaimedSweep;
  readonly stream: Stream;
  readonly account: AccountApi;
  readonly tally: Tally;
  /** Fields that the sweep has met. */
  readonly fields: FieldSightings;
  /** Aborts at shutdown, and when another worker has taken the sweep over. */
  readonly signal: AbortSignal;
}

/** The end of a sweep; its counts are in its tally. */
export interface Ended {
  readonly state: 'certified' | 'refreshed' | 'uncertified' | 'stopped';
  readonly reasons: readonly string[];
  readonly evidence: Evidence;
}

/** The end of a sweep, written. */
export interface Finished extends Ended {
  /** From its first claim, by the database's clock. */
  readonly durationMs: number;
}

/** The account, stream and id of a sweep: nearly every statement of the warehouse takes them. */
export function scopeOf({sweep, stream}: Pick<SweepRun, 'sweep' | 'stream'>) {
  return {accountId: sweep.accountId, stream: stream.name, sweepId: sweep.sweepId};
}

/** Tells that the sweep has reached a step. */
export async function pass(run: SweepRun, step: SweepStep): Promise<void> {
  await run.deps.onSweepStep?.(step, run.sweep);
}

/**
 * The options of a sweep's requests: signal, rank within the account's budget, count of each
 * attempt.
 */
export function callOf(run: SweepRun) {
  const {mode, windowName} = run.sweep;
  // A whole list is long: the short windows go before it.
  const isLong = mode === 'full' || windowName === wholeList;
  return {
    signal: run.signal,
    urgency: isLong ? ('full' as const) : ('fresh' as const),
    onAttempt: () => run.tally.add({requests: 1}),
  };
}
