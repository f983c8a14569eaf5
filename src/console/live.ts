// Tells open pages that something moved. One session of Postgres listens for all of them, and only
// while one is open; a page then asks for itself again. A page that is hidden lets go of its
// stream.

import {once} from 'node:events';
import type {FastifyReply} from 'fastify';
import {errorNumbers} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {listen} from '../postgres/listen.ts';

const channel = 'fieldmirror_pages';
/** A burst of notices redraws a page once. */
const restMs = 500;
const keepAliveMs = 20_000;
/**
 * How often it is looked whether the people behind the streams are still signed in: one statement
 * for all of them.
 */
const signedInMs = 3_000;

interface Stream {
  readonly reply: FastifyReply;
  readonly moving: ReadonlySet<string>;
  /** Of the session that opened it. */
  readonly token: string;
  waiting: NodeJS.Timeout | null;
}

interface LiveOptions {
  readonly log: Logger;
  /** Told of each notice before any page is. */
  readonly onMoved: () => void;
  /** The tokens of those sessions that are not over. */
  readonly findSignedIn: (tokens: readonly string[]) => Promise<ReadonlySet<string>>;
}

export class Live {
  readonly #databaseUrl: string;
  readonly #log: Logger;
  readonly #onMoved: () => void;
  readonly #findSignedIn: LiveOptions['findSignedIn'];
  readonly #streams = new Set<Stream>();
  /** When each table was last told of, in milliseconds of this machine's clock. */
  readonly #toldAt = new Map<string, number>();
  #listening: AbortController | null = null;
  #checking: NodeJS.Timeout | undefined;
  /** Since when notices are heard; never, while no session listens. */
  #hearsSince = Number.POSITIVE_INFINITY;

  /**
   * @param databaseUrl - of sessions of our own: no pooler in between
   */
  constructor(databaseUrl: string, {log, onMoved, findSignedIn}: LiveOptions) {
    this.#databaseUrl = databaseUrl;
    this.#log = log;
    this.#onMoved = onMoved;
    this.#findSignedIn = findSignedIn;
  }

  /**
   * Keeps a stream of events open until its page goes away, or its session is over.
   * @param moving - names of tables
   * @param drawnAt - when the page was drawn: what moved since is told at once
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
    if (this.#hearsSince < Number.POSITIVE_INFINITY && this.#hasMissed(moving, drawnAt))
      notify(stream);
    const beat = setInterval(() => raw.write(': still here\n\n'), keepAliveMs);
    await once(raw, 'close');
    clearInterval(beat);
    if (stream.waiting !== null) clearTimeout(stream.waiting);
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#stop();
  }

  /** Ends every stream: the server stops. */
  close(): void {
    for (const {reply} of this.#streams) reply.raw.end();
    this.#stop();
  }

  #listen(): void {
    if (this.#listening !== null) return;
    this.#listening = new AbortController();
    this.#checking = setInterval(() => void this.#endSignedOut(), signedInMs);
    void listen(this.#databaseUrl, channel, {
      signal: this.#listening.signal,
      onNotice: (table) => this.#tell(table),
      onListening: () => this.#catchUp(),
      onFailure: (error) =>
        this.#log.warn(
          {reason: String(error), docs: errorNumbers.feed},
          'open pages are not notified of changes',
        ),
    });
  }

  /**
   * Ends the streams of sessions that are over: signed out, expired, or of a key that was revoked.
   */
  async #endSignedOut(): Promise<void> {
    const streams = [...this.#streams];
    try {
      const signedIn = await this.#findSignedIn([...new Set(streams.map(({token}) => token))]);
      for (const {reply, token} of streams) if (!signedIn.has(token)) reply.raw.end();
    } catch (error) {
      // A warehouse that is away shows nothing either; the next look decides.
      this.#log.debug({reason: String(error)}, 'open pages: sessions cannot be checked');
    }
  }

  #stop(): void {
    this.#listening?.abort();
    clearInterval(this.#checking);
    this.#listening = null;
    this.#hearsSince = Number.POSITIVE_INFINITY;
  }

  /** Nothing was heard until now: whatever is open looks once. */
  #catchUp(): void {
    this.#onMoved();
    this.#hearsSince = Date.now();
    for (const stream of this.#streams) notify(stream);
  }

  #hasMissed(moving: ReadonlySet<string>, drawnAt: number): boolean {
    return (
      drawnAt < this.#hearsSince ||
      [...moving].some((table) => (this.#toldAt.get(table) ?? 0) >= drawnAt)
    );
  }

  #tell(table: string): void {
    this.#onMoved();
    this.#toldAt.set(table, Date.now());
    for (const stream of this.#streams) if (stream.moving.has(table)) notify(stream);
  }
}

function notify(stream: Stream): void {
  stream.waiting ??= setTimeout(() => {
    stream.waiting = null;
    stream.reply.raw.write('event: moved\ndata: \n\n');
  }, restMs);
}

interface Reading {
  readonly story: Promise<unknown>;
  readonly read: () => Promise<unknown>;
  readonly keptMs: number;
  /** When it was read, or last found to be as it was read. */
  at: number;
  /** What the warehouse was like before it was read; null where that is not known. */
  readonly state: string | null;
  /** Whether it grows old although nothing moves. */
  readonly ages: boolean;
  askedAt: number;
  /** Whether it is being read anew behind the page. */
  isRefreshing: boolean;
}

interface CacheOptions {
  /** The reader has just written, and must see it. */
  readonly isFresh: boolean;
  /** How old a story may be; a second when it is left out. */
  readonly keptMs: number | undefined;
  /** Whether the story grows old although nothing in the warehouse moves. */
  readonly ages?: boolean;
}

