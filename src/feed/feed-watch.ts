// Wakes the readers that wait for the feed, and gives positions to its new entries before they
// read.

import type pg from 'pg';
import {NoticeWatch, type WaitOn} from '../postgres/listen.ts';
import {feedChannel, sequenceFeed} from './read-feed.ts';

interface WatchDeps {
  /** Of sessions of our own: no pooler in between. */
  readonly directUrl: string;
  readonly pool: pg.Pool;
  /** Told of what makes the feed late, in words: nothing is lost by it. */
  readonly onTrouble: (text: string) => void;
}

export class FeedWatch {
  readonly #deps: WatchDeps;
  readonly #notices: NoticeWatch;
  #sequencing: Promise<void> | null = null;

  constructor(deps: WatchDeps) {
    const {directUrl, onTrouble} = deps;
    this.#deps = deps;
    this.#notices = new NoticeWatch({
      directUrl,
      channel: feedChannel,
      onFailure: (error) => onTrouble(`nothing tells of new entries: ${error}`),
    });
  }

  /** Aborts when it is closed. */
  get signal(): AbortSignal {
    return this.#notices.signal;
  }

  /**
   * Gives positions to what is committed now. Never fails: what has positions can be read all the
   * same.
   */
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

  /**
   * Begins to listen. @returns waits until something moved since, for some time at most, or until
   * the signal aborts
   */
  watch(): WaitOn {
    return this.#notices.watch();
  }

  /** Ends every wait, and listens no more. */
  close(): void {
    this.#notices.close();
  }
}
