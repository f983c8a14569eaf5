import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {FieldRule} from '../changes/write-rules.ts';
import type {Stream, Writes} from '../streams/stream.ts';
import type {SettlePolicy} from './push-deps.ts';

/**
 * The facts of a change before any request. Every decision rests on them and on the service's
 * answers.
 */
export interface ChangeFacts {
  readonly change: ClaimedChange;
  readonly writes: Writes;
  /** The stream whose record shows the change's fate: its own, or its parent's. */
  readonly stream: Stream;
  /** The rules of the change's table, by field. */
  readonly rules: ReadonlyMap<string, FieldRule>;
  readonly settle: SettlePolicy;
  /** Just before the change was claimed, by the monotonic clock of this process. */
  readonly claimedMs: number;
  /** Just after the change was claimed, by the same clock. */
  readonly heldMs: number;
  /** How long the change waits if it fails now; drawn at random, once. */
  readonly backOffMs: number;
}
