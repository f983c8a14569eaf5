import type {Client, RawPage} from './client.ts';

export interface Page extends RawPage {
  /** Its number, from 1. */
  readonly page: number;
}

export interface PagesOptions {
  readonly path: string;
  /** Filters and includes; `page` is added. */
  readonly query: Readonly<Record<string, string>>;
  /** 1-based; the checkpoint of an interrupted sweep. */
  readonly fromPage: number;
  /** Pages asked for ahead of the one handed out. What the account allows at once is the limiter's to say. */
  readonly inFlight: number;
}

/**
 * Yields the pages of a list in order of number, without end: a page past the end is an empty list, and what counts as
 * the end is the consumer's decision. When it returns, throws or is aborted, outstanding requests are cut and waited for.
 * @throws what the first page that fails threw, when its turn comes; the signal's reason when it is aborted
 * @see hazards 3.1; wire-facts 4.2, 4.3
 */
export async function* fetchPages(
  client: Pick<Client, 'fetchPage'>,
  {path, query, fromPage, inFlight}: PagesOptions,
  signal?: AbortSignal,
): AsyncGenerator<Page, never, undefined> {
  const stop = new AbortController();
  const call = {signal: signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])};
  const queue: Promise<Page>[] = [];
  const ask = async (page: number): Promise<Page> => {
    const raw = await client.fetchPage(path, {...query, page: String(page)}, call);
    return {page, ...raw};
  };
  try {
    for (let next = fromPage; ; next++) {
      const asked = ask(next);
      // A page beyond the end may fail after the consumer has gone, with nobody left to hear of it.
      asked.catch(() => {});
      queue.push(asked);
      if (queue.length < inFlight) continue;
      const first = queue.shift();
      if (first !== undefined) yield await first;
    }
  } finally {
    stop.abort();
    await Promise.allSettled(queue);
  }
}
