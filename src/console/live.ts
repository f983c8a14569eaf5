// Notifies open pages that data has changed. One session of Postgres listens for all of them, and
// only while a page is open. A page then requests itself again. A hidden page closes its stream.

import {once} from 'node:events';
import type {FastifyReply} from 'fastify';
import {errorNumbers} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {listen} from '../postgres/listen.ts';

const channel = 'fieldmirror_pages';
/** A burst of notices makes a page reload once. */
const debounceMs = 500;
const keepAliveMs = 20_000;
/**
 * How often the server checks that the people behind the streams are still signed in: one statement
 * for all of them.
 */
const sessionCheckMs = 3_000;

interface Stream {
  readonly reply: FastifyReply;
  readonly moving: ReadonlySet<string>;
  /** The token of the session that opened the stream. */
  readonly token: string;
  waiting: NodeJS.Timeout | null;
}

interface LiveOptions {
  readonly log: Logger;
  /** Called for each notice, before any page is notified. */
  readonly onMoved: () => void;
  /** Returns those of the tokens whose sessions have not ended. */
  readonly findSignedIn: (tokens: readonly string[]) => Promise<ReadonlySet<string>>;
}

export class Live {
  readonly #databaseUrl: string;
  readonly #log: Logger;
  readonly #onMoved: () => void;
  readonly #findSignedIn: LiveOptions['findSignedIn'];
  readonly #streams = new Set<Stream>();
  /** When the last notice of each table arrived, in milliseconds of this machine's clock. */
  readonly #notifiedAt = new Map<string, number>();
  #listening: AbortController | null = null;
  #checking: NodeJS.Timeout | undefined;
  /** Since when the session receives notices; infinity while no session listens. */
  #listensSince = Number.POSITIVE_INFINITY;

  /** @param databaseUrl - opens our own session, without a pooler in between */
  constructor(databaseUrl: string, {log, onMoved, findSignedIn}: LiveOptions) {
    this.#databaseUrl = databaseUrl;
    this.#log = log;
    this.#onMoved = onMoved;
    this.#findSignedIn = findSignedIn;
  }

  /**
   * Keeps a stream of events open until its page closes it or its session ends.
   * @param moving - names of tables
   * @param drawnAt - when the page was rendered: changes since then are sent at once
   */
  async follow(
    reply: FastifyReply,
    {moving, drawnAt, token}: Pick<Stream, 'moving' | 'token'> & {readonly drawnAt: number},
  ): Promise<void> {
    reply.hijack();
    const {raw} = reply;
    raw.writeHead(200, {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
    } as Record<string, string>);
    raw.write(': open\n\n');
    const stream: Stream = {reply, moving, token, waiting: null};
    this.#streams.add(stream);
    this.#listen();
    if (this.#listensSince < Number.POSITIVE_INFINITY && this.#hasMissed(moving, drawnAt))
      notify(stream);
    const keepAliveTimer = setInterval(() => raw.write(': still here\n\n'), keepAliveMs);
    await once(raw, 'close');
    clearInterval(keepAliveTimer);
    if (stream.waiting !== null) clearTimeout(stream.waiting);
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#stop();
  }

  /** Ends every stream, because the server stops. */
  close(): void {
    for (const {reply} of this.#streams) reply.raw.end();
    this.#stop();
  }

  #listen(): void {
    if (this.#listening !== null) return;
    this.#listening = new AbortController();
    this.#checking = setInterval(() => void this.#endSignedOut(), sessionCheckMs);
    void listen(this.#databaseUrl, channel, {
      signal: this.#listening.signal,
      onNotice: (table) => this.#notify(table),
      onListening: () => this.#catchUp(),
      onFailure: (error) =>
        this.#log.warn(
          {reason: String(error), docs: errorNumbers.feed},
          'open pages are not notified of changes',
        ),
    });
  }

