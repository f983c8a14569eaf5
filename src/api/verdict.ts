// The meaning of an answer's status for the caller. The two tables of this file, of reads and of
// writes, differ in one thing: after a write whose fate is not certain the caller may not simply
// try again.

import {AccessError, FatalError, RecordError, RetryableError} from '../core/errors.ts';
import type {ErrorWords} from './error-words.ts';
import type {ExchangeFailure} from './exchange.ts';
import type {Load} from './learned-concurrency.ts';

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  /**
   * The way in which the body is still packed, because it was recognised; empty where it is not.
   */
  readonly coding: string;
  readonly contentType: string | null;
  /** The `Date` header: the service's clock. */
  readonly dateHeader: string | null;
  readonly location: string | null;
  /** On the wire. */
  readonly bodyBytes: number;
  /** From the first byte asked to the last one got, without waiting for a turn. */
  readonly ms: number;
}

/**
 * The service answered, and knows no such record. An expected outcome, and evidence: its words are
 * kept.
 */
export interface Gone {
  readonly gone: true;
  readonly status: number;
  readonly words: string;
}

/** Tells "no such record" from the other results of a read. */
export function isGone(result: object): result is Gone {
  return 'gone' in result && result.gone === true;
}

/** A status and its words, with what an error needs to say. */
export interface Refusal {
  /** `GET /jobs/7.xml at app.example.com`, with the attempt. */
  readonly thing: string;
  readonly status: number;
  readonly words: ErrorWords;
  readonly retryAfterMs: number | null;
}

const TIME_OUT = /^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;

const UNKNOWN_RECORD =
  /^Invalid (?:customer|job|employee|task|(?:customer |job )?note|time[ _-]entry)\.$/i;

/**
 * True when the service says that there is no such record: 400 with its `Invalid job.`, or 404 or
 * 410. A page of HTML under these numbers is some proxy's, and proves nothing.
 * @see docs/service.md "Errors and headers"; docs/service.md "Deletes and identifiers";
 *   docs/traps.md "Absence"
 */
export function isUnknownRecord({status, words}: Pick<Refusal, 'status' | 'words'>): boolean {
  if (words.isHtml) return false;
  if (status === 404 || status === 410) return true;
  return status === 400 && words.isReadable && UNKNOWN_RECORD.test(words.text);
}

/**
 * The error for a read that was not answered with 200: its type says what to do next.
 * @param isProven - whether this address has given a good answer: a web page in its place then
 *   passes by itself
 */
export function toReadError(refusal: Refusal, isProven = true): Error {
  const {thing, status, words, retryAfterMs} = refusal;
  const got = `expected 200 and XML, got ${status} and ${words.text}`;
  if (status === 401 || status === 403) return toAccessError(refusal);
  if (status >= 300 && status < 400) {
    return new FatalError(
      `${thing}: ${got}; redirects are not followed: set the base address to where the service is`,
      {kind: 'address'},
    );
  }
  if (words.isHtml && (status < 300 || !isPassing(status))) return toPageError(refusal, isProven);
  if (isPassing(status))
    return new RetryableError(`${thing}: ${got}; try again later`, {retryAfterMs, kind: 'service'});
  return new RecordError(
    `${thing}: ${got}; the request itself is refused: check the base address and any proxy between, then ask who runs the service`,
    {kind: 'service'},
  );
}

/**
 * A gateway, a firewall or a sign-in page answers for the service; or the address was never the
 * API's.
 */
function toPageError({thing, status, retryAfterMs}: Refusal, isProven: boolean): Error {
  const isMissing = status === 404 || status === 410;
  const what = isMissing
    ? 'there is no such path at this host'
    : 'a web page is in the place of the API';
  const message = `${thing}: expected 200 and XML, got ${status} and an HTML page: ${what}`;
  const check = `check the base address (the API's host, and the path of the account) and whether a proxy or a sign-in page is in between`;
  if (isProven)
    return new RetryableError(`${message}; try again later, or ${check}`, {
      retryAfterMs,
      kind: 'service',
    });
  return new FatalError(`${message}; ${check}`, {kind: 'address'});
}

/**
 * The error for a write that the service definitely refused; null when the answer proves nothing
 * and the write is in doubt. A 503 counts where the service itself says why: a gateway's does not
 * know what became of the request.
 * @see docs/traps.md "Answers that were lost"
 */
export function toWriteError(refusal: Refusal): Error | null {
  const {thing, status, words, retryAfterMs} = refusal;
  if (status === 401 || (status === 403 && words.isReadable)) return toAccessError(refusal);
  const isReadable = words.isReadable && ((status >= 400 && status < 500) || status === 503);
  if (!isUnknownRecord(refusal) && !isReadable) return null;
  const got = `expected success, got ${status} (${words.text})`;
  if (status === 429 || status === 503)
    return new RetryableError(`${thing}: ${got}; nothing was written: send it later`, {
      retryAfterMs,
    });
  return new RecordError(`${thing}: ${got}; the service refused it and nothing was written`);
}

/** The load that an answer's status shows; 504 is a time-out that a gateway tells us of. */
export function loadOfStatus(status: number): Load {
  if (status === 429 || status === 503 || status === 504) return 'too-much';
  return status >= 200 && status < 300 ? 'in-time' : 'unknown';
}

/** The load that the lack of a whole answer shows: a time-out of any kind is too much. */
export function loadOfFailure({kind, code}: ExchangeFailure): Load {
  return kind === 'deadline' || TIME_OUT.test(code) ? 'too-much' : 'unknown';
}

// 408 and 425 are the server's "not now"; a success other than 200 on a read is no list we know.
function isPassing(status: number): boolean {
  return status < 300 || status >= 500 || status === 429 || status === 408 || status === 425;
}

function toAccessError({thing, status, words}: Refusal): FatalError {
  const got = `${thing}: expected access, got ${status} (${words.text})`;
  if (status !== 401)
    return new FatalError(`${got}; check what the employee of this token may do`, {kind: 'rights'});
  return new AccessError(
    `${got}; check the token and the base address (a changed password changes the token): until then nothing more is asked of this account`,
  );
}
