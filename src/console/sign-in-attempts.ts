const atMost = 10;
const withinMs = 60_000;
/** Sources that are remembered; beyond them the oldest is forgotten. */
const mostSources = 10_000;

/**
 * Counts wrong keys by their source: ten a minute are let through. No key is guessed anyway, for it
 * is drawn at random.
 */
export class Attempts {
  readonly #failures = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now - milliseconds of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param source - an address, and the beginning of the key */
  mayTry(source: string): boolean {
    return this.#recent(source).length < atMost;
  }

  noteFailure(source: string): void {
    const recent = [...this.#recent(source), this.#now()];
    this.#failures.delete(source);
    this.#failures.set(source, recent);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > mostSources && oldest !== undefined) this.#failures.delete(oldest);
  }

  #recent(source: string): number[] {
    const since = this.#now() - withinMs;
    return (this.#failures.get(source) ?? []).filter((at) => at > since);
  }
}
