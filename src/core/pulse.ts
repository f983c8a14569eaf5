/** How a part of a worker fares, in milliseconds before now. */
export interface PulseReading {
  /** Since its last good round; before the first one, since the part was made. */
  readonly goodAgoMs: number;
  /** Since the round under way began; null where none is. */
  readonly begunAgoMs: number | null;
  /** Why the last round failed; null after a good one. */
  readonly error: string | null;
}

/** The heartbeat of one part of a worker: its rounds are good, fail, or do not end. */
export class Pulse {
  /** Milliseconds that only grow. */
  readonly now: () => number;
  #goodAt: number;
  #begunAt: number | null = null;
  #error: string | null = null;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.#goodAt = now();
  }

  /** Does one round, and notes how it ended. @throws the error of `work` */
  async round<T>(work: () => Promise<T>): Promise<T> {
    this.#begunAt = this.now();
    try {
      const result = await work();
      this.good();
      return result;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      this.#begunAt = null;
    }
  }

  /** Notes that the part does its work: a long round calls it after each step. */
  good(): void {
    this.#goodAt = this.now();
    this.#error = null;
  }

  read(): PulseReading {
    const now = this.now();
    return {
      goodAgoMs: now - this.#goodAt,
      begunAgoMs: this.#begunAt === null ? null : now - this.#begunAt,
      error: this.#error,
    };
  }
}