  /** Ends the streams of sessions that are signed out or expired, or whose key was revoked. */
  async #endSignedOut(): Promise<void> {
    const streams = [...this.#streams];
    try {
      const signedIn = await this.#findSignedIn([...new Set(streams.map(({token}) => token))]);
      for (const {reply, token} of streams) if (!signedIn.has(token)) reply.raw.end();
    } catch (error) {
      // An unreachable warehouse shows no data either; the next check decides.
      this.#log.debug({reason: String(error)}, 'open pages: sessions cannot be checked');
    }
  }

  #stop(): void {
    this.#listening?.abort();
    clearInterval(this.#checking);
    this.#listening = null;
    this.#listensSince = Number.POSITIVE_INFINITY;
  }

  /** No notice was received until now, so every open page is notified once. */
  #catchUp(): void {
    this.#onMoved();
    this.#listensSince = Date.now();
    for (const stream of this.#streams) notify(stream);
  }

  #hasMissed(moving: ReadonlySet<string>, drawnAt: number): boolean {
    return (
      drawnAt < this.#listensSince ||
      [...moving].some((table) => (this.#notifiedAt.get(table) ?? 0) >= drawnAt)
    );
  }

  #notify(table: string): void {
    this.#onMoved();
    this.#notifiedAt.set(table, Date.now());
    for (const stream of this.#streams) if (stream.moving.has(table)) notify(stream);
  }
}

function notify(stream: Stream): void {
  stream.waiting ??= setTimeout(() => {
    stream.waiting = null;
    stream.reply.raw.write('event: moved\ndata: \n\n');
  }, debounceMs);
}

interface Reading {
  readonly story: Promise<unknown>;
  readonly read: () => Promise<unknown>;
  readonly keptMs: number;
  /** When the story was read, or last found unchanged. */
  at: number;
  /** The state of the warehouse before the story was read; null if that is not known. */
  readonly state: string | null;
  /** Whether the story becomes stale although no data changes. */
  readonly ages: boolean;
  requestedAt: number;
  /** Whether the story is being read again in the background. */
  isRefreshing: boolean;
}

interface CacheOptions {
  /** True if the viewer has just written data and must see it. */
  readonly isFresh: boolean;
  /** How old a story may be; a second if left out. */
  readonly keptMs: number | undefined;
  /** Whether the story becomes stale although no data in the warehouse changes. */
  readonly ages?: boolean;
}

const defaultKeptMs = 1_000;
/**
 * A story that is kept longer than usual may be shown at up to this many times that age. It is then
 * read again in the background.
 */
const staleFactor = 10;
const mostReadings = 500;
/** A story that a person opens once a week is still refreshed. */
const longestUnusedMs = 8 * 86_400_000;
const refreshLimit = 100;

/**
 * Reads a story once for all its viewers, so that fifty open pages cost the database no more than
 * one.
 */
export class SharedReads {
  readonly #readings = new Map<string, Reading>();
  readonly #now: () => number;
  #state: string | null = null;

