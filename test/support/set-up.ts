import {setTimeout as wait} from 'node:timers/promises';

/** Shorter than a test waits for its hooks: the step that stands still is named. */
const defaultEndMs = 100_000;

/**
 * The things that a test, a torture or a benchmark starts before its own work, step by step. All of
 * them are ended in the reverse order, whether the work is over or a later step fails.
 */
export class SetUp {
  readonly #endMs: number;
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** @param endMs - the end of a step counts as failed after so long */
  constructor(endMs = defaultEndMs) {
    this.#endMs = endMs;
  }

  /**
   * Does the next step.
   * @param name - the work of the step, as in `making the warehouse template`
   * @param end - ends or removes the thing that the step began
   * @returns the thing that the step began
   * @throws {Error} the name and the cause, when the step fails; nothing stays begun
   */
  async step<T>(
    name: string,
    begin: () => Promise<T>,
    end: (begun: T) => Promise<unknown> = async () => {},
  ): Promise<T> {
    try {
      const begun = await begin();
      this.#ends.push(() => inTime(this.#endMs, name, end(begun)));
      return begun;
    } catch (cause) {
      const left = await this.#endAll();
      throw new Error([`${name}: ${messageOf(cause)}`, ...left.map(describeLeft)].join('\n'), {
        cause,
      });
    }
  }

  /**
   * Ends everything that was begun, the last first. A failure to end one thing keeps no other from
   * its end.
   * @throws {AggregateError} the things that could not be ended
   */
  async end(): Promise<void> {
    const left = await this.#endAll();
    if (left.length > 0) throw new AggregateError(left, left.map(describeLeft).join('\n'));
  }

  async #endAll(): Promise<unknown[]> {
    const left: unknown[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        left.push(error);
      }
    }
    return left;
  }
}

/** @throws {Error} the work is not over after so long; it goes on, and nothing waits for it */
async function inTime(ms: number, name: string, work: Promise<unknown>): Promise<void> {
  const isOver = new AbortController();
  const late = wait(ms, null, {signal: isOver.signal}).then(() => {
    throw new Error(`${name}: its end was waited for in vain for ${ms / 1000} s`);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    isOver.abort();
  }
}

function describeLeft(error: unknown): string {
  return `ending what was begun: ${messageOf(error)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
