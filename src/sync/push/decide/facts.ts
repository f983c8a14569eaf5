import type {Stream} from '../../../streams/stream.ts';
import type {Writes} from '../../../streams/writes.ts';
import type {ClaimedChange} from '../../../warehouse/changes/claim-changes.ts';
import type {FieldRule} from '../../../warehouse/changes/write-rules.ts';
import type {SettlePolicy} from '../push-deps.ts';

/** What is known of a change in hand before anything is asked. Every decision rests on this and on what the service said. */
export interface ChangeFacts {
  readonly change: ClaimedChange;
  readonly writes: Writes;
  /** Whose record tells what became of it: its own stream's, or its parent's. */
  readonly stream: Stream;
  /** Of the change's table, by field. */
  readonly rules: ReadonlyMap<string, FieldRule>;
  readonly settle: SettlePolicy;
  /** Before it was taken up, by the clock of this process that never goes back. */
  readonly claimedMs: number;
  /** After it was taken up, by the same clock. */
  readonly heldMs: number;
  /** How long it waits if it fails now; drawn by lot, once. */
  readonly backOffMs: number;
}
