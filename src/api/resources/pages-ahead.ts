import type {Call, Client, RawPage} from './client.ts';

export interface Page extends RawPage {
  /** Its number, from 1. */
  readonly page: number;
}

export interface PagesOptions extends Omit<Call, 'signal'> {
  readonly path: string;
  /** Filters and includes; `page` is added. */
  readonly query: Readonly<Record<string, string>>;
  /** 1-based; the checkpoint of an interrupted sweep. */
  readonly fromPage: number;
  /** Pages asked for at once, the one awaited included. The limiter says how many the account allows. */
  readonly inFlight: number;
  /**
   * Pages known to be there. Beyond them one is asked for at a time, and only when the consumer wants it, so that a list
   * whose length is known costs no request past its end. null or absent: unknown, and all are asked for ahead.
   */
  readonly knownPages?: number | null;
}

/**
 * Yields the pages of a list in order of number, without end: a page past the end is an empty list, and the
 * consumer decides where the end is (of a sweep src/sync/load/read-list.ts). When it returns, throws or is
 * aborted, outstanding requests are cut and waited for.
 * @throws the error of the first page that fails, when its turn comes; the signal's reason when it is aborted
 * @see docs/traps.md "Pages without a cursor"; docs/service.md "Page size"
 */
export async function* fetchPages(
  client: Pick<Client, 'fetchPage'>,
  {path, query, fromPage, inFlight, knownPages, urgency, onAttempt}: PagesOptions,
  signal?: AbortSignal,
): AsyncGenerator<Page, never, undefined> {
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const queue: Promise<Page>[] = [];
  const ask = (page: number): Promise<Page> => {
    const call = {signal: either, urgency, onAttempt};
    const asked = client
      .fetchPage(path, {...query, page: String(page)}, call)
      .then((raw) => ({page, ...raw}));
    // A page beyond the end may fail after the consumer has gone, with no handler left for its error.
    asked.catch(() => {});
    return asked;
  };
  const lastAhead = knownPages ?? Number.POSITIVE_INFINITY;
  let next = fromPage;
  try {
    for (;;) {
      while (queue.length === 0 || (queue.length < inFlight && next <= lastAhead)) queue.push(ask(next++));
      const first = queue.shift();
      if (first !== undefined) yield await first;
    }
  } finally {
    stop.abort();
    await Promise.allSettled(queue);
  }
}
