// Derives from an answer's status and message, or from the lack of an answer, what it means for the
// caller. Reads and writes differ in one thing: if the outcome of a write is uncertain, the caller
// may not simply try again.

import {AccessError, FatalError, RecordError, RetryableError} from '../core/errors.ts';
import type {Hide} from '../core/hide-secrets.ts';
import type {Load} from './concurrency.ts';
import type {BadCoding, ExchangeFailure} from './exchange.ts';
import {decodeText, NotText} from './xml-document.ts';

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  /** The coding that the body still has, because it was recognised; empty if it has none. */
  readonly coding: string;
  readonly contentType: string | null;
  /** The `Date` header: the service's clock. */
  readonly dateHeader: string | null;
  readonly location: string | null;
  /** On the wire. */
  readonly bodyBytes: number;
  /** From the start of the request to the last byte received, without waiting for a turn. */
  readonly ms: number;
}

/**
 * The service answered that it knows no such record. That is an expected outcome, and evidence: its
 * message is kept.
 */
export interface MissingRecord {
  readonly gone: true;
  readonly status: number;
  readonly message: string;
}

/** Distinguishes "no such record" from the other results of a read. */
export function isMissingRecord(result: object): result is MissingRecord {
  return 'gone' in result && result.gone === true;
}

/** A status and its message, with the other facts that an error message needs. */
export interface Refusal {
  /** `GET /jobs/7.xml at app.example.com`, with the attempt. */
  readonly thing: string;
  readonly status: number;
  readonly message: ErrorMessage;
  readonly retryAfterMs: number | null;
}

const TIME_OUT = /^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;

const UNKNOWN_RECORD =
  /^Invalid (?:customer|job|employee|task|(?:customer |job )?note|time[ _-]entry)\.$/i;

/**
 * True if the service reports that there is no such record: 400 with its `Invalid job.`, or 404 or
 * 410. An HTML page with one of these statuses comes from a proxy, and proves nothing.
 * @see docs/service.md "Errors and headers"; docs/service.md "Deletes and identifiers";
 *   docs/traps.md "Absence"
 */
export function isUnknownRecord({status, message}: Pick<Refusal, 'status' | 'message'>): boolean {
  if (message.isHtml) return false;
  if (status === 404 || status === 410) return true;
  return status === 400 && message.isReadable && UNKNOWN_RECORD.test(message.text);
}

/**
 * True if a report that there is no such record is about one that the path names, its parent
 * included. `Invalid employee.` in answer to a job or a time entry reports a wrong reference, and
 * proves nothing about the record itself.
 * @param path - of the request, below the base address: `/jobs/7/notes/9.xml`
 * @param missing.message - of a status for which `isUnknownRecord` is true
 * @see docs/service.md "Errors and headers"; docs/traps.md "Absence"
 */
export function isAboutPath(
  path: string,
  {status, message}: {readonly status: number; readonly message: string},
): boolean {
  if (status !== 400) return true;
  const kind = message
    .toLowerCase()
    .replace(/^invalid (?:(?:customer|job) (?=note))?|\.$/g, '')
    .replace(/[_-]/g, ' ');
  const pathKinds = path
    .replace(/\.xml$/, '')
    .split('/')
    .map((part) => part.replace(/ies$/, 'y').replace(/s$/, '').replace(/_/g, ' '));
  return pathKinds.includes(kind);
}

/**
 * Refuses a report about another kind of record as evidence.
 * @param thing - how the error names the request
 * @param path - of the request, below the base address
 * @param item - the kind of record that the path names
 * @throws {RetryableError} `isAboutPath` is false
 */
export function refuseOtherKind(
  {thing, path, item}: {readonly thing: string; readonly path: string; readonly item: string},
  {status, message}: MissingRecord,
): void {
  if (isAboutPath(path, {status, message})) return;
  throw new RetryableError(`${thing}: ${status} "${message}" is not about a ${item}`);
}

/**
 * The error for a read that was not answered with 200: its type decides what to do next.
 * @param isProven - whether this address has given a good answer: then a web page in its place is
 *   temporary
 */
