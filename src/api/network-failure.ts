import {FatalError, RetryableError} from '../core/errors.ts';
import type {BadCoding} from './decompress.ts';
import type {ExchangeFailure} from './exchange.ts';

const WORDS: Readonly<Record<string, string>> = {
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
  const words =
    WORDS[code] ??
    (isCertificate(code) ? 'certificate not trusted' : TLS.test(code) ? 'TLS failed' : null);
  if (words !== null) return `${words} [${code}]`;
  return code.startsWith('HPE_')
    ? `an answer that is not HTTP [${code}]`
    : `no answer [${code || 'unknown'}]`;
}

/**
 * Failures that tell of a wrong address, where it has never been a right one; each with what to
 * check.
 */
const OF_ADDRESS: readonly (readonly [RegExp, string])[] = [
  [
    /^ENOTFOUND$/,
    "check that the address is spelled right, and that this machine's name server knows the host",
  ],
  [
    /^(?:ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|HTTP_REQUEST)|EPROTO)$/,
    'what answers there does not speak TLS, as a server of plain http does not: check the port, and whether https is right',
  ],
  [
    /^HPE_/,
    'what answers there does not speak http, as a server of https does not: check the port, and whether http is right',
  ],
];

/**
 * The error for a read that got no whole answer.
 * @param thing - the request and its attempt
 * @param isProven - whether this address has given a good answer: its failures then pass by
 *   themselves
 */
export function toFailureError(thing: string, failure: ExchangeFailure, isProven = true): Error {
  const message = `${thing}: expected an answer, got ${describeFailure(failure)}`;
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
      `${message}; nothing was sent: check the address, and what its name resolves to; FIELDMIRROR_ALLOW_LINK_LOCAL=1 allows it`,
      {kind: 'address'},
    );
  if (isCertificate(failure.code))
    return new FatalError(`${message}; nothing was sent: check the address and its certificate`, {
      kind: 'address',
    });
  const check = OF_ADDRESS.find(([code]) => code.test(failure.code))?.[1];
  if (check !== undefined && !isProven)
    return new FatalError(`${message}; ${check}`, {kind: 'address'});
  const or = check === undefined ? '' : `, or ${check}`;
  return new RetryableError(`${message}; try again later${or}`, {kind: 'service'});
}

function isCertificate(code: string): boolean {
  return CERTIFICATE.test(code);
}

/** The error for an answer whose body cannot be unpacked. */
export function toCodingError(thing: string, error: BadCoding): Error {
  const message = `${thing}: expected a body that unpacks within the limits, got ${error.message}`;
  if (error.isTooLarge)
    return new FatalError(`${message}; raise the limits if such an answer is right`);
  if (error.isUnknown)
    return new FatalError(
      `${message}; gzip alone was asked for: a proxy before the service must leave that as it is`,
      {
        kind: 'service',
      },
    );
  return new RetryableError(`${message}; try again later`, {kind: 'service'});
}
