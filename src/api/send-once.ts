// Makes one attempt of a request whose turn it is, measures its account by it, and reports it.

import type {Agent, Dispatcher} from 'undici';
import {inSpan} from '../core/span.ts';
import type {LearnedConcurrency, Load} from './concurrency.ts';
import {
  BadCoding,
  type BodyLimits,
  type CodedBody,
  decodeBody,
  type Exchange,
  ExchangeError,
  type ExchangeFailure,
  type ExchangeLimits,
  exchange,
  type Recognise,
  toCoded,
} from './exchange.ts';
import type {Limiter} from './limiter.ts';
import {type Answer, loadOfFailure, loadOfStatus, type WriteOutcome} from './verdict.ts';

/** An answer before it is judged. */
export type RawAnswer = Answer & {readonly retryAfter: string | undefined};

/** The parts that all attempts of one account share. */
export interface Shared {
  /** Without its port. */
  readonly host: string;
  readonly limits: ExchangeLimits & BodyLimits;
  readonly learned: LearnedConcurrency;
  /** Follows the learned concurrency. */
  readonly limiter: Limiter;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly observer?: RequestObserver | undefined;
}

interface Attempt {
  readonly agent: Agent;
  /** Requests of one kind take about the same time; see `kindOfCall`. */
  readonly kind: string;
  readonly signal?: AbortSignal | undefined;
  readonly onAttempt?: (() => void) | undefined;
  /** Called right before the first byte: false leaves it unsent. */
  readonly mayStart?: (() => boolean) | undefined;
  readonly recognise?: Recognise | undefined;
}

/** We withheld or aborted such a request ourselves: that shows nothing of the service. */
const ours: ReadonlySet<EndedRequest['result']> = new Set(['aborted', 'withheld']);

/**
 * Sends a request whose turn it is, once, and decompresses its answer if it is not recognised. The
 * concurrency is learned from how it ends, and `onAttempt` is called if it was sent.
 * @throws {ExchangeError | BadCoding}
 */
export async function sendOnce(
  shared: Shared,
  request: Dispatcher.DispatchOptions,
  attempt: Attempt,
): Promise<RawAnswer> {
  return await inSpan('request', attributesOf(shared, request), async (note) => {
    const answer = await send(shared, request, attempt);
    note({'http.response.status_code': answer.status, 'http.response.body.size': answer.bodyBytes});
    return answer;
  });
}

/** The query is left out: a filter may hold a value of a record. */
function attributesOf({host}: Shared, {path, method}: Dispatcher.DispatchOptions) {
  return {
    'http.request.method': method,
    'server.address': host,
    'url.path': path.replace(/\?.*$/s, ''),
  };
}

async function send(
  {limits, learned, limiter, now, observer}: Shared,
  request: Dispatcher.DispatchOptions,
  {agent, kind, signal, onAttempt, mayStart, recognise}: Attempt,
): Promise<RawAnswer> {
  const begun = learned.begin(now());
  let load: Load = 'unknown';
  let isSent = true;
  let ended: Pick<EndedRequest, 'result' | 'bodyBytes'> | null = null;
  try {
    const got = await exchange(agent, request, {...limits, signal, mayStart});
    ended = {result: got.status, bodyBytes: got.body.length};
    load = loadOfStatus(got.status);
    const came = toCoded(got.body, headerOf(got, 'content-encoding'));
    const isKnown = got.status === 200 && recognise?.(came) === true;
    const body = isKnown ? came : toCoded(await unpack(came, got.status, limits), undefined);
    return toAnswer(got, body, now() - begun.atMs);
  } catch (error) {
    if (error instanceof ExchangeError) {
      ended = {result: error.kind, bodyBytes: 0};
      load = loadOfFailure(error);
      isSent = error.isSent;
    }
    throw error;
  } finally {
    learned.end(begun, {load, kind}, now());
    const {concurrency} = learned;
    limiter.concurrency = concurrency;
    if (isSent) onAttempt?.();
    if (ended !== null && !ours.has(ended.result))
      observer?.ended({...ended, method: request.method, ms: now() - begun.atMs, concurrency});
  }
}

/**
 * Decompresses a body. If the status alone is enough, a body that cannot be decompressed counts as
 * empty.
 */
async function unpack(body: CodedBody, status: number, limits: BodyLimits): Promise<Buffer> {
  try {
    return await decodeBody(body, limits);
  } catch (error) {
    const saysAll =
      status === 401 ||
      status === 403 ||
      status === 429 ||
      status >= 500 ||
      (status >= 300 && status < 400);
    if (error instanceof BadCoding && saysAll) return Buffer.alloc(0);
    throw error;
  }
}

function toAnswer(got: Exchange, {bytes, coding}: CodedBody, ms: number): RawAnswer {
  return {
    status: got.status,
    body: bytes,
    coding,
    contentType: headerOf(got, 'content-type') ?? null,
    dateHeader: headerOf(got, 'date') ?? null,
    location: headerOf(got, 'location') ?? null,
    retryAfter: headerOf(got, 'retry-after'),
    bodyBytes: got.body.length,
    ms,
  };
}

function headerOf({headers}: Exchange, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** One request that has ended; of a read that is retried, each attempt is one. */
export interface EndedRequest {
  readonly method: string;
  /** Status of the answer, or why there is no whole one. */
  readonly result: number | ExchangeFailure['kind'];
  /** From the start of the request to the last byte received, without waiting for a turn. */
  readonly ms: number;
  /** Bytes of the answer's body on the wire. */
  readonly bodyBytes: number;
  /** How many requests at once the account is known to handle by now. */
  readonly concurrency: number;
}

/** Receives the requests of one account, in order to count them; it must not throw. */
export interface RequestObserver {
  /**
   * A request that was sent, or could not be; one that we withheld or aborted ourselves is not
   * reported.
   */
  ended(request: EndedRequest): void;
  /** A write whose turn had come, with its known outcome. */
  written(outcome: WriteOutcome['outcome']): void;
}

/** Receives the requests of every account, by the account's name. */
export type AccountObserver = {
  readonly [Event in keyof RequestObserver]: (
    account: string,
    ...event: Parameters<RequestObserver[Event]>
  ) => void;
};
