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
   * How many pages are known to exist. Beyond them one is requested at a time, and only when the
   * consumer wants it, so that a list whose length is known costs no request past its end. null or
   * absent: unknown, and all are requested ahead.
   */
  readonly knownPages?: number | null;
  /** Called for a page before it is requested: the result checks whether its body is known. */
  readonly recogniserOf?: ((page: number) => Promise<Recognise>) | undefined;
  /** Milliseconds on a clock that never goes back. */
  readonly clock?: () => number;
}

/**
 * The fewest pages in progress, the awaited one included, and the most. The limiter decides how
 * many the account allows.
 */
const minPages = 4;
const maxPages = DEFAULT_CONCURRENCY.max;
/**
 * While the end of a list is unknown, at most this share of the pages read so far is requested
 * ahead, because those requests may be in vain.
 */
const maxWastedShare = 0.5;

/**
 * Yields the pages of a list in order of number, without end. A page past the end is an empty list,
 * and the consumer decides where the end is (for a sweep: src/sweeps/read-list.ts). As many are
 * requested ahead as it takes for each to be there when it is wanted. When the consumer returns,
 * throws or is aborted, outstanding requests are cut off and waited for.
 * @throws the error of the first page that fails, when its turn comes; the signal's reason if it is
 *   aborted
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
  const combinedSignal =
    signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const queue: Promise<PageAhead>[] = [];
  const requestPage = async (page: number): Promise<PageAhead> => {
    const recognise = await recogniserOf?.(page);
    const pageQuery = {...query, page: String(page)};
    return {
      page,
      ...(await client.fetchPage(path, pageQuery, {...call, recognise, signal: combinedSignal})),
    };
  };
  const lastAhead = knownPages ?? Number.POSITIVE_INFINITY;
  const demand = new PageDemand(knownPages == null);
  let nextPage = fromPage;
  try {
    for (;;) {
      while (queue.length === 0 || (queue.length < demand.pages && nextPage <= lastAhead)) {
        const pendingPage = requestPage(nextPage++);
        // A page beyond the end may fail after the consumer has returned, with no handler left for
        // its error.
        pendingPage.catch(() => {});
        queue.push(pendingPage);
      }
      const page = await queue.shift();
      if (page === undefined) continue;
      const yieldedAt = clock();
      yield page;
      demand.note(page.ms, clock() - yieldedAt);
    }
  } finally {
    stop.abort();
    await Promise.allSettled(queue);
  }
}

/**
 * How many pages must be in progress so that the consumer waits for none: the time of an answer
 * over the time that the consumer takes for a page. The fastest answer counts, because it waited in
 * no queue at the service. A service that is near and busy answers no faster if more is requested
 * at once.
 */
class PageDemand {
  readonly #isEndUnknown: boolean;
  #fastestMs = Number.POSITIVE_INFINITY;
  #consumerMs = 0;
  #read = 0;

  constructor(isEndUnknown: boolean) {
    this.#isEndUnknown = isEndUnknown;
  }

  /** From `minPages` to `maxPages`: as many as possible at first, if none can be in vain. */
  get pages(): number {
    if (this.#read === 0) return this.#isEndUnknown ? minPages : maxPages;
    const needed = Math.ceil((this.#fastestMs * this.#read) / Math.max(this.#consumerMs, 1)) + 1;
    const allowed = this.#isEndUnknown ? Math.floor(this.#read * maxWastedShare) : maxPages;
    return Math.max(minPages, Math.min(needed, allowed, maxPages));
  }

  /** Records a page: the time of its answer, and the time that the consumer took for it. */
  note(answerMs: number, consumerMs: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, answerMs);
    this.#consumerMs += consumerMs;
    this.#read++;
  }
}