export function toReadError(refusal: Refusal, isProven = true): Error {
  const {thing, status, message, retryAfterMs} = refusal;
  const text = `expected 200 and XML, got ${status} and ${message.text}`;
  if (status === 401 || status === 403) return toAccessError(refusal);
  if (status >= 300 && status < 400) {
    return new FatalError(
      `${thing}: ${text}; redirects are not followed: set the base address to where the service is`,
      {kind: 'address'},
    );
  }
  if (message.isHtml && (status < 300 || !isTemporary(status)))
    return toPageError(refusal, isProven);
  if (isTemporary(status))
    return new RetryableError(`${thing}: ${text}; try again later`, {
      retryAfterMs,
      kind: 'service',
    });
  return new RecordError(
    `${thing}: ${text}; the request itself is refused: check the base address and any proxy ` +
      'between, then ask who runs the service',
    {kind: 'service'},
  );
}

/**
 * The error for an HTML page: a gateway, a firewall or a sign-in page answers for the service, or
 * the address was never the API's.
 */
function toPageError({thing, status, retryAfterMs}: Refusal, isProven: boolean): Error {
  const isMissing = status === 404 || status === 410;
  const description = isMissing
    ? 'there is no such path at this host'
    : 'a web page is in the place of the API';
  const message = `${thing}: expected 200 and XML, got ${status} and an HTML page: ${description}`;
  const nextStep =
    `check the base address (the API's host, and the path of the account) and whether a proxy ` +
    'or a sign-in page is in between';
  if (isProven)
    return new RetryableError(`${message}; try again later, or ${nextStep}`, {
      retryAfterMs,
      kind: 'service',
    });
  return new FatalError(`${message}; ${nextStep}`, {kind: 'address'});
}

/**
 * The error for a write that the service definitely refused; null if the answer proves nothing and
 * the write is in doubt. A 503 counts if the service itself gives the reason: a gateway does not
 * know what became of the request.
 * @see docs/traps.md "Answers that were lost"
 */
function toWriteError(refusal: Refusal): Error | null {
  const {thing, status, message, retryAfterMs} = refusal;
  if (status === 401 || (status === 403 && message.isReadable)) return toAccessError(refusal);
  const isReadable = message.isReadable && ((status >= 400 && status < 500) || status === 503);
  if (!isUnknownRecord(refusal) && !isReadable) return null;
  const problem = `expected success, got ${status} (${message.text})`;
  if (status === 429 || status === 503)
    return new RetryableError(`${thing}: ${problem}; nothing was written: send it later`, {
      retryAfterMs,
    });
  return new RecordError(`${thing}: ${problem}; the service refused it and nothing was written`);
}

/** The load that an answer's status shows; 504 is a time-out that a gateway reports. */
export function assessStatus(status: number): Load {
  if (status === 429 || status === 503 || status === 504) return 'too-much';
  return status >= 200 && status < 300 ? 'in-time' : 'unknown';
}

/** The load that the lack of a whole answer shows: a time-out of any kind is `too-much`. */
export function assessFailure({kind, code}: ExchangeFailure): Load {
  return kind === 'deadline' || TIME_OUT.test(code) ? 'too-much' : 'unknown';
}

// 408 and 425 mean "not now"; a success other than 200 on a read is no list that this client knows.
function isTemporary(status: number): boolean {
  return status < 300 || status >= 500 || status === 429 || status === 408 || status === 425;
}

function toAccessError({thing, status, message}: Refusal): FatalError {
  const problem = `${thing}: expected access, got ${status} (${message.text})`;
  if (status !== 401)
    return new FatalError(`${problem}; check what the employee of this token may do`, {
      kind: 'rights',
    });
  return new AccessError(
    `${problem}; check the token and the base address (a changed password changes the token): ` +
      'until then nothing more is asked of this account',
  );
}

/**
 * The outcome of a write. `refused` and `not-sent` are certain: nothing was written. `in-doubt` is
 * uncertain: the caller finds out by reading, and never sends again blindly.
 * @see docs/traps.md "Answers that were lost"
 */
export type WriteOutcome =
  | {readonly outcome: 'done'; readonly answer: Answer}
  | Refused
  | {readonly outcome: 'not-sent'; readonly reason: string}
  | InDoubt;

export interface Refused {
  readonly outcome: 'refused';
  readonly status: number;
  readonly message: string;
  /** The service knows no such record. */
  readonly isGone: boolean;
  /**
   * Its type decides what to do next: RecordError; FatalError for 401 and 403; RetryableError for
   * 429 and 503.
   */
  readonly error: Error;
}

interface InDoubt {
  readonly outcome: 'in-doubt';
  readonly reason: string;
  readonly status: number | null;
  /** How long to wait before the next request, by the service's `Retry-After`. */
  readonly retryAfterMs: number | null;
}

/**
 * The outcome of a write that got an answer other than success.
 * @param path - of the request, below the base address
 */