const usualMs = 1_000;
/**
 * A story that is kept longer than usual is shown when it is older, too, up to so many times: then
 * it is read anew behind the page.
 */
const staleTimes = 10;
const mostReadings = 500;
/** A story that is looked at once a week is still kept up. */
const longestUnaskedMs = 8 * 86_400_000;
const mostKeptUp = 100;

/**
 * Reads a story once for all who look at it, so that fifty open pages cost the database no more
 * than one.
 */
export class SharedReads {
  readonly #readings = new Map<string, Reading>();
  readonly #now: () => number;
  #state: string | null = null;

  /** @param now - milliseconds of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param key - equal where the story is: the address and the accounts that the viewer may see */
  async read<Story>(
    key: string,
    read: () => Promise<Story>,
    {isFresh, keptMs = usualMs, ages = false}: CacheOptions,
  ): Promise<Story> {
    const held = this.#readings.get(key);
    const ageMs = held === undefined ? Number.POSITIVE_INFINITY : this.#now() - held.at;
    if (held === undefined || isFresh || ageMs >= keptMs * (keptMs > usualMs ? staleTimes : 1))
      return (await this.#begin(key, read, {keptMs, ages}).story) as Story;
    held.askedAt = this.#now();
    if (ageMs >= keptMs && !held.isRefreshing) void this.#refresh(key, held);
    return (await held.story) as Story;
  }

  /** Whether it holds a story that is kept longer than usual. */
  keepsLong(): boolean {
    return [...this.#readings.values()].some(({keptMs}) => keptMs > usualMs);
  }

  /**
   * Keeps up what is kept long, so that nobody waits for it in the morning: where the warehouse is
   * as it was, a story stays true without being read; else one that is half as old as it may be
   * is read anew, one after another. One that nobody asked for in eight days is let go, and
   * those but the hundred that were asked for last.
   * @param state - equal where no story can have changed
   * @param isOver - whether to end before the next one
   */
  async keepUp(state: string, isOver: () => boolean = () => false): Promise<void> {
    this.#state = state;
    const lookedAt = this.#now();
    const kept = [...this.#readings]
      .filter(([, {keptMs}]) => keptMs > usualMs)
      .toSorted(([, one], [, other]) => other.askedAt - one.askedAt);
    for (const [place, [key, held]] of kept.entries()) {
      if (isOver()) return;
      const now = this.#now();
      if (place >= mostKeptUp || now - held.askedAt > longestUnaskedMs) this.#forget(key, held);
      else if (held.state === state && !held.ages) held.at = Math.max(held.at, lookedAt);
      else if (!held.isRefreshing && now - held.at >= (held.keptMs * staleTimes) / 2)
        await this.#refresh(key, held);
    }
  }

  /**
   * Something moved: a page that is told of it must not be given what was read before. Stories that
   * are kept longer stay.
   */
  forgetRecent(): void {
    for (const [key, {keptMs}] of this.#readings) if (keptMs <= usualMs) this.#readings.delete(key);
  }

  /** Something must not be shown again, by any page. */
  forgetAll(): void {
    this.#readings.clear();
  }

  #begin(
    key: string,
    read: () => Promise<unknown>,
    kept: Pick<Reading, 'keptMs' | 'ages'>,
  ): Reading {
    const now = this.#now();
    const times = {at: now, askedAt: now, state: this.#state};
    const reading = {story: read(), read, ...kept, ...times, isRefreshing: false};
    // The one that was read longest ago goes first.
    this.#readings.delete(key);
    this.#readings.set(key, reading);
    const [oldest] = this.#readings.keys();
    if (this.#readings.size > mostReadings && oldest !== undefined) this.#readings.delete(oldest);
    reading.story.catch(() => this.#forget(key, reading));
    return reading;
  }

  /**
   * Whoever asks meanwhile gets the story that is held; where it cannot be read anew, the next one
   * asks again.
   */
  async #refresh(key: string, held: Reading): Promise<void> {
    held.isRefreshing = true;
    const [at, state] = [this.#now(), this.#state];
    try {
      const story = await held.read();
      if (this.#readings.get(key) === held)
        this.#readings.set(key, {
          ...held,
          ...{story: Promise.resolve(story), at, state, isRefreshing: false},
        });
    } catch {
      this.#forget(key, held);
    }
  }

  #forget(key: string, reading: Reading): void {
    if (this.#readings.get(key) === reading) this.#readings.delete(key);
  }
}

/** More often than a story grows old enough to be read anew: one that stays true never is. */
const keepUpMs = 30_000;

/**
 * Keeps up the stories that are kept long, until it is stopped; while there are none, nothing is
 * asked. Where the warehouse cannot be asked they grow old: the next person then waits for a
 * reading, or gets its error.
 * @param readState - equal where no story can have changed
 * @returns ends it, after what is being read
 */
export function startKeepingUp(
  readings: SharedReads,
  readState: () => Promise<string>,
): () => Promise<void> {
  let round = Promise.resolve();
  let isOver = false;
  const keepUp = async () => {
    if (readings.keepsLong()) await readings.keepUp(await readState(), () => isOver);
  };
  const next = () =>
    setTimeout(() => {
      round = keepUp()
        .catch(() => {})
        .then(() => {
          if (!isOver) timer = next();
        });
    }, keepUpMs).unref();
  let timer = next();
  return async () => {
    isOver = true;
    clearTimeout(timer);
    await round;
  };
}
