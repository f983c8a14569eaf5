// Wakes those who wait for notices of one channel. One session of Postgres listens for all of them,
// and goes on for a while after the last: a reader that asks again at once is heard. A reader that
// waits holds no connection of the pool.

import {listen} from './listen.ts';

const lingerMs = 60_000;
/** Makes up for a notice that was lost with its session. */
const lookAgainMs = 5_000;

interface NoticeWatchOptions {
  /** Of sessions of our own: no pooler in between. */
  readonly directUrl: string;
  readonly channel: string;
  /** Told each time that no session can be had. */
  readonly onFailure: (error: unknown) => void;
}

/** Waits for a notice since it was made, for some time at most, or until the signal aborts. */
export type WaitOn = (
  ms: number,
  signal: AbortSignal,
  /** Whether a notice given from now on is worth waking for. */
  concerns?: (payload: string) => boolean,
) => Promise<void>;

interface Waiting {
  readonly wake: () => void;
  readonly concerns: (payload: string) => boolean;
}

export class NoticeWatch {
  readonly #options: NoticeWatchOptions;
  readonly #waiting = new Set<Waiting>();
  readonly #closing = new AbortController();
  #listening: AbortController | null = null;
  #linger: NodeJS.Timeout | undefined;
  /** Grows with each notice: a reader sees whether there was one since it read. */
  #notices = 0;

  constructor(options: NoticeWatchOptions) {
    this.#options = options;
  }

  /** Aborts when it is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Begins to listen: call it, then read, then wait. A notice given while reading ends the wait at
   * once.
   */
  watch(): WaitOn {
    this.#listen();
    const since = this.#notices;
    return async (ms, signal, concerns = () => true) => {
      if (this.#notices > since || signal.aborted || ms <= 0) return;
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, Math.min(ms, lookAgainMs));
      const waiting = {wake: () => woken.resolve(), concerns};
      signal.addEventListener('abort', waiting.wake);
      this.#waiting.add(waiting);
      try {
        await woken.promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', waiting.wake);
        this.#waiting.delete(waiting);
      }
    };
  }

  /** Ends every wait, and listens no more. */
  close(): void {
    this.#closing.abort();
    this.#stop();
    for (const {wake} of this.#waiting) wake();
  }

  #listen(): void {
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => this.#stop(), lingerMs).unref();
    if (this.#listening !== null || this.signal.aborted) return;
    this.#listening = new AbortController();
    const {directUrl, channel, onFailure} = this.#options;
    void listen(directUrl, channel, {
      signal: this.#listening.signal,
      onNotice: (payload) => this.#hear(payload),
      onListening: () => this.#hear(null),
      onFailure,
    });
  }

  /** @param payload - null where nothing was heard until now: everybody looks once */
  #hear(payload: string | null): void {
    this.#notices += 1;
    for (const {wake, concerns} of this.#waiting) if (payload === null || concerns(payload)) wake();
  }

  #stop(): void {
    clearTimeout(this.#linger);
    this.#listening?.abort();
    this.#listening = null;
  }
}
