// Sends the requests of one account: reads in several attempts, writes once, each in its turn.

import type {Agent, Dispatcher} from 'undici';
import {AccessError, RetryableError, UsageError} from '../core/errors.ts';
import {type Hide, hideInError, makeHider} from '../core/hide-secrets.ts';
import {
  DEFAULT_RETRY,
  parseRetryAfter,
  type RetryPolicy,
  readDate,
  retry,
  type Sleep,
} from '../core/pauses.ts';
import {Secret} from '../core/secret.ts';
import {joinPath, onlyThisMachine, parseBaseUrl} from './addresses.ts';
import {
  type ConcurrencyBounds,
  classifyRequest,
  DEFAULT_CONCURRENCY,
  LearnedConcurrency,
  Limiter,
  type Urgency,
} from './concurrency.ts';
import {
  type AgentOptions,
  BadCoding,
  createAgents,
  ExchangeError,
  type Recognise,
} from './exchange.ts';
import {type AccountShared, type RawAnswer, type RequestObserver, sendOnce} from './send-once.ts';
import {
  type Answer,
  type ErrorMessage,
  isHtml,
  isUnknownRecord,
  judgeFailure,
  judgeRefusal,
  type MissingRecord,
  type Refusal,
  type Refused,
  readErrorMessage,
  toCodingError,
  toFailureError,
  toReadError,
  type WriteOutcome,
} from './verdict.ts';

export interface TransportOptions extends AgentOptions {
  /** The account's base address; may hold a path. */
  readonly baseUrl: string;
  readonly token: Secret;
  readonly allowHttp?: boolean;
  /**
   * False for an address that may never have been right: failures that indicate a wrong one are
   * then final.
   */
  readonly isProven?: boolean;
  /** Bounds of the requests at once, between which the account's own number is learned. */
  readonly concurrency?: Partial<ConcurrencyBounds>;
  readonly limits?: Partial<TransportLimits>;
  readonly retry?: Partial<RetryPolicy>;
  /**
   * Milliseconds since 1970, to compare the date of a `Retry-After` with if the answer has no date.
   */
  readonly now?: () => number;
  /** Milliseconds on a clock that never goes back, to measure answers and holds. */
  readonly clock?: () => number;
  readonly observer?: RequestObserver;
}

interface TransportLimits {
  /** For one whole request, from the name look-up to the last byte. */
  readonly timeoutMs: number;
  /** Bytes of a body on the wire, and after decompression. */
  readonly maxBodyBytes: number;
  readonly maxTextBytes: number;
  /** Decompressed bytes for each compressed one; checked beyond 1 MB only. */
  readonly maxRatio: number;
  readonly maxHeaders: number;
}

export const DEFAULT_TRANSPORT_LIMITS: TransportLimits = {
  timeoutMs: 60_000,
  maxBodyBytes: 20_000_000,
  maxTextBytes: 100_000_000,
  maxRatio: 100,
  maxHeaders: 200,
};

/** The options of a read, whatever it requests. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Its place among the requests that wait; `fresh` when absent. */
  readonly urgency?: Urgency | undefined;
  /** Called once for every attempt that was really sent, when it has ended. */
  readonly onAttempt?: (() => void) | undefined;
}

export interface ReadRequest extends ReadOptions {
  /** Relative to the base address: `/jobs.xml`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Called with a body of 200 as it came: one that it recognises is not decompressed. */
  readonly recognise?: Recognise | undefined;
}

export interface WriteRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** A document of the encoder; absent for DELETE. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Secrets in the body that no error may contain, even if the answer repeats them. */
  readonly hidden?: readonly Secret[] | undefined;
  /** Ends the wait for its turn, in the place of `signal`; a running request continues. */
  readonly leave?: AbortSignal | undefined;
  /** Called when its turn has come, before it is connected. */
  readonly onTurn?: () => Promise<void>;
  /**
   * Called right before its first byte, because it may have waited long by then: false leaves it
   * unsent.
   */
  readonly mayStart?: () => boolean;
}

