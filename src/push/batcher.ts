import {setTimeout as wait} from 'node:timers/promises';

/**
 * The larger a batch, the longer from its beginning to the next, so that under load the next is
 * large too: a transaction costs much the same for one item as for many. An item that comes alone
 * goes at once.
 */
const gatherMs = {each: 10, most: 120};

interface Waiting<T, R> {
  readonly item: T;
  readonly done: PromiseWithResolvers<R>;
}

/**
 * Does items together that are asked for beside each other: those that come while one batch is
 * under way make the next. A batch that fails is done one by one, so that each item fails for
 * itself.
 */
export class Batcher<T, R> {
  readonly #work: (items: readonly T[]) => Promise<readonly R[]>;
  #waiting: Waiting<T, R>[] = [];
  #isAtWork = false;
  /** By the clock of this process. */
  #notBefore = 0;

  /**
   * @param work - does some items and returns the result of each, in order; all of them, or none
   */
  constructor(work: (items: readonly T[]) => Promise<readonly R[]>) {
    this.#work = work;
  }

  async do(item: T): Promise<R> {
    const done = Promise.withResolvers<R>();
    this.#waiting.push({item, done});
    if (!this.#isAtWork) void this.#drain();
    return await done.promise;
  }

  async #drain(): Promise<void> {
    this.#isAtWork = true;
    while (this.#waiting.length > 0) {
      const early = this.#notBefore - performance.now();
      if (early > 0) await wait(early);
      const batch = this.#waiting.splice(0);
      this.#notBefore = performance.now() + Math.min(gatherMs.each * batch.length, gatherMs.most);
      await this.#doBatch(batch);
    }
    this.#isAtWork = false;
  }

  async #doBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({item}) => item));
      for (const [at, {done}] of batch.entries()) {
        const result = results[at];
        if (result === undefined)
          done.reject(new TypeError('a batch returns something for each of its items'));
        else done.resolve(result);
      }
    } catch (error) {
      const [only, ...others] = batch;
      if (others.length === 0) only?.done.reject(error);
      else for (const waiting of batch) await this.#doBatch([waiting]);
    }
  }
}
