interface Reading {
  readonly story: Promise<unknown>;
  readonly at: number;
  readonly keptMs: number;
  /** Whether it is being read anew behind the page. */
  isRefreshing: boolean;
}

interface Keeping {
  /** The reader has just written, and must see it. */
  readonly isFresh: boolean;
  /** How old a story may be; a second when it is left out. */
  readonly keptMs: number | undefined;
}

const usualMs = 1_000;
/**
 * A story that is kept longer than usual is shown when it is older, too, up to so many times: then
 * it is read anew behind the page.
 */
const staleTimes = 10;
const mostReadings = 500;

/**
 * Reads a story once for all who look at it, so that fifty open pages cost the database no more
 * than one.
 */
export class SharedReads {
  readonly #readings = new Map<string, Reading>();
  readonly #now: () => number;

  /** @param now - milliseconds of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param key - equal where the story is: the address and the accounts that the viewer may see */
  async read<Story>(
    key: string,
    read: () => Promise<Story>,
    {isFresh, keptMs = usualMs}: Keeping,
  ): Promise<Story> {
    const held = this.#readings.get(key);
    const ageMs = held === undefined ? Number.POSITIVE_INFINITY : this.#now() - held.at;
    if (held === undefined || isFresh || ageMs >= keptMs * (keptMs > usualMs ? staleTimes : 1))
      return (await this.#begin(key, read, keptMs).story) as Story;
    if (ageMs >= keptMs && !held.isRefreshing) this.#refresh(key, {read, held});
    return (await held.story) as Story;
  }

  /**
   * Something moved: a page that is told of it must not be given what was read before. Stories that
   * are kept longer stay.
   */
  forgetRecent(): void {
    for (const [key, {keptMs}] of this.#readings) if (keptMs <= usualMs) this.#readings.delete(key);
  }

  /** Something must not be shown again, by any page. */
  forgetAll(): void {
    this.#readings.clear();
  }

  #begin(key: string, read: () => Promise<unknown>, keptMs: number): Reading {
    const reading = {story: read(), at: this.#now(), keptMs, isRefreshing: false};
    // The one that was asked for longest ago goes first.
    this.#readings.delete(key);
    this.#readings.set(key, reading);
    const [oldest] = this.#readings.keys();
    if (this.#readings.size > mostReadings && oldest !== undefined) this.#readings.delete(oldest);
    reading.story.catch(() => this.#forget(key, reading));
    return reading;
  }

  /**
   * Whoever asks meanwhile gets the story that is held; where it cannot be read anew, the next one
   * asks again.
   */
  #refresh(
    key: string,
    {read, held}: {readonly read: () => Promise<unknown>; readonly held: Reading},
  ): void {
    held.isRefreshing = true;
    const at = this.#now();
    read().then(
      (story) => {
        if (this.#readings.get(key) === held)
          this.#readings.set(key, {
            story: Promise.resolve(story),
            at,
            keptMs: held.keptMs,
            isRefreshing: false,
          });
      },
      () => this.#forget(key, held),
    );
  }

  #forget(key: string, reading: Reading): void {
    if (this.#readings.get(key) === reading) this.#readings.delete(key);
  }
}
