import type {ClaimedChange} from '../changes/claim-changes.ts';

/**
 * Kinds that were stopped while this process was at work: a request that waits for its turn by then
 * is not sent any more.
 */
export class StoppedKinds {
  /** By kind, the time of the latest claim known at the stop: changes claimed later know better. */
  readonly #stopped = new Map<string, number>();
  #latestClaimMs = 0;

  add(kinds: readonly string[]): void {
    for (const kind of kinds) this.#stopped.set(kind, this.#latestClaimMs);
  }

  learn({claimedAt, stoppedKinds}: ClaimedChange): void {
    const claimedMs = Date.parse(claimedAt);
    this.#latestClaimMs = Math.max(this.#latestClaimMs, claimedMs);
    for (const [kind, sinceMs] of this.#stopped)
      if (claimedMs > sinceMs && !stoppedKinds.includes(kind)) this.#stopped.delete(kind);
  }

  areAmong(kinds: readonly string[]): boolean {
    return this.#stopped.size > 0 && kinds.some((kind) => this.#stopped.has(kind));
  }
}
