// What a push needs, and what one change under way has in hand: the dependencies, the account, the
// batches that it shares with others.

import type {AccountApi} from '../accounts/open-accounts.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {Begun, Sending} from '../changes/move-changes.ts';
import type {Clocks, Lease} from '../core/lease.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import type {Done} from './decision.ts';
import type {ChangeFacts, SettlePolicy, ShownRow} from './facts.ts';
import type {Batcher, SharedReadings, StoppedKinds} from './shared.ts';

/** The dependencies of a push. */
export interface PushDeps extends Pick<SweepDeps, 'pool' | 'databaseUrl' | 'openAccount' | 'log'> {
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

/** A change in hand, and the account where it is sent and read. */
export interface ChangeContext extends Pick<ChangeFacts, 'change' | 'writes' | 'stream' | 'rules'> {
  readonly deps: PushDeps;
  readonly account: AccountApi;
  /** Aborts at shutdown, and when the change is no longer ours. */
  readonly signal: AbortSignal;
}

/** One change under way in this process. */
export interface PushRun extends ChangeContext, ChangeFacts {
  /** How long the change is certainly ours. */
  readonly lease: Lease;
  /**
   * Batches with other changes: `beginnings` notes requests before they are sent, `ends` settles
   * changes.
   */
  readonly beginnings: Beginnings;
  readonly ends: Ends;
  /** Lists of the whole account, each read once for several changes in doubt. */
  readonly readings: SharedReadings<ShownRow[]>;
  /**
   * Aborts when the account is paused: what was not sent is given back, what is on its way goes on.
   */
  readonly paused: AbortSignal;
  /** Kinds of values that were stopped meanwhile. */
  readonly stops: StoppedKinds;
}

/**
 * The result of noting a request: it may be sent; a twin of it is on its way; the change is no
 * longer ours.
 */
export type Beginning = Begun | 'twin' | 'lost';

export type Beginnings = Batcher<
  {readonly run: ChangeContext; readonly sending: Sending},
  Beginning
>;

/** A change that is done, and the decision to write. */
export interface FinishedChange {
  readonly run: ChangeContext;
  readonly done: Done;
}

export type Ends = Batcher<FinishedChange, true>;

/**
 * The steps of a change between which its worker can be lost. `…-written` is inside the
 * transaction, `…-committed` after it; at `turn` the request has waited behind others, and its
 * first byte is next; between `turn` and `answered` it is on its way.
 */
export const pushSteps = [
  'claimed',
  'read',
  'sending-written',
  'sending-committed',
  'turn',
  'answered',
  'read-back',
  'end-written',
  'end-committed',
  'looked',
] as const;

export type PushStep = (typeof pushSteps)[number];

/** Tells that the change has reached a step. */
export async function atStep(
  {deps, change}: Pick<ChangeContext, 'deps' | 'change'>,
  step: PushStep,
): Promise<void> {
  await deps.onStep?.(step, change.changeId);
}
