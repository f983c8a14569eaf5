// The changes that a process has in hand: claimed with a lease, kept until they end, and given back
// where an error stopped them.

import {stopAccount} from '../accounts/accounts.ts';
import {type ClaimedChange, claimChanges, renewClaims} from '../changes/claim-changes.ts';
import {giveBackChange} from '../changes/move-changes.ts';
import {pauseAfter} from '../core/back-off.ts';
import {AccessError, RetryableError} from '../core/errors.ts';
import {type Clocks, type Lease, Leases, machineClocks} from '../core/lease.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import type {PushDeps, PushEnd} from './run.ts';

/** A change is ours for this long by the database's clock, unless renewed. */
const defaultLeaseMs = 30_000;

/** A change in hand, and how long it is certainly ours. */
export interface HeldChange {
  readonly change: ClaimedChange;
  readonly lease: Lease;
  /** Just before the change was claimed, by the monotonic clock of this process. */
  readonly claimedMs: number;
  /** Just after the change was claimed, by the same clock. */
  readonly heldMs: number;
}

/** The changes that this process has in hand, claimed some at a time, and kept until they end. */
export class Claims {
  readonly #deps: PushDeps;
  readonly #accountId: string;
  readonly #inHand: number;
  readonly #signal: AbortSignal;
  readonly #leaseMs: number;
  readonly #clocks: Clocks;
  readonly #leases: Leases<ClaimedChange>;
  readonly #ready: HeldChange[] = [];
  #carried = 0;
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
    this.#leases = new Leases({
      leaseMs: this.#leaseMs,
      clocks: this.#clocks,
      renew: async (changes) => await renewClaims(deps.pool, changes, this.#leaseMs),
      toLoss: ({changeId}) =>
        new RetryableError(
          `change ${changeId}: its lease was lost: another worker has it, or a person`,
        ),
    });
  }

  /**
   * The next change to carry; null when no change is due, and none under way could make another
   * due.
   */
  async next(): Promise<HeldChange | null> {
    while (!this.#signal.aborted) {
      const held = this.#ready.shift();
      if (held !== undefined) {
        this.#carried++;
        return held;
      }
      const ended = this.#oneEnded.promise;
      this.#refill ??= this.#claim();
      await this.#refill;
      if (this.#ready.length > 0) continue;
      if (this.#carried === 0) return null;
      await ended;
    }
    return null;
  }

  /** Call it once for each change that `next` gave. */
  end({change}: HeldChange): void {
    this.#carried--;
    this.#leases.release(change);
    this.#oneEnded.resolve();
    this.#oneEnded = Promise.withResolvers();
  }

  /** Gives back the changes that were claimed and not begun. */
  async close(): Promise<void> {
    this.#leases.close();
    const left = this.#ready.splice(0);
    const delay = {delayMs: 0, isFailure: false, reason: null};
    await Promise.allSettled(
      left.map(({change}) => giveBackChange(this.#deps.pool, change, delay)),
    );
  }

  async #claim(): Promise<void> {
    const leaseMs = this.#leaseMs;
    const since = this.#clocks();
    const claimedMs = performance.now();
    try {
      const claimed = await claimChanges(this.#deps.pool, this.#accountId, {
        limit: this.#inHand,
        leaseMs,
      });
      const heldMs = performance.now();
      for (const change of claimed)
        this.#ready.push({change, claimedMs, heldMs, lease: this.#leases.hold(change, since)});
    } finally {
      this.#refill = null;
    }
  }
}

/** How long a change waits after failures in a row. */
export const changeBackOff = {firstMs: 2_000, longestMs: 300_000};

/**
 * Notes the error in the row. A change that was being sent is in doubt: only an answer makes it
 * certain.
 */
export async function giveBackFailed(
  deps: PushDeps,
  change: ClaimedChange,
  failed: {readonly error: unknown; readonly isShutdown: boolean},
): Promise<PushEnd> {
  const {isShutdown} = failed;
  const error = explainDatabaseError(failed.error, deps.databaseUrl);
  const isFailure = !isShutdown && !(error instanceof AccessError);
  const delayMs = isFailure ? pauseAfter(error, change.failures, changeBackOff) : 0;
  try {
    if (error instanceof AccessError) await stopAccount(deps.pool, change.accountId, error.message);
    const state = await giveBackChange(deps.pool, change, {
      delayMs,
      isFailure,
      reason: error.message,
    });
    return state === 'in_doubt' ? 'in_doubt' : 'postponed';
  } catch (unsettled) {
    // The error could not be written, or another worker has the change by now: our lease expires.
    deps.log.debug(
      {event: 'change.left', ...factsOf(change), reason: String(unsettled)},
      'a change is left to its lease',
    );
    return 'postponed';
  } finally {
    deps.log.debug(
      {event: 'change.given_back', ...factsOf(change), reason: error.message},
      'a change is given back',
    );
  }
}

function factsOf({accountName, changeId}: ClaimedChange) {
  return {account: accountName, change: changeId};
}
