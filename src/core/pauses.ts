// How long a worker waits: before a retry, and between the rounds of work that it does again and
// again beside other work. Before a retry there are exponential pauses with jitter, or the pause
// that a `Retry-After` header requests, if that is longer. Rounds have a heartbeat.

import {setTimeout as delay} from 'node:timers/promises';
import {RetryableError} from './errors.ts';

/** How pauses grow from one failure to the next. */
export interface BackOff {
  /** The longest first pause; each next one may be twice as long. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** The part of a pause that is not random: 1 for exact pauses. */
  readonly fixed?: number;
  /** 0 ≤ x < 1 */
  readonly random?: () => number;
}

/**
 * The pause after so many earlier failures: random in part, so that processes do not retry in step.
 */
export function backOffMs(
  failures: number,
  {firstMs, longestMs, fixed = 0.5, random = Math.random}: BackOff,
): number {
  const longest = Math.min(firstMs * 2 ** Math.min(failures, 20), longestMs);
  return Math.round(longest * (fixed + random() * (1 - fixed)));
}

/** The pause after an error: at least as long as the other side requested. */
export function pauseAfter(error: unknown, failures: number, backOff: BackOff): number {
  const requestedMs = error instanceof RetryableError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(requestedMs, backOffMs(failures, backOff));
}

/** Sleeps; if the signal is aborted, it ends at once with the signal's reason as its error. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

export interface RetryPolicy {
  /** Tries in all. */
  readonly attempts: number;
  /** The first pause is up to this long, each next up to twice as long. */
  readonly baseMs: number;
  /**
   * No pause here is longer. If a server requests more, its error is thrown, and the caller retries
   * much later.
   */
  readonly maxPauseMs: number;
  readonly sleep: Sleep;
  /** 0 ≤ x < 1 */
  readonly random: () => number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 4,
  baseMs: 500,
  maxPauseMs: 30_000,
  sleep: async (ms, signal) => {
    // Node's own error would only carry the reason as its cause.
    await delay(ms, undefined, {signal}).catch(() => signal?.throwIfAborted());
  },
  random: Math.random,
};

/**
 * Repeats a whole read while it fails with a `RetryableError`: after exponential pauses with full
 * jitter, or after the pause that `Retry-After` requests, if that is longer. Never used for writes.
 * @param run - gets the attempt's number, from 1
 * @throws the last attempt's error; at once any error of another kind, and one that requests more
 *   than `maxPauseMs`
 */
export async function retry<T>(
  run: (attempt: number) => Promise<T>,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(attempt);
    } catch (error) {
      if (!(error instanceof RetryableError) || attempt >= policy.attempts) throw error;
      const {baseMs: firstMs, maxPauseMs: longestMs, random} = policy;
      const pauseMs = pauseAfter(error, attempt - 1, {firstMs, longestMs, fixed: 0, random});
      if (pauseMs > policy.maxPauseMs) throw error;
      await policy.sleep(pauseMs, signal);
    }
  }
}

/** A longer wait that a server requests is cut to this: a week would be an outage that we cause. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * The wait that a `Retry-After` header requests, in milliseconds, at most `MAX_RETRY_AFTER_MS`.
 * @param header - seconds or an HTTP date
 * @param nowMs - the time against which a date is measured: that of the service, if its answer has
 *   it
 * @returns null if there is no header, or it is invalid
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  const at = readDate(text);
  if (at === null) return null;
  return Math.min(Math.max(at - nowMs, 0), MAX_RETRY_AFTER_MS);
}

/**
 * The moment of a `Date` header, in milliseconds since 1970; null if there is none, or it is
 * invalid.
 */
export function readDate(header: string | null): number | null {
  if (header === null || !/^[A-Z][a-z]+, /.test(header)) return null;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : at;
}

/** The state of one part of a worker; times are milliseconds before now. */
export interface PulseReading {
  /** Since its last good round; before the first one, since the part was made. */
  readonly goodAgoMs: number;
  /** Since the round in progress began; null if there is none. */
  readonly begunAgoMs: number | null;
  /** Why the last round failed; null after a good one. */
  readonly error: string | null;
}

/** The heartbeat of one part of a worker: its rounds are good, fail, or do not end. */
export class Pulse {
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number;
  #goodAt: number;
  #begunAt: number | null = null;
  #error: string | null = null;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.#goodAt = now();
  }

  /** Does one round, and notes how it ended. @throws the error of `work` */
  async round<T>(work: () => Promise<T>): Promise<T> {
    this.#begunAt = this.now();
    try {
      const result = await work();
      this.good();
      return result;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      this.#begunAt = null;
    }
  }

  /** Notes that the part does its work: a long round calls it after each step. */
  good(): void {
    this.#goodAt = this.now();
    this.#error = null;
  }

  read(): PulseReading {
    const now = this.now();
    return {
      goodAgoMs: now - this.#goodAt,
      begunAgoMs: this.#begunAt === null ? null : now - this.#begunAt,
      error: this.#error,
    };
  }
}

/** A reason that differs each time must fill neither the log nor the memory. */
const mostReasons = 100;

/**
 * The reasons for which repeated work has failed since it last succeeded: a log has each of them
 * once, however often the work is tried again.
 */
export class FailureReasons {
  readonly #known = new Set<string>();

  /** Notes a failure. @returns whether its reason is a new one */
  note(reason: string): boolean {
    // Ports and times differ from one failure to the next, so they do not make a new reason.
    const text = reason.replaceAll(/\d+/g, '0');
    if (this.#known.has(text) || this.#known.size >= mostReasons) return false;
    this.#known.add(text);
    return true;
  }

  /** The work has succeeded. */
  forget(): void {
    this.#known.clear();
  }
}

/** Work that is done again and again beside other work. */
interface RoundsPlan {
  /** The least time from the beginning of one round to that of the next one. */
  readonly everyMs: number;
  readonly pulse: Pulse;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Logs why a round failed, once for each reason; it is tried again. */
  readonly onFailure: (error: unknown) => void;
}

const stopMs = 3_000;

/**
 * The rounds of one part of a worker: never two at once, and the caller that begins one does not
 * wait for it.
 */
export class Rounds {
  readonly #plan: RoundsPlan;
  readonly #stopping = new AbortController();
  readonly #failures = new FailureReasons();
  #round: Promise<void> | null = null;
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(plan: RoundsPlan) {
    this.#plan = plan;
  }

  /**
   * Begins a round, unless one is in progress, one began less than `everyMs` ago, or the rounds
   * were stopped. It never throws, and does not wait.
   */
  begin(): void {
    const {everyMs, pulse, work, onFailure} = this.#plan;
    const {signal} = this.#stopping;
    if (this.#round !== null || signal.aborted || pulse.now() - this.#begunAt < everyMs) return;
    this.#begunAt = pulse.now();
    this.#round = pulse
      .round(() => work(signal))
      .then(() => this.#failures.forget())
      .catch((error: unknown) => {
        if (!signal.aborted && this.#failures.note(String(error))) onFailure(error);
      })
      .finally(() => {
        this.#round = null;
      });
  }

  /** Resolves when no round is in progress. */
  async settled(): Promise<void> {
    await this.#round;
  }

  /**
   * Aborts the round in progress, waits a few seconds at most for its end, and begins no other one.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.race([this.#round, delay(stopMs, undefined, {ref: false})]);
  }
}
