import type pg from 'pg';
import type {FeedWatch} from '../feed/feed-watch.ts';
import {hideEntry} from '../feed/hide-entry.ts';
import {CursorError, type FeedPage, type FeedQuery, readFeed} from '../feed/read-feed.ts';
import {Problem} from './problem.ts';

export interface Following {
  readonly query: FeedQuery;
  /** Whether entries that the reader itself wrote are given. */
  readonly showsOwn: boolean;
  /** Whether the key may not see personal data. */
  readonly masks: boolean;
  readonly waitMs: number;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

interface FollowDeps {
  readonly watch: FeedWatch;
  /** Reads once, when the turn of the key comes. */
  readonly take: (read: (reads: pg.Pool) => Promise<FeedPage>) => Promise<FeedPage>;
}

/**
 * The entries after a cursor: at once where there are some, else as soon as there are, and none
 * when the time is over.
 * @throws {Problem} 410: the reader has to begin again; 400: it is no cursor
 */
export async function followFeed(
  {watch, take}: FollowDeps,
  following: Following,
): Promise<FeedPage> {
  const {query, showsOwn, masks, waitMs, signal} = following;
  const until = performance.now() + waitMs;
  const ended = AbortSignal.any([signal, watch.signal]);
  for (let {after} = query; ; ) {
    const waitOn = watch.watch();
    await watch.sequence();
    const page = await take((reads) => readFeed(reads, {...query, after})).catch(refuse);
    const entries = page.entries.filter(({own}) => showsOwn || !own);
    const left = until - performance.now();
    if (entries.length > 0 || query.after === 'end' || left <= 0 || ended.aborted)
      return {entries: masks ? entries.map(hideEntry) : entries, cursor: page.cursor};
    after = page.cursor;
    // A full page of own entries has more behind it.
    if (page.entries.length < query.limit) await waitOn(left, ended);
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof CursorError)) throw error;
  const {message: detail, isGone} = error;
  if (!isGone) {
    const errors = [{in: 'query' as const, at: 'after', expected: 'a cursor that the feed gave'}];
    throw new Problem(400, 'invalid', {
      detail,
      errors,
      hint: 'Leave it out to read from the oldest entry.',
      cause: error,
    });
  }
  throw new Problem(410, 'cursor-gone', {
    detail,
    hint: 'Begin again: keep the cursor of GET /v1/feed?after=end, read the tables, then follow the feed from that cursor.',
    cause: error,
  });
}
