// How long something is certainly ours. Postgres alone decides whose a sweep or a change is; this process may only know
// less than that, never more. So the time counts from before the claim or the renewal was asked for.

/**
 * Clocks to measure a lease by, in milliseconds; the one that went furthest counts. The monotonic clock stands still while
 * the machine is suspended; the wall clock may be set back.
 */
export type Clocks = () => readonly number[];

export const machineClocks: Clocks = () => [performance.now(), Date.now()];

/** Whether less than so long has gone by, by each of the clocks. @param since - what they showed then */
export function isWithin(clocks: Clocks, since: readonly number[], ms: number): boolean {
  return clocks().every((now, at) => now - (since[at] ?? 0) < ms);
}

/** The lease of one sweep or change. */
export class Lease {
  readonly #clocks: Clocks;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #since: readonly number[];

  /** @param since - what the clocks showed before the claim was asked for */
  constructor(
    clocks: Clocks,
    {since, leaseMs}: {readonly since: readonly number[]; readonly leaseMs: number},
  ) {
    this.#clocks = clocks;
    this.#since = since;
    this.#leaseMs = leaseMs;
  }

  /** Aborted when the database has said that the lease is no longer ours. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether the lease is certainly ours at this moment. */
  isHeld(): boolean {
    return !this.#lost.signal.aborted && isWithin(this.#clocks, this.#since, this.#leaseMs);
  }

  /** @param since - what the clocks showed before the renewal was asked for */
  renew(since: readonly number[]): void {
    this.#since = this.#since.map((held, at) => Math.max(held, since[at] ?? held));
  }

  /** @param error - what the work that stands on the lease ends with */
  lose(error: Error): void {
    this.#lost.abort(error);
  }
}

/** Calls the work again and again. @returns what ends that */
export type Every = (ms: number, work: () => void) => () => void;

const everySoOften: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  return () => clearInterval(timer);
};

/** The terms that leases are taken on. */
export interface LeaseTerms<T> {
  readonly leaseMs: number;
  readonly clocks: Clocks;
  /** Asks the database to keep things ours for longer. @returns for each whether it was ours still */
  readonly renew: (things: readonly T[]) => Promise<readonly boolean[]>;
  /** What the work on a thing ends with when its lease is lost. */
  readonly toLoss: (thing: T) => Error;
  /** A timer, unless a test has its own. */
  readonly every?: Every;
}

/** The leases that this process holds, renewed together three times in the time of one, until they are closed. */
export class Leases<T> {
  readonly #terms: LeaseTerms<T>;
  readonly #held = new Map<T, Lease>();
  readonly #stop: () => void;

  constructor(terms: LeaseTerms<T>) {
    this.#terms = terms;
    const {every = everySoOften, leaseMs} = terms;
    this.#stop = every(leaseMs / 3, () => void this.#renew());
  }

  /** Holds what was just claimed. @param since - what the clocks showed before the claim was asked for */
  hold(thing: T, since: readonly number[]): Lease {
    const {clocks, leaseMs} = this.#terms;
    const lease = new Lease(clocks, {since, leaseMs});
    this.#held.set(thing, lease);
    return lease;
  }

  /** Renews the lease of a thing no more. */
  release(thing: T): void {
    this.#held.delete(thing);
  }

  /** Renews nothing any more. */
  close(): void {
    this.#stop();
    this.#held.clear();
  }

  // A failed renewal is no loss yet: the lease runs on as it was, the next renewal may succeed, and whatever is written
  // meanwhile is fenced.
  async #renew(): Promise<void> {
    const {clocks, renew, toLoss} = this.#terms;
    if (this.#held.size === 0) return;
    const since = clocks();
    const held = [...this.#held];
    const kept = await renew(held.map(([thing]) => thing)).catch(() => null);
    for (const [at, [thing, lease]] of held.entries())
      if (kept?.[at] === true) lease.renew(since);
      else if (kept !== null) lease.lose(toLoss(thing));
  }
}
