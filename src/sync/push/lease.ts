import {RetryableError} from '../../errors.ts';

/**
 * Clocks to measure a lease by, in milliseconds; the one that went furthest counts. The monotonic clock stands still while
 * the machine is suspended; the wall clock may be set back.
 */
export type Clocks = () => readonly number[];

export const machineClocks: Clocks = () => [performance.now(), Date.now()];

/**
 * How long a change is certainly ours, as this process can tell without asking: never longer than the database says, for
 * the time is counted from before the claim was asked for.
 */
export class Lease {
  readonly #clocks: Clocks;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #since: readonly number[];

  /** @param since - what the clocks showed before the change was claimed */
  constructor(
    clocks: Clocks,
    {since, leaseMs}: {readonly since: readonly number[]; readonly leaseMs: number},
  ) {
    this.#clocks = clocks;
    this.#since = since;
    this.#leaseMs = leaseMs;
  }

  /** Aborted when the database has said that the change is no longer ours. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  isHeld(): boolean {
    if (this.#lost.signal.aborted) return false;
    return this.#clocks().every((now, at) => now - (this.#since[at] ?? 0) < this.#leaseMs);
  }

  /** @param since - what the clocks showed before the renewal was asked for */
  renew(since: readonly number[]): void {
    this.#since = this.#since.map((held, at) => Math.max(held, since[at] ?? held));
  }

  lose(changeId: string): void {
    this.#lost.abort(
      new RetryableError(`change ${changeId}: its lease was lost: another worker has it, or a person`),
    );
  }
}
