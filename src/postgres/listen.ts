// Notices of Postgres. One session listens for all who wait for one channel, and goes on for a
// while after the last: a reader that asks again at once is heard. A reader that waits holds no
// connection of the pool.

import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';

const againMs = 5_000;
const keepAliveAfterMs = 10_000;

interface Listening {
  readonly onNotice: (payload: string) => void;
  /** Told each time that a session listens: notices given before were not heard. */
  readonly onListening?: () => void;
  readonly signal: AbortSignal;
}

/**
 * Listens to a channel of Postgres on a session of its own until told to stop. A notice given while
 * the session is lost is not heard: the listener must look by itself now and then.
 * @param onFailure - told each time that no session can be had
 */
export async function listen(
  databaseUrl: string,
  channel: string,
  {onFailure, ...listening}: Listening & {readonly onFailure: (error: unknown) => void},
): Promise<void> {
  const {signal} = listening;
  while (!signal.aborted) {
    await listenOnce(databaseUrl, channel, listening).catch((error: unknown) => {
      if (!signal.aborted) onFailure(error);
    });
    await wait(againMs, undefined, {signal, ref: false}).catch(() => {});
  }
}

async function listenOnce(
  databaseUrl: string,
  channel: string,
  {onNotice, onListening, signal}: Listening,
): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'fieldmirror listens',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  const broken = Promise.withResolvers<void>();
  const stop = () => broken.resolve();
  client.on('error', stop);
  client.on('end', stop);
  client.on('notification', ({payload = ''}) => onNotice(payload));
  signal.addEventListener('abort', stop);
  try {
    await client.connect();
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    onListening?.();
    await broken.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => {});
  }
}

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

/** Wakes those who wait for notices of one channel. */
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
