import type {Call, Client, RawPage} from './client.ts';
import {DEFAULT_CONCURRENCY} from './concurrency.ts';
import type {Recognise} from './exchange.ts';

export interface PageAhead extends RawPage {
  /** Its number, from 1. */
  readonly page: number;
}

export interface PagesOptions extends Omit<Call, 'signal'> {
  readonly path: string;
  /** Filters and includes; `page` is added. */
  readonly query: Readonly<Record<string, string>>;
  /** 1-based; the checkpoint of an interrupted sweep. */
  readonly fromPage: number;
  /**
   * Pages known to be there. Beyond them one is asked for at a time, and only when the consumer
   * wants it, so that a list whose length is known costs no request past its end. null or absent:
   * unknown, and all are asked for ahead.
   */
  readonly knownPages?: number | null;
  /** Called for a page before it is asked for: the result says whether its body is known. */
  readonly recogniserOf?: ((page: number) => Promise<Recognise>) | undefined;
  /** Milliseconds on a clock that never goes back. */
  readonly clock?: () => number;
}

/**
 * Pages under way at least, the one awaited included; and at most. The limiter says how many the
 * account allows.
 */
const fewest = 4;
const most = DEFAULT_CONCURRENCY.max;
/**
 * While the end of a list is unknown, of the pages read so far this share may be asked for ahead,
 * and so in vain.
 */
const shareInVain = 0.5;

/**
 * Yields the pages of a list in order of number, without end: a page past the end is an empty list,
 * and the consumer decides where the end is (of a sweep src/sweeps/read-list.ts). As many are asked
 * for ahead as it takes for each to be there when it is wanted. When the consumer returns, throws
 * or is aborted, outstanding requests are cut and waited for.
 * @throws the error of the first page that fails, when its turn comes; the signal's reason when it
 *   is aborted
 * @see docs/traps.md "Pages without a cursor"; docs/service.md "Page size";
 *   docs/decisions/0023-pages-ahead-by-need.md
 */
export async function* fetchPages(
  client: Pick<Client, 'fetchPage'>,
  {
    path,
    query,
    fromPage,
    knownPages,
    recogniserOf,
    clock = () => performance.now(),
    ...call
  }: PagesOptions,
  signal?: AbortSignal,
): AsyncGenerator<PageAhead, never, undefined> {
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const queue: Promise<PageAhead>[] = [];
  const ask = async (page: number): Promise<PageAhead> => {
    const recognise = await recogniserOf?.(page);
    const pageQuery = {...query, page: String(page)};
    return {
      page,
      ...(await client.fetchPage(path, pageQuery, {...call, recognise, signal: either})),
    };
  };
  const lastAhead = knownPages ?? Number.POSITIVE_INFINITY;
  const need = new Need(knownPages == null);
  let next = fromPage;
  try {
    for (;;) {
      while (queue.length === 0 || (queue.length < need.pages && next <= lastAhead)) {
        const asked = ask(next++);
        // A page beyond the end may fail after the consumer has gone, with no handler left for its
        // error.
        asked.catch(() => {});
        queue.push(asked);
      }
      const first = await queue.shift();
      if (first === undefined) continue;
      const givenAt = clock();
      yield first;
      need.note(first.ms, clock() - givenAt);
    }
  } finally {
    stop.abort();
    await Promise.allSettled(queue);
  }
}

/**
 * How many pages must be under way so that none is waited for: the time of an answer over the time
 * that the consumer takes for a page. The fastest answer counts, because it waited in no queue at
 * the service: one that is near and busy is asked no faster for being asked for more at once.
 */
class Need {
  readonly #isEndUnknown: boolean;
  #fastestMs = Number.POSITIVE_INFINITY;
  #consumerMs = 0;
  #read = 0;

  constructor(isEndUnknown: boolean) {
    this.#isEndUnknown = isEndUnknown;
  }

  /** From `fewest` to `most`: as many as may be at first, where none can be in vain. */
  get pages(): number {
    if (this.#read === 0) return this.#isEndUnknown ? fewest : most;
    const needed = Math.ceil((this.#fastestMs * this.#read) / Math.max(this.#consumerMs, 1)) + 1;
    const allowed = this.#isEndUnknown ? Math.floor(this.#read * shareInVain) : most;
    return Math.max(fewest, Math.min(needed, allowed, most));
  }

  /** Takes in a page: the time of its answer, and the time that the consumer took for it. */
  note(answerMs: number, consumerMs: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, answerMs);
    this.#consumerMs += consumerMs;
    this.#read++;
  }
}