export interface Transport {
  /** Host, port and base path, as errors name them. */
  readonly place: string;
  readonly limiter: Limiter;
  /**
   * Reads, in as many attempts as the policy allows.
   * @throws {RetryableError} 429, 5xx, a failing network, a deadline, a body that cannot be
   *   decompressed
   * @throws {AccessError} 401; from then on every read of this transport throws it at once, and
   *   nothing more is sent
   * @throws {FatalError} 403, a redirect, a certificate not trusted, a body beyond the caps
   * @throws {RecordError} any other 4xx; and the signal's own reason when it is aborted
   */
  read(request: ReadRequest): Promise<Answer | MissingRecord>;
  /**
   * Writes, once, before any read that waits. Its outcome at the network and the service is
   * returned, not thrown. After a 401 every write is `refused` with the same `AccessError`, unsent.
   */
  write(request: WriteRequest): Promise<WriteOutcome>;
  /** The message of an answer, without the token and other secrets that were sent. */
  readMessage(
    answer: Pick<Answer, 'body' | 'contentType'>,
    hidden?: readonly Secret[],
  ): ErrorMessage;
  /** A text made of an answer, without the token and other secrets that were sent. */
  hide(text: string, hidden?: readonly Secret[]): string;
  /** Cuts off the requests in progress and closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the connections to one account. No redirects, no HTTP/2, no cookies; errors carry neither
 * bodies nor the token.
 * @throws {UsageError} a base address or a token that cannot be right
 * @see docs/traps.md "The HTTP client"; docs/traps.md "Answers that were lost"
 */
export function createTransport(options: TransportOptions): Transport {
  return new HttpTransport(options);
}

class HttpTransport implements Transport {
  readonly place: string;
  readonly limiter: Limiter;
  readonly #base: URL;
  readonly #hideToken: Hide;
  readonly #authorization: Secret;
  readonly #retry: RetryPolicy;
  readonly #now: () => number;
  readonly #agents: {readonly reads: Agent; readonly writes: Agent};
  readonly #shared: AccountShared;
  /** Whether the address has given a good answer, now or before. */
  #isProven: boolean;
  /** The outcome of the first request that was answered with 401. */
  #refused: Refused | null = null;

  constructor(options: TransportOptions) {
    this.#base = parseBaseUrl(options.baseUrl, {allowHttp: options.allowHttp ?? false});
    this.#hideToken = makeHider([options.token]);
    this.#authorization = toAuthorization(options.token);
    this.#isProven = options.isProven ?? true;
    this.#retry = {...DEFAULT_RETRY, ...options.retry};
    this.#now = options.now ?? Date.now;
    const isLocal = this.#base.protocol === 'http:' && options.allowHttp !== true;
    this.#agents = createAgents(
      isLocal ? {...options, lookup: onlyThisMachine(options.lookup)} : options,
    );
    this.place = `${this.#base.host}${joinPath(this.#base, '')}`;
    const limits = {...DEFAULT_TRANSPORT_LIMITS, ...options.limits};
    const learned = new LearnedConcurrency({...DEFAULT_CONCURRENCY, ...options.concurrency});
    const {concurrency} = learned;
    const now = options.clock ?? (() => performance.now());
    this.limiter = new Limiter({concurrency, now, sleep: this.#retry.sleep});
    const {observer} = options;
    this.#shared = {
      host: this.#base.hostname,
      limits,
      learned,
      limiter: this.limiter,
      now,
      observer,
    };
  }