export function judgeRefusal(refusal: Refusal, path: string): Refused | InDoubt {
  const {thing, status, message, retryAfterMs} = refusal;
  const error = toWriteError(refusal);
  if (error === null) {
    const reason =
      `${thing}: expected success, got ${status} (${message.text}), which does not say whether ` +
      'it was written';
    return {outcome: 'in-doubt', reason, status, retryAfterMs};
  }
  return {
    outcome: 'refused',
    status,
    message: message.text,
    isGone: isUnknownRecord(refusal) && isAboutPath(path, {status, message: message.text}),
    error,
  };
}

/**
 * The outcome of a write that got no whole answer.
 * @param requestName - the request, for the reason's text
 */
export function judgeFailure(requestName: string, failure: ExchangeFailure): WriteOutcome {
  const reason = `${requestName}: expected an answer, got ${describeFailure(failure)}`;
  return failure.isSent
    ? {outcome: 'in-doubt', reason, status: null, retryAfterMs: null}
    : {outcome: 'not-sent', reason};
}

const FAILURE_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused (is the service up, is the port right?)',
  ENOTFOUND: 'host name unknown (is the address spelled right?)',
  ELOOPBACK: 'a name that is not this machine, to which alone plain http is spoken',
  ELINKLOCAL: "an address of the network's own link or of a cloud's metadata, where no service is",
  EAI_AGAIN: 'host name not resolved for now',
  ENETUNREACH: 'network unreachable',
  EHOSTUNREACH: 'host unreachable',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_SOCKET: 'connection closed before the answer was whole',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'answer cut short',
  UND_ERR_HEADERS_OVERFLOW: 'more bytes of headers than the limit',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'answer stalled',
};

const CERTIFICATE =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|ERR_TLS_CERT|INVALID_CA|CRL_)/;
const TLS = /^(?:ERR_SSL|ERR_TLS|EPROTO)/;

/** A failure below HTTP in words, with the code that a search engine knows. */
export function describeFailure({kind, code}: ExchangeFailure): string {
  if (kind === 'deadline') return 'no whole answer before the deadline';
  if (kind === 'too-large') return 'a body larger than the limit';
  if (kind === 'too-many-headers') return 'more headers than the limit';
  if (kind === 'aborted') return 'aborted by us';
  if (kind === 'withheld') return 'withheld by us before its first byte';
  const text =
    FAILURE_TEXTS[code] ??
    (isCertificate(code) ? 'certificate not trusted' : TLS.test(code) ? 'TLS failed' : null);
  if (text !== null) return `${text} [${code}]`;
  return code.startsWith('HPE_')
    ? `an answer that is not HTTP [${code}]`
    : `no answer [${code || 'unknown'}]`;
}

/** How a connection fails if the server speaks no TLS. */
const noTlsCodes = [
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_RECORD_LAYER_FAILURE',
  'ERR_SSL_HTTP_REQUEST',
  'EPROTO',
];

/**
 * Failures that indicate a wrong address, if it has never given a good answer; each with what to
 * check.
 */
const ADDRESS_FAILURES: readonly (readonly [RegExp, string])[] = [
  [
    /^ENOTFOUND$/,
    "check that the address is spelled right, and that this machine's name server knows the host",
  ],
  [
    new RegExp(`^(?:${noTlsCodes.join('|')})$`),
    'what answers there does not speak TLS, as a server of plain http does not: check the ' +
      'port, and whether https is right',
  ],
  [
    /^HPE_/,
    'what answers there does not speak http, as a server of https does not: check the port, ' +
      'and whether http is right',
  ],
];

/**
 * The error for a read that got no whole answer.
 * @param requestName - the request and its attempt
 * @param isProven - whether this address has given a good answer: then its failures are temporary
 */
export function toFailureError(
  requestName: string,
  failure: ExchangeFailure,
  isProven = true,
): Error {
  const message = `${requestName}: expected an answer, got ${describeFailure(failure)}`;
  if (failure.kind === 'too-large')
    return new FatalError(`${message}; raise the limit if such an answer is right`, {
      kind: 'service',
    });
  if (failure.code === 'ELOOPBACK')
    return new FatalError(`${message}; nothing was sent: give the address with https`, {
      kind: 'address',
    });
  if (failure.code === 'ELINKLOCAL')
    return new FatalError(
      `${message}; nothing was sent: check the address, and what its name resolves to; ` +
        'FIELDMIRROR_ALLOW_LINK_LOCAL=1 allows it',
      {kind: 'address'},
    );
  if (isCertificate(failure.code))
    return new FatalError(`${message}; nothing was sent: check the address and its certificate`, {
      kind: 'address',
    });
  const nextStep = ADDRESS_FAILURES.find(([code]) => code.test(failure.code))?.[1];
  if (nextStep !== undefined && !isProven)
    return new FatalError(`${message}; ${nextStep}`, {kind: 'address'});
  const alternative = nextStep === undefined ? '' : `, or ${nextStep}`;
  return new RetryableError(`${message}; try again later${alternative}`, {kind: 'service'});
}

