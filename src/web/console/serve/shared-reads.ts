interface Reading {
  readonly story: Promise<unknown>;
  readonly at: number;
}

const freshForMs = 1_000;

/** Reads a story once for all who look at it within a second, so that fifty open pages cost the database no more than one. */
export class SharedReads {
  readonly #readings = new Map<string, Reading>();
  readonly #now: () => number;

  /** @param now - milliseconds of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param key - equal where the story is: the address and the accounts that the viewer may see
   * @param isFresh - the reader has just written, and must see it
   */
  async read<Story>(
    key: string,
    read: () => Promise<Story>,
    {isFresh = false}: {readonly isFresh?: boolean} = {},
  ): Promise<Story> {
    const now = this.#now();
    for (const [old, {at}] of this.#readings) if (now - at >= freshForMs) this.#readings.delete(old);
    const held = isFresh ? undefined : this.#readings.get(key);
    if (held !== undefined) return (await held.story) as Story;
    const story = read();
    this.#readings.set(key, {story, at: now});
    story.catch(() => this.#readings.delete(key));
    return await story;
  }
}
