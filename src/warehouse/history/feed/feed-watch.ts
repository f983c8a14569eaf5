// Wakes the readers that wait for the feed. One session of Postgres listens for all of them, and goes on for a while after
// the last: a reader that asks again at once is heard. A reader that waits holds no connection of the pool.

import type pg from 'pg';
import {listen} from '../../postgres/sessions/listen.ts';
import {sequenceFeed} from './read-feed.ts';

const channel = 'fieldmirror_feed';
const lingerMs = 60_000;
/** Makes up for a notice that was lost with its session. */
const lookAgainMs = 5_000;

interface WatchDeps {
  /** Of sessions of our own: no pooler in between. */
  readonly directUrl: string;
  readonly pool: pg.Pool;
  /** Told of what makes the feed late, in words: nothing is lost by it. */
  readonly onTrouble: (text: string) => void;
}

export class FeedWatch {
  readonly #deps: WatchDeps;
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  #listening: AbortController | null = null;
  #linger: NodeJS.Timeout | undefined;
  #sequencing: Promise<void> | null = null;
  /** Grows with each notice: a reader sees whether there was one since it read. */
  #notices = 0;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Aborts when it is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Gives positions to what is committed now. Never fails: what has positions can be read all the same. */
  async sequence(): Promise<void> {
    // One that began earlier may have missed the latest commit.
    await this.#sequencing;
    this.#sequencing ??= sequenceFeed(this.#deps.pool)
      .catch((error: unknown) => this.#deps.onTrouble(`new entries get no positions: ${error}`))
      .finally(() => {
        this.#sequencing = null;
      });
    await this.#sequencing;
  }

  /** Begins to listen. @returns waits until something moved since, for some time at most, or until the signal aborts */
  watch(): (ms: number, signal: AbortSignal) => Promise<void> {
    this.#listen();
    const since = this.#notices;
    return async (ms, signal) => {
      if (this.#notices > since || signal.aborted || ms <= 0) return;
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, Math.min(ms, lookAgainMs));
      const wake = () => woken.resolve();
      signal.addEventListener('abort', wake);
      this.#waiting.add(wake);
      try {
        await woken.promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
      }
    };
  }

  /** Ends every wait, and listens no more. */
  close(): void {
    this.#closing.abort();
    this.#stop();
    this.#wake();
  }

  #listen(): void {
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => this.#stop(), lingerMs).unref();
    if (this.#listening !== null || this.signal.aborted) return;
    this.#listening = new AbortController();
    const {directUrl, onTrouble} = this.#deps;
    void listen(directUrl, channel, {
      signal: this.#listening.signal,
      onNotice: () => this.#hear(),
      onListening: () => this.#hear(),
      onFailure: (error) => onTrouble(`nothing tells of new entries: ${error}`),
    });
  }

  #hear(): void {
    this.#notices += 1;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #stop(): void {
    clearTimeout(this.#linger);
    this.#listening?.abort();
    this.#listening = null;
  }
}
