import {giveBackChange} from '../../warehouse/carry-changes.ts';
import {type ClaimedChange, claimChanges, renewClaims} from '../../warehouse/claim-changes.ts';
import {type Clocks, Lease, machineClocks} from './lease.ts';
import type {PushDeps} from './push-deps.ts';

/** A change is ours for this long by the database's clock, unless renewed. */
const defaultLeaseMs = 30_000;

/** A change in hand, and how long it is certainly ours. */
export interface Held {
  readonly change: ClaimedChange;
  readonly lease: Lease;
  /** Before it was taken up, by the clock of this process that never goes back. */
  readonly claimedMs: number;
}

/** The changes that this process has in hand, taken up some at a time, and kept until they end. */
export class Claims {
  readonly #deps: PushDeps;
  readonly #accountId: string;
  readonly #inHand: number;
  readonly #signal: AbortSignal;
  readonly #leaseMs: number;
  readonly #clocks: Clocks;
  readonly #renewal: NodeJS.Timeout;
  readonly #ready: Held[] = [];
  readonly #carried = new Set<Held>();
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
    this.#clocks = deps.clocks ?? machineClocks;
    this.#renewal = setInterval(() => void this.#renew(), this.#leaseMs / 3);
  }

  /** The next change to carry; null when nothing is due, and nothing under way could make something due. */
  async next(): Promise<Held | null> {
    while (!this.#signal.aborted) {
      const held = this.#ready.shift();
      if (held !== undefined) {
        this.#carried.add(held);
        return held;
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

  end(held: Held): void {
    this.#carried.delete(held);
    this.#oneEnded.resolve();
    this.#oneEnded = Promise.withResolvers();
  }

  /** Gives back what was taken up and not begun. */
  async close(): Promise<void> {
    clearInterval(this.#renewal);
    const left = this.#ready.splice(0);
    const delay = {delayMs: 0, isFailure: false, reason: null};
    await Promise.allSettled(left.map(({change}) => giveBackChange(this.#deps.pool, change, delay)));
  }

  async #claim(): Promise<void> {
    const leaseMs = this.#leaseMs;
    const since = this.#clocks();
    const claimedMs = performance.now();
    try {
      const claimed = await claimChanges(this.#deps.pool, this.#accountId, {limit: this.#inHand, leaseMs});
      for (const change of claimed)
        this.#ready.push({change, claimedMs, lease: new Lease(this.#clocks, {since, leaseMs})});
    } finally {
      this.#refill = null;
    }
  }

  // A failed renewal is no loss yet: the lease runs on as it was, and the next renewal may succeed.
  async #renew(): Promise<void> {
    const all = [...this.#ready, ...this.#carried];
    if (all.length === 0) return;
    const since = this.#clocks();
    const claims = all.map(({change}) => change);
    const kept = await renewClaims(this.#deps.pool, claims, this.#leaseMs).catch(() => null);
    for (const [at, {change, lease}] of all.entries())
      if (kept?.[at] === true) lease.renew(since);
      else if (kept !== null) lease.lose(change.changeId);
  }
}
