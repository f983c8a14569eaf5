import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {Clocks} from '../core/lease.ts';
import type {Secret} from '../core/secret.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import type {PushStep} from './push-step.ts';

/** How a change in doubt is settled. */
export interface SettlePolicy {
  /** From the doubt to the first look, then from each look to the next; the last delay repeats. */
  readonly lookDelaysMs: readonly number[];
  /**
   * A request without a trace for so long counts as never arrived: longer than the service ever
   * took to commit.
   */
  readonly arrivalLimitMs: number;
}

/** Looks at 2 s, 10 s, 1, 5, 10 and 15 minutes. @see docs/traps.md "Answers that were lost" */
export const defaultSettlePolicy: SettlePolicy = {
  lookDelaysMs: [2_000, 8_000, 50_000, 240_000, 300_000, 300_000],
  arrivalLimitMs: 900_000,
};

/** The dependencies of a push. */
export interface PushDeps extends Pick<SweepDeps, 'pool' | 'databaseUrl' | 'openAccount' | 'log'> {
  /** Opens the sealed password of a change; null where this process cannot, or it was dropped. */
  readonly openPassword?: (changeId: string) => Promise<Secret | null>;
  /** Called for each change that a push has carried as far as it goes now. */
  readonly onCarried?: (carried: Carried) => void;
  /** Called at each step of a change; a test may end the process there. */
  readonly onStep?: (step: PushStep, changeId: string) => Promise<void>;
  /** How long a change is ours by the database's clock, unless renewed. */
  readonly leaseMs?: number;
  /** The clocks that measure leases in this process; the machine's unless a test has its own. */
  readonly clocks?: Clocks;
  readonly settle?: Partial<SettlePolicy>;
}

/** The outcome of a change for now. */
export type PushEnd = 'done' | 'rejected' | 'conflict' | 'postponed' | 'in_doubt';

/** A change that a push had in hand. */
export interface Carried {
  /** As it was taken up. */
  readonly change: ClaimedChange;
  readonly end: PushEnd;
  /** In hand for so long, by the clock of this process. */
  readonly durationMs: number;
}

/** The outcomes of the claimed changes, counted. */
export interface PushCounts {
  readonly done: number;
  readonly rejected: number;
  /** Wait for a person. */
  readonly conflict: number;
  /** Are tried again later. */
  readonly postponed: number;
  readonly inDoubt: number;
}
