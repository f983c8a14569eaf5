import type {Agent, Dispatcher} from 'undici';
import {FatalError, RetryableError} from '../errors.ts';
import type {Secret} from '../secret.ts';
import {type AgentOptions, createAgents} from './agents.ts';
import {formsOf, toAuthorization} from './authorization.ts';
import {joinPath, parseBaseUrl} from './base-url.ts';
import {BadCoding, decodeBody} from './decode-body.ts';
import {readErrorWords} from './error-words.ts';
import {type Exchange, ExchangeError, exchange} from './exchange.ts';
import {Limiter} from './limiter.ts';
import {toFailureError} from './network-failure.ts';
import {DEFAULT_RETRY, type RetryPolicy, retry} from './retry.ts';
import {parseRetryAfter} from './retry-after.ts';
import {type Answer, type Gone, isUnknownRecord, type Refusal, toReadError} from './verdict.ts';
import {judgeFailure, judgeRefusal, type WriteOutcome} from './write-outcome.ts';

export interface TransportOptions extends AgentOptions {
  /** The account's base address; may hold a path. */
  readonly baseUrl: string;
  readonly token: Secret;
  readonly allowHttp?: boolean;
  /** Requests at once. */
  readonly concurrency?: number;
  readonly limits?: Partial<TransportLimits>;
  readonly retry?: Partial<RetryPolicy>;
  /** Milliseconds since 1970, to measure the date of a `Retry-After` by. */
  readonly now?: () => number;
}

export interface TransportLimits {
  /** For one whole request, from the name look-up to the last byte. */
  readonly timeoutMs: number;
  /** Bytes of a body on the wire, and after unpacking. */
  readonly maxBodyBytes: number;
  readonly maxTextBytes: number;
  /** Unpacked bytes for each packed one; asked beyond 1 MB only. */
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

export interface ReadRequest {
  /** Relative to the base address: `/jobs.xml`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** A document of the encoder; absent for DELETE. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Transport {
  /** Host and port, as errors name them. */
  readonly host: string;
  readonly limiter: Limiter;
  /**
   * Reads, in as many attempts as the policy allows.
   * @throws {RetryableError} 429, 5xx, a failing network, a deadline, a body that does not unpack
   * @throws {FatalError} 401, 403, a redirect, a certificate not trusted, a body beyond the caps
   * @throws {RecordError} any other 4xx; and the signal's own reason when it is aborted
   */
  read(request: ReadRequest): Promise<Answer | Gone>;
  /** Writes, once. What the network and the service do to it is told, not thrown. */
  write(request: WriteRequest): Promise<WriteOutcome>;
  /** Cuts what is under way and closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the way to one account. No redirects, no HTTP/2, no cookies; errors carry neither bodies nor the token.
 * @throws {UsageError} a base address or a token that cannot be right
 * @see hazards 2.3, 3.3, 4.3, 4.4
 */
export function createTransport(options: TransportOptions): Transport {
  return new HttpTransport(options);
}

class HttpTransport implements Transport {
  readonly host: string;
  readonly limiter: Limiter;
  readonly #base: URL;
  readonly #token: Secret;
  readonly #authorization: Secret;
  readonly #limits: TransportLimits;
  readonly #retry: RetryPolicy;
  readonly #now: () => number;
  readonly #agents: {readonly reads: Agent; readonly writes: Agent};

  constructor(options: TransportOptions) {
    this.#base = parseBaseUrl(options.baseUrl, {allowHttp: options.allowHttp ?? false});
    this.#token = options.token;
    this.#authorization = toAuthorization(options.token);
    this.#limits = {...DEFAULT_TRANSPORT_LIMITS, ...options.limits};
    this.#retry = {...DEFAULT_RETRY, ...options.retry};
    this.#now = options.now ?? Date.now;
    this.#agents = createAgents(options);
    this.host = this.#base.host;
    const {sleep} = this.#retry;
    this.limiter = new Limiter({concurrency: options.concurrency ?? 4, now: () => performance.now(), sleep});
  }

