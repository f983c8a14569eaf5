import type {Stream} from '../../streams/stream.ts';
import type {Evidence, Sweep} from '../../warehouse/sweeps/sweep.ts';
import type {FieldSightings} from '../load/field-sightings.ts';
import type {AccountApi, SweepDeps} from './sweep-deps.ts';
import type {SweepStep} from './sweep-step.ts';
import type {Tally} from './tally.ts';

/** One sweep under way in this process. */
export interface SweepRun {
  readonly deps: SweepDeps;
  readonly sweep: Sweep;
  readonly stream: Stream;
  readonly account: AccountApi;
  readonly tally: Tally;
  /** Fields that it has met. */
  readonly fields: FieldSightings;
  /** Aborts at shutdown, and when somebody else has taken the sweep over. */
  readonly signal: AbortSignal;
}

/** How a sweep came to its end; what it did is in its tally. */
export interface Ended {
  readonly state: 'certified' | 'refreshed' | 'uncertified' | 'stopped';
  readonly reasons: readonly string[];
  readonly evidence: Evidence;
}

/** Whose records a sweep is about, and which sweep it is: what nearly every statement of the warehouse asks for. */
export function scopeOf({sweep, stream}: Pick<SweepRun, 'sweep' | 'stream'>) {
  return {accountId: sweep.accountId, stream: stream.name, sweepId: sweep.sweepId};
}

/** Says that the sweep has come by a step. */
export async function pass(run: SweepRun, step: SweepStep): Promise<void> {
  await run.deps.onSweepStep?.(step);
}

/** What every request of a sweep bears: its signal, its rank within the account's budget, and that it is counted. */
export function callOf(run: SweepRun) {
  return {
    signal: run.signal,
    urgency: run.sweep.mode === 'full' ? ('full' as const) : ('fresh' as const),
    onAttempt: () => run.tally.add({requests: 1}),
  };
}
