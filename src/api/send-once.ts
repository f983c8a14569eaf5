// Makes one attempt of a request whose turn it is, measures its account by it, and reports it.

import type {Agent, Dispatcher} from 'undici';
import {inSpan} from '../core/span.ts';
import type {LearnedConcurrency, Limiter, Load} from './concurrency.ts';
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
import {type Answer, assessFailure, assessStatus, type WriteOutcome} from './verdict.ts';

/** An answer before it is judged. */
export type RawAnswer = Answer & {readonly retryAfter: string | undefined};

/** The parts that all attempts of one account share. */
export interface AccountShared {
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
  /** Requests of one kind take about the same time; see `classifyRequest`. */
  readonly kind: string;
  readonly signal?: AbortSignal | undefined;
  readonly onAttempt?: (() => void) | undefined;
  /** Called right before the first byte: false leaves it unsent. */
  readonly mayStart?: (() => boolean) | undefined;
  readonly recognise?: Recognise | undefined;
}

/** We withheld or aborted such a request ourselves: that shows nothing of the service. */
const ownResults: ReadonlySet<EndedRequest['result']> = new Set(['aborted', 'withheld']);

/**
 * Sends a request whose turn it is, once, and decompresses its answer if it is not recognised. The
 * concurrency is learned from how it ends, and `onAttempt` is called if it was sent.
 * @throws {ExchangeError | BadCoding}
 */
export async function sendOnce(
  shared: AccountShared,
  request: Dispatcher.DispatchOptions,
  attempt: Attempt,
): Promise<RawAnswer> {
  return await inSpan('request', listAttributes(shared, request), async (addAttributes) => {
    const answer = await send(shared, request, attempt);
    addAttributes({
      'http.response.status_code': answer.status,
      'http.response.body.size': answer.bodyBytes,
    });
    return answer;
  });
}

/** The query is left out: a filter may hold a value of a record. */
function listAttributes({host}: AccountShared, {path, method}: Dispatcher.DispatchOptions) {
  return {
    'http.request.method': method,
    'server.address': host,
    'url.path': path.replace(/\?.*$/s, ''),
  };
}

async function send(
  {limits, learned, limiter, now, observer}: AccountShared,
  request: Dispatcher.DispatchOptions,
  {agent, kind, signal, onAttempt, mayStart, recognise}: Attempt,
): Promise<RawAnswer> {
  const call = learned.begin(now());
  let load: Load = 'unknown';
  let isSent = true;
  let outcome: Pick<EndedRequest, 'result' | 'bodyBytes'> | null = null;
  try {
    const response = await exchange(agent, request, {...limits, signal, mayStart});
    outcome = {result: response.status, bodyBytes: response.body.length};
    load = assessStatus(response.status);
    const codedBody = toCoded(response.body, readHeader(response, 'content-encoding'));
    const isRecognised = response.status === 200 && recognise?.(codedBody) === true;
    const body = isRecognised
      ? codedBody
      : toCoded(await unpack(codedBody, response.status, limits), undefined);
    return toAnswer(response, body, now() - call.atMs);
  } catch (error) {
    if (error instanceof ExchangeError) {
      outcome = {result: error.kind, bodyBytes: 0};
      load = assessFailure(error);
      isSent = error.isSent;
    }
    throw error;
  } finally {
    learned.end(call, {load, kind}, now());
    const {concurrency} = learned;
    limiter.concurrency = concurrency;
    if (isSent) onAttempt?.();
    if (outcome !== null && !ownResults.has(outcome.result))
      observer?.ended({...outcome, method: request.method, ms: now() - call.atMs, concurrency});
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
    const isStatusEnough =
      status === 401 ||
      status === 403 ||
      status === 429 ||
      status >= 500 ||
      (status >= 300 && status < 400);
    if (error instanceof BadCoding && isStatusEnough) return Buffer.alloc(0);
    throw error;
  }
}

function toAnswer(response: Exchange, {bytes, coding}: CodedBody, ms: number): RawAnswer {
  return {
    status: response.status,
    body: bytes,
    coding,
    contentType: readHeader(response, 'content-type') ?? null,
    dateHeader: readHeader(response, 'date') ?? null,
    location: readHeader(response, 'location') ?? null,
    retryAfter: readHeader(response, 'retry-after'),
    bodyBytes: response.body.length,
    ms,
  };
}

function readHeader({headers}: Exchange, name: string): string | undefined {
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