  async read(request: ReadRequest): Promise<Answer | Gone> {
    const page = request.query?.page;
    const name = `GET ${request.path}${page === undefined ? '' : `?page=${page}`} at ${this.host}`;
    const run = (attempt: number) => {
      const thing = `${name}, attempt ${attempt} of ${this.#retry.attempts}`;
      return this.limiter.run(() => this.#readOnce(request, thing), request.signal);
    };
    return await retry(run, this.#retry, request.signal);
  }

  async write(request: WriteRequest): Promise<WriteOutcome> {
    const thing = `${request.method} ${request.path} at ${this.host}`;
    try {
      return await this.limiter.run(() => this.#writeOnce(request, thing), request.signal);
    } catch (error) {
      if (request.signal?.aborted !== true) throw error;
      return {outcome: 'not-sent', reason: `${thing}: aborted by us while it waited`};
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#agents.reads.destroy(), this.#agents.writes.destroy()]);
  }

  async #readOnce(request: ReadRequest, thing: string): Promise<Answer | Gone> {
    const options = this.#compose('GET', request.path, {query: request.query ?? {}});
    try {
      const answer = await this.#exchange(this.#agents.reads, options, request.signal);
      if (answer.status === 200 && !isHtml(answer)) return answer;
      return this.#judge(this.#toRefusal(answer, thing));
    } catch (error) {
      if (error instanceof BadCoding) throw toCodingError(thing, error);
      if (!(error instanceof ExchangeError)) throw error;
      if (error.kind === 'aborted') request.signal?.throwIfAborted();
      throw toFailureError(thing, error);
    }
  }

  #judge(refusal: Refusal): Gone {
    if (refusal.retryAfterMs !== null)
      this.limiter.hold(Math.min(refusal.retryAfterMs, this.#retry.maxPauseMs));
    if (!isUnknownRecord(refusal)) throw toReadError(refusal);
    return {gone: true, status: refusal.status, words: refusal.words.text};
  }

  async #writeOnce(request: WriteRequest, thing: string): Promise<WriteOutcome> {
    const options = this.#compose(request.method, request.path, {body: request.body});
    try {
      const answer = await this.#exchange(this.#agents.writes, options, request.signal);
      if (answer.status >= 200 && answer.status < 300 && !isHtml(answer)) return {outcome: 'done', answer};
      const refusal = this.#toRefusal(answer, thing);
      if (refusal.retryAfterMs !== null)
        this.limiter.hold(Math.min(refusal.retryAfterMs, this.#retry.maxPauseMs));
      return judgeRefusal(refusal);
    } catch (error) {
      if (error instanceof ExchangeError) return judgeFailure(thing, error);
      if (!(error instanceof BadCoding)) throw error;
      return {
        outcome: 'in-doubt',
        reason: `${thing}: expected an answer, got ${error.message}`,
        status: null,
      };
    }
  }

  #compose(
    method: 'GET' | WriteRequest['method'],
    path: string,
    {query, body}: {readonly query?: Readonly<Record<string, string>>; readonly body?: string | undefined},
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

  async #exchange(
    agent: Agent,
    options: Dispatcher.DispatchOptions,
    signal?: AbortSignal,
  ): Promise<Answer & {retryAfter: string | undefined}> {
    const startedAt = performance.now();
    const got = await exchange(agent, options, {...this.#limits, signal});
    const body = await decodeBody(got.body, headerOf(got, 'content-encoding') ?? '', this.#limits);
    return {
      status: got.status,
      body,
      contentType: headerOf(got, 'content-type') ?? null,
      dateHeader: headerOf(got, 'date') ?? null,
      location: headerOf(got, 'location') ?? null,
      retryAfter: headerOf(got, 'retry-after'),
      bodyBytes: got.body.length,
      ms: performance.now() - startedAt,
    };
  }

  #toRefusal(answer: Answer & {retryAfter: string | undefined}, thing: string): Refusal {
    const words = readErrorWords(answer.body, answer.contentType, formsOf(this.#token));
    return {
      thing,
      status: answer.status,
      words,
      retryAfterMs: parseRetryAfter(answer.retryAfter, this.#now()),
    };
  }
}

function headerOf({headers}: Exchange, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

// A captive portal answers everything with 200 and its own page.
function isHtml({contentType}: Answer): boolean {
  return /^text\/html/i.test(contentType ?? '');
}

function toCodingError(thing: string, error: BadCoding): Error {
  const message = `${thing}: expected a body that unpacks within the limits, got ${error.message}`;
  if (error.isTooLarge) return new FatalError(`${message}; raise the limits if such an answer is right`);
  return new RetryableError(`${message}; try again later`);
}