  /** @param now - milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param key - equal for equal stories: the address and the accounts that the viewer may see */
  async read<Story>(
    key: string,
    read: () => Promise<Story>,
    {isFresh, keptMs = defaultKeptMs, ages = false}: CacheOptions,
  ): Promise<Story> {
    const reading = this.#readings.get(key);
    const ageMs = reading === undefined ? Number.POSITIVE_INFINITY : this.#now() - reading.at;
    if (
      reading === undefined ||
      isFresh ||
      ageMs >= keptMs * (keptMs > defaultKeptMs ? staleFactor : 1)
    )
      return (await this.#begin(key, read, {keptMs, ages}).story) as Story;
    reading.requestedAt = this.#now();
    if (ageMs >= keptMs && !reading.isRefreshing) void this.#refresh(key, reading);
    return (await reading.story) as Story;
  }

  /** Whether any held story is kept longer than usual. */
  keepsLong(): boolean {
    return [...this.#readings.values()].some(({keptMs}) => keptMs > defaultKeptMs);
  }

  /**
   * Refreshes the stories that are kept long, so that no person waits for them in the morning. If
   * the warehouse has not changed, a story stays valid without being read. Otherwise, stories that
   * are half as old as they may be are read again, one after another. A story that no person has
   * requested for eight days is dropped. So are all but the hundred that were requested last.
   * @param state - equal if no story can have changed
   * @param isOver - whether to end before the next story
   */
  async keepUp(state: string, isOver: () => boolean = () => false): Promise<void> {
    this.#state = state;
    const checkedAt = this.#now();
    const longKept = [...this.#readings]
      .filter(([, {keptMs}]) => keptMs > defaultKeptMs)
      .toSorted(([, one], [, other]) => other.requestedAt - one.requestedAt);
    for (const [rank, [key, reading]] of longKept.entries()) {
      if (isOver()) return;
      const now = this.#now();
      if (rank >= refreshLimit || now - reading.requestedAt > longestUnusedMs)
        this.#forget(key, reading);
      else if (reading.state === state && !reading.ages)
        reading.at = Math.max(reading.at, checkedAt);
      else if (!reading.isRefreshing && now - reading.at >= (reading.keptMs * staleFactor) / 2)
        await this.#refresh(key, reading);
    }
  }

  /**
   * Data has changed: a page that is notified of it must not get a story that was read before.
   * Stories that are kept longer stay.
   */
  forgetRecent(): void {
    for (const [key, {keptMs}] of this.#readings)
      if (keptMs <= defaultKeptMs) this.#readings.delete(key);
  }

  /** Drops every story, because no page may show some of the data again. */
  forgetAll(): void {
    this.#readings.clear();
  }

  #begin(
    key: string,
    read: () => Promise<unknown>,
    options: Pick<Reading, 'keptMs' | 'ages'>,
  ): Reading {
    const now = this.#now();
    const timestamps = {at: now, requestedAt: now, state: this.#state};
    const reading = {story: read(), read, ...options, ...timestamps, isRefreshing: false};
    // The story that was read longest ago is removed first.
    this.#readings.delete(key);
    this.#readings.set(key, reading);
    const [oldest] = this.#readings.keys();
    if (this.#readings.size > mostReadings && oldest !== undefined) this.#readings.delete(oldest);
    reading.story.catch(() => this.#forget(key, reading));
    return reading;
  }

  /**
   * Requests in the meantime get the story that is held. If it cannot be read again, the next
   * request tries again.
   */
  async #refresh(key: string, reading: Reading): Promise<void> {
    reading.isRefreshing = true;
    const [at, state] = [this.#now(), this.#state];
    try {
      const story = await reading.read();
      if (this.#readings.get(key) === reading)
        this.#readings.set(key, {
          ...reading,
          story: Promise.resolve(story),
          at,
          state,
          isRefreshing: false,
        });
    } catch {
      this.#forget(key, reading);
    }
  }

  #forget(key: string, reading: Reading): void {
    if (this.#readings.get(key) === reading) this.#readings.delete(key);
  }
}

/** Shorter than the age at which a story is read again; a story that stays valid never is. */
const refreshIntervalMs = 30_000;

/**
 * Refreshes the stories that are kept long, until it is stopped. While there are none, it sends no
 * query. If the warehouse cannot be reached, the stories become stale. The next person then waits
 * for a reading, or gets its error.
 * @param readState - equal if no story can have changed
 * @returns a function that stops it, after the reading in progress
 */
export function startRefreshing(
  readings: SharedReads,
  readState: () => Promise<string>,
): () => Promise<void> {
  let refreshInProgress = Promise.resolve();
  let isOver = false;
  const refresh = async () => {
    if (readings.keepsLong()) await readings.keepUp(await readState(), () => isOver);
  };
  const scheduleNext = () =>
    setTimeout(() => {
      refreshInProgress = refresh()
        .catch(() => {})
        .then(() => {
          if (!isOver) timer = scheduleNext();
        });
    }, refreshIntervalMs).unref();
  let timer = scheduleNext();
  return async () => {
    isOver = true;
    clearTimeout(timer);
    await refreshInProgress;
  };
}
