import {isLoopback} from '../api/addresses.ts';
import {UsageError} from '../core/errors.ts';

/**
 * Checks the address of a receiver. Whoever has it may write there: it is a secret as a whole, and
 * is never repeated.
 * @param allowsHttp - plain http to another machine shows it to everyone between
 * @throws {UsageError} no address, another scheme, a password in it
 */
export function parseTarget(text: string, allowsHttp: boolean): URL {
  if (!URL.canParse(text)) throw refuse('a URL', 'something else');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refuse('no user name or password in it', 'one');
  if (url.protocol === 'https:') return url;
  if (url.protocol === 'http:' && (allowsHttp || isLoopback(url.hostname))) return url;
  throw refuse('https', `${url.protocol.slice(0, 20)}// to ${url.hostname}`);
}

/** A server of e-mail. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; else it is asked for before anything is said, but on this machine. */
  readonly isSecure: boolean;
  readonly needsTls: boolean;
  readonly auth: {readonly user: string; readonly pass: string} | null;
  /** The sender's address. */
  readonly from: string | null;
}

/**
 * Reads `smtps://user:password@mail.example.com?from=alerts@example.com`, or `smtp://` for a server
 * that turns to TLS by STARTTLS.
 * @throws {UsageError} it is none; nothing of it is repeated
 */
export function parseSmtp(text: string, allowsHttp: boolean): SmtpServer {
  const expected = 'smtps://user:password@host?from=ADDRESS or smtp://…';
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`the server of e-mail: expected ${expected}, got something else`);
  const url = new URL(text);
  const isSecure = url.protocol === 'smtps:';
  const strange = [...url.searchParams.keys()].find((name) => name !== 'from');
  if (strange !== undefined || url.hostname === '')
    throw new UsageError(
      `the server of e-mail: expected ${expected}, got a part that is not of it`,
    );
  const user = decodeURIComponent(url.username);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (isSecure ? 465 : 587),
    isSecure,
    needsTls: !isSecure && !allowsHttp && !isLoopback(url.hostname),
    auth: user === '' ? null : {user, pass: decodeURIComponent(url.password)},
    from: url.searchParams.get('from') ?? (user.includes('@') ? user : null),
  };
}

function refuse(expected: string, got: string): UsageError {
  return new UsageError(
    `the receiver's address: expected ${expected}, got ${got}; give it as https://HOST/PATH, or with FIELDMIRROR_ALLOW_HTTP=1 as http`,
  );
}
