// Notices of Postgres. One session listens on behalf of all readers that wait for one channel. It
// stays open for a while after the last reader, so a reader that soon comes back misses no notice.
// A waiting reader holds no connection of the pool.

import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {liftLimits} from './database.ts';

const reconnectAfterMs = 5_000;
const keepAliveAfterMs = 10_000;

interface ListenOptions {
  readonly onNotice: (payload: string) => void;
  /** Called each time that a session begins to listen: notices sent before were not received. */
  readonly onListening?: () => void;
  readonly signal: AbortSignal;
}

/**
 * Listens to a channel of Postgres on a separate session until the signal aborts. A notice sent
 * while the session is lost is not received, so the caller must also check now and then.
 * @param onFailure - called each time that no session can be opened
 */
export async function listen(
  databaseUrl: string,
  channel: string,
  {onFailure, ...options}: ListenOptions & {readonly onFailure: (error: unknown) => void},
): Promise<void> {
  const {signal} = options;
  while (!signal.aborted) {
    await listenOnce(databaseUrl, channel, options).catch((error: unknown) => {
      if (!signal.aborted) onFailure(error);
    });
    await wait(reconnectAfterMs, undefined, {signal, ref: false}).catch(() => {});
  }
}

async function listenOnce(
  databaseUrl: string,
  channel: string,
  {onNotice, onListening, signal}: ListenOptions,
): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'fieldmirror listens',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  const ended = Promise.withResolvers<void>();
  const stop = () => ended.resolve();
  client.on('error', stop);
  client.on('end', stop);
  client.on('notification', ({payload = ''}) => onNotice(payload));
  signal.addEventListener('abort', stop);
  try {
    await client.connect();
    await client.query(`SELECT ${liftLimits}`);
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    onListening?.();
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => {});
  }
}

const lingerMs = 60_000;
/** The longest wait, in case a notice was lost with its session. */
const longestWaitMs = 5_000;

interface NoticeWatchOptions {
  /** For sessions that are not shared: no pooler in between. */
  readonly directUrl: string;
  readonly channel: string;
  /** Called each time that no session can be opened. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Waits for a notice that arrived after this function was made, for some time at most, or until the
 * signal aborts.
 */
export type WaitOn = (
  ms: number,
  signal: AbortSignal,
  /** Whether a notice that arrives from now on ends the wait. */
  concerns?: (payload: string) => boolean,
) => Promise<void>;

interface WaitingReader {
  readonly wake: () => void;
  readonly concerns: (payload: string) => boolean;
}

/** Wakes the readers that wait for notices of one channel. */
export class NoticeWatch {
  readonly #options: NoticeWatchOptions;
  readonly #waiting = new Set<WaitingReader>();
  readonly #closing = new AbortController();
  #listening: AbortController | null = null;
  #linger: NodeJS.Timeout | undefined;
  /** Counts the notices: a reader sees whether one arrived since it read. */
  #notices = 0;

  constructor(options: NoticeWatchOptions) {
    this.#options = options;
  }

  /** Aborts when the watch is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Begins to listen. Call it first, then read, then wait: a notice that arrives during the read
   * ends the wait at once.
   */
  watch(): WaitOn {
    this.#listen();
    const noticesBefore = this.#notices;
    return async (ms, signal, concerns = () => true) => {
      if (this.#notices > noticesBefore || signal.aborted || ms <= 0) return;
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, Math.min(ms, longestWaitMs));
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

  /** Ends every wait, and stops listening. */
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
      onNotice: (payload) => this.#receive(payload),
      onListening: () => this.#receive(null),
      onFailure,
    });
  }

  /** @param payload - null if notices may have been missed until now: every reader wakes once */
  #receive(payload: string | null): void {
    this.#notices += 1;
    for (const {wake, concerns} of this.#waiting) if (payload === null || concerns(payload)) wake();
  }

  #stop(): void {
    clearTimeout(this.#linger);
    this.#listening?.abort();
    this.#listening = null;
  }
}
