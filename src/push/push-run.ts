import type {Lease} from '../core/lease.ts';
import type {Beginnings} from './begin-batch.ts';
import type {ChangeContext} from './change-context.ts';
import type {Ends} from './end-batch.ts';
import type {ChangeFacts} from './facts.ts';
import type {ShownRow} from './remote.ts';
import type {SharedReadings} from './shared-readings.ts';
import type {StoppedKinds} from './stopped-kinds.ts';

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