function isCertificate(code: string): boolean {
  return CERTIFICATE.test(code);
}

/** The error for an answer whose body cannot be decompressed. */
export function toCodingError(name: string, error: BadCoding): Error {
  const message = `${name}: expected a body that unpacks within the limits, got ${error.message}`;
  if (error.isTooLarge)
    return new FatalError(`${message}; raise the limits if such an answer is right`);
  if (error.isUnknown)
    return new FatalError(
      `${message}; only gzip was requested: a proxy before the service must leave that as it is`,
      {
        kind: 'service',
      },
    );
  return new RetryableError(`${message}; try again later`, {kind: 'service'});
}

/** The message in the body of a refusal. */
export interface ErrorMessage {
  /**
   * The service's message, at most 200 characters on one line; our own remark if there are none to
   * show.
   */
  readonly text: string;
  /** True for `<errors>`: only then is it certain that the answer is the service's own. */
  readonly isReadable: boolean;
  readonly isHtml: boolean;
}

const MAX_TEXT_LENGTH = 200;
const MAX_BODY_BYTES = 65_536;
// Applied to trimmed text only: two adjacent runs of blanks in a pattern take quadratic time.
const ERRORS = /^(?:<\?xml[^>]*\?>\s*)?<errors(?:\s[^>]*)?>([\s\S]*)<\/errors>$/;
const EMPTY_ERRORS = /^(?:<\?xml[^>]*\?>\s*)?<errors(?:\s[^>]*)?\/>$/;

/**
 * Reads the body of an answer that is no success, whatever it is: `<errors><error>`, plain text
 * labelled XML, an HTML page, nothing. Never throws.
 * @param hide - hides secrets in the message: an answer can repeat what was sent
 * @see docs/service.md "Errors and headers"
 */
export function readErrorMessage(
  body: Buffer,
  contentType: string | null,
  hide: Hide,
): ErrorMessage {
  const text = toText(body, contentType);
  const isPage = isHtml(text, contentType);
  const errorsText = isPage
    ? undefined
    : (ERRORS.exec(text)?.[1] ?? (EMPTY_ERRORS.test(text) ? '' : undefined));
  if (errorsText !== undefined)
    return {
      text: clean(readErrors(errorsText), hide) || 'no message',
      isReadable: true,
      isHtml: isPage,
    };
  if (isPage) return {text: 'an HTML page', isReadable: false, isHtml: isPage};
  if (text.includes('<')) return {text: 'an unknown document', isReadable: false, isHtml: isPage};
  return {text: clean(text, hide) || 'an empty body', isReadable: false, isHtml: isPage};
}

/** Whether an answer is an HTML page, by its content type or by how its text begins. */
export function isHtml(text: string, contentType: string | null): boolean {
  return (
    /^\s*text\/html/i.test(contentType ?? '') || /^\s*<(?:!doctype\s+html|html)[\s>]/i.test(text)
  );
}

function toText(body: Buffer, contentType: string | null): string {
  try {
    return decodeText(body.subarray(0, MAX_BODY_BYTES), contentType).trim();
  } catch (error) {
    if (error instanceof NotText) return '';
    throw error;
  }
}

function readErrors(inner: string): string {
  const matches = [...inner.matchAll(/<error(?:\s[^>]*)?>([^<]*)<\/error>/g)].slice(0, 20);
  return matches.map((match) => unescapeXml(match[1] ?? '')).join(' · ');
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#39;', "'"],
  ['&amp;', '&'],
]);

function unescapeXml(text: string): string {
  return text.replaceAll(
    /&(?:lt|gt|quot|apos|#39|amp);/g,
    (entity) => ENTITIES.get(entity) ?? entity,
  );
}

// Secrets are hidden before the cut, so that no half of one is left at the end.
function clean(text: string, hide: Hide): string {
  const line = hide(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_TEXT_LENGTH ? `${line.slice(0, MAX_TEXT_LENGTH - 1)}…` : line;
}
