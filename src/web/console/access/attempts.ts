const atMost = 10;
const withinMs = 60_000;
/** Addresses that are remembered; beyond them the oldest is forgotten. */
const mostAddresses = 10_000;

/** Counts wrong keys by address: ten a minute are let through. A key cannot be guessed anyway; the log stays short. */
export class Attempts {
  readonly #failures = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now - milliseconds of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether one more may be tried from an address. */
  mayTry(address: string): boolean {
    return this.#recent(address).length < atMost;
  }

  noteFailure(address: string): void {
    const recent = [...this.#recent(address), this.#now()];
    this.#failures.delete(address);
    this.#failures.set(address, recent);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > mostAddresses && oldest !== undefined) this.#failures.delete(oldest);
  }

  #recent(address: string): number[] {
    const since = this.#now() - withinMs;
    return (this.#failures.get(address) ?? []).filter((at) => at > since);
  }
}
