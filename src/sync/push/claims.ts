import {giveBackChange} from '../../warehouse/carry-changes.ts';
import {type ClaimedChange, claimChanges, renewClaims} from '../../warehouse/claim-changes.ts';
import type {PushDeps} from './push-deps.ts';

/** A change is ours for this long by the database's clock, unless renewed. */
const defaultLeaseMs = 30_000;

/** The changes that this process has in hand, taken up some at a time, and kept until they end. */
export class Claims {
  readonly #deps: PushDeps;
  readonly #accountId: string;
  readonly #inHand: number;
  readonly #signal: AbortSignal;
  readonly #leaseMs: number;
  readonly #renewal: NodeJS.Timeout;
  readonly #ready: ClaimedChange[] = [];
  readonly #carried = new Set<ClaimedChange>();
  #refill: Promise<void> | null = null;
  #oneEnded = Promise.withResolvers<void>();

  constructor(
    deps: PushDeps,
    accountId: string,
    {inHand, signal}: {readonly inHand: number; readonly signal: AbortSignal},
  ) {
    this.#deps = deps;
    this.#accountId = accountId;
    this.#inHand = inHand;
    this.#signal = signal;
    this.#leaseMs = deps.leaseMs ?? defaultLeaseMs;
    this.#renewal = setInterval(() => void this.#renew(), this.#leaseMs / 3);
  }

  /** The next change to carry; null when nothing is due, and nothing under way could make something due. */
  async next(): Promise<ClaimedChange | null> {
    while (!this.#signal.aborted) {
      const change = this.#ready.shift();
      if (change !== undefined) {
        this.#carried.add(change);
        return change;
      }
      const ended = this.#oneEnded.promise;
      this.#refill ??= this.#claim();
      await this.#refill;
      if (this.#ready.length > 0) continue;
      if (this.#carried.size === 0) return null;
      await ended;
    }
    return null;
  }

  end(change: ClaimedChange): void {
    this.#carried.delete(change);
    this.#oneEnded.resolve();
    this.#oneEnded = Promise.withResolvers();
  }

  /** Gives back what was taken up and not begun. */
  async close(): Promise<void> {
    clearInterval(this.#renewal);
    const left = this.#ready.splice(0);
    const delay = {delayMs: 0, isFailure: false, reason: null};
    await Promise.allSettled(left.map((change) => giveBackChange(this.#deps.pool, change, delay)));
  }

  async #claim(): Promise<void> {
    const limit = {limit: this.#inHand, leaseMs: this.#leaseMs};
    try {
      this.#ready.push(...(await claimChanges(this.#deps.pool, this.#accountId, limit)));
    } finally {
      this.#refill = null;
    }
  }

  // A failed renewal is no loss yet: the fence decides with the next step, and the next renewal may succeed.
  async #renew(): Promise<void> {
    const held = [...this.#ready, ...this.#carried];
    if (held.length === 0) return;
    await renewClaims(this.#deps.pool, held, this.#leaseMs).catch(() => {});
  }
}
