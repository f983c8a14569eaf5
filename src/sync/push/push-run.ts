import type {Stream} from '../../streams/stream.ts';
import type {Writes} from '../../streams/writes.ts';
import type {ClaimedChange} from '../../warehouse/claim-changes.ts';
import type {FieldRule} from '../../warehouse/write-rules.ts';
import type {AccountApi} from '../sweep-deps.ts';
import type {Beginnings} from './begin-together.ts';
import type {Ends} from './end-together.ts';
import type {Stops} from './kinds.ts';
import type {Lease} from './lease.ts';
import type {PushDeps, SettlePolicy} from './push-deps.ts';
import type {PushStep} from './push-step.ts';

/** One change under way in this process. */
export interface PushRun {
  readonly deps: PushDeps;
  readonly change: ClaimedChange;
  /** How long the change is certainly ours. */
  readonly lease: Lease;
  /** Before it was taken up, by the clock of this process that never goes back. */
  readonly claimedMs: number;
  readonly writes: Writes;
  /** Whose record tells what became of it: its own stream's, or its parent's. */
  readonly stream: Stream;
  readonly account: AccountApi;
  /** Of the change's table, by field. */
  readonly rules: ReadonlyMap<string, FieldRule>;
  readonly settle: SettlePolicy;
  /** Where requests are noted before they are sent, and changes settled, together with others. */
  readonly beginnings: Beginnings;
  readonly ends: Ends;
  /** Kinds of values that were stopped meanwhile. */
  readonly stops: Stops;
  /** Aborts at shutdown, and when the change is no longer ours. */
  readonly signal: AbortSignal;
}

/** What became of a change for now. */
export type PushEnd = 'done' | 'rejected' | 'conflict' | 'postponed' | 'in_doubt';

/** Says that the change has come by a step. */
export async function pass({deps, change}: PushRun, step: PushStep): Promise<void> {
  await deps.onStep?.(step, change.changeId);
}