  async read(request: ReadRequest): Promise<Answer | MissingRecord> {
    const page = request.query?.page;
    const name = `GET ${request.path}${page === undefined ? '' : `?page=${page}`} at ${this.place}`;
    const runAttempt = (attempt: number) => {
      const requestName = `${name}, attempt ${attempt} of ${this.#retry.attempts}`;
      return this.limiter.run(() => this.#readOnce(request, requestName), request);
    };
    try {
      return await retry(runAttempt, {...this.#retry, sleep: this.#pause}, request.signal);
    } catch (error) {
      throw hideInError(error, this.#hideToken);
    }
  }

  async write({leave: waitSignal, ...request}: WriteRequest): Promise<WriteOutcome> {
    const requestName = `${request.method} ${request.path} at ${this.place}`;
    let isStarted = false;
    const runWrite = async () => {
      isStarted = true;
      await request.onTurn?.();
      return await this.#writeOnce(request, requestName);
    };
    try {
      const outcome = await this.limiter.run(runWrite, {
        urgency: 'write-back',
        signal: waitSignal ?? request.signal,
      });
      this.#shared.observer?.written(outcome.outcome);
      return outcome;
    } catch (error) {
      if (isStarted) throw error;
      const refused = this.#refused;
      if (refused !== null && error === refused.error) return refused;
      return {outcome: 'not-sent', reason: `${requestName}: aborted by us while it waited`};
    }
  }

  readMessage(
    {body, contentType}: Pick<Answer, 'body' | 'contentType'>,
    hidden: readonly Secret[] = [],
  ): ErrorMessage {
    return readErrorMessage(body, contentType, (text) => this.hide(text, hidden));
  }

  hide(text: string, hidden: readonly Secret[] = []): string {
    return makeHider(hidden)(this.#hideToken(text));
  }

  async close(): Promise<void> {
    this.limiter.stop(
      new RetryableError(`${this.place}: the way to it was closed by us; open it again`),
    );
    await Promise.all([this.#agents.reads.destroy(), this.#agents.writes.destroy()]);
  }

  // A read that pauses before its next try counts as waiting, too: a stop ends its pause at once.
  readonly #pause: Sleep = async (ms, signal) => {
    const {stopped} = this.limiter;
    await this.#retry.sleep(
      ms,
      signal === undefined ? stopped : AbortSignal.any([signal, stopped]),
    );
  };

  async #readOnce(request: ReadRequest, requestName: string): Promise<Answer | MissingRecord> {
    const options = this.#compose('GET', request.path, {query: request.query ?? {}});
    const kind = classifyRequest('GET', request.path, request.query);
    try {
      const answer = await sendOnce(this.#shared, options, {
        ...request,
        agent: this.#agents.reads,
        kind,
      });
      if (answer.status === 200 && !isPage(answer, this.#isProven)) {
        this.#isProven = true;
        return answer;
      }
      return this.#judge(this.#toRefusal(answer, requestName));
    } catch (error) {
      if (error instanceof BadCoding) throw toCodingError(requestName, error);
      if (!(error instanceof ExchangeError)) throw error;
      if (error.kind === 'aborted') request.signal?.throwIfAborted();
      throw toFailureError(requestName, error, this.#isProven);
    }
  }

  #judge(refusal: Refusal): MissingRecord {
    this.#heed(refusal);
    if (isUnknownRecord(refusal))
      return {gone: true, status: refusal.status, message: refusal.message.text};
    throw this.#latch(toReadError(refusal, this.#isProven), refusal);
  }

  async #writeOnce(request: WriteRequest, requestName: string): Promise<WriteOutcome> {
    const options = this.#compose(request.method, request.path, {body: request.body});
    try {
      const kind = classifyRequest(request.method, request.path);
      const attempt = {...request, agent: this.#agents.writes, kind};
      const answer = await sendOnce(this.#shared, options, attempt);
      if (answer.status >= 200 && answer.status < 300 && !isPage(answer, false))
        return {outcome: 'done', answer};
      const refusal = this.#toRefusal(answer, requestName, request.hidden);
      this.#heed(refusal);
      const outcome = judgeRefusal(refusal, request.path);
      if (outcome.outcome !== 'refused') return outcome;
      return {...outcome, error: this.#latch(outcome.error, refusal)};
    } catch (error) {
      if (error instanceof ExchangeError) return judgeFailure(requestName, error);
      if (!(error instanceof BadCoding)) throw error;
      return {
        outcome: 'in-doubt',
        reason: this.hide(
          `${requestName}: expected an answer, got ${error.message}`,
          request.hidden,
        ),
        status: null,
        retryAfterMs: null,
      };
    }
  }

  #heed({retryAfterMs}: Refusal): void {
    if (retryAfterMs !== null) this.limiter.hold(retryAfterMs);
  }

  /** Stops the account at its first 401; every later request gets the same error. */
  #latch(error: Error, {status, message}: Refusal): Error {
    if (!(error instanceof AccessError)) return error;
    this.#refused ??= {outcome: 'refused', status, message: message.text, isGone: false, error};
    this.limiter.stop(this.#refused.error);
    return this.#refused.error;
  }

  #compose(
    method: 'GET' | WriteRequest['method'],
    path: string,
    {
      query,
      body,
    }: {readonly query?: Readonly<Record<string, string>>; readonly body?: string | undefined},
  ): Dispatcher.DispatchOptions {
    const headers = {
      authorization: this.#authorization.reveal(),
      accept: 'application/xml',
      'accept-encoding': 'gzip',
      ...(body === undefined ? {} : {'content-type': 'application/xml; charset=utf-8'}),
    };
    return {
      origin: this.#base.origin,
      path: joinPath(this.#base, path, query),
      method,
      headers,
      body: body ?? null,
    };
  }

  #toRefusal(answer: RawAnswer, requestName: string, hidden?: readonly Secret[]): Refusal {
    const message = this.readMessage(answer, hidden);
    return {
      thing: requestName,
      status: answer.status,
      message,
      retryAfterMs: parseRetryAfter(answer.retryAfter, readDate(answer.dateHeader) ?? this.#now()),
    };
  }
}

// A captive portal answers everything with 200 and its own page, under any content type. If the
// address is right, the reader of the page finds that out, in its turn: the pages before it are
// kept.
function isPage({contentType, body, coding}: Answer, isProven: boolean): boolean {
  return isHtml(isProven || coding !== '' ? '' : body.toString('latin1', 0, 64), contentType);
}

/**
 * The `Authorization` header for a token: Basic, with the token as user and as password.
 * @throws {UsageError} a token that cannot be one: empty, with blanks, or with a colon, which would
 *   end the user name
 * @see docs/service.md "Authentication"
 */
function toAuthorization(token: Secret): Secret {
  if (!/^[!-9;-~]+$/.test(token.reveal())) {
    throw new UsageError(
      'the API token: expected visible ASCII characters without blanks or colons, ' +
        "got something else; copy it again from the employee's page",
    );
  }
  return new Secret(`Basic ${encodeToken(token)}`);
}

function encodeToken(token: Secret): string {
  return Buffer.from(`${token.reveal()}:${token.reveal()}`).toString('base64');
}
