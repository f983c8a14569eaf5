import {UsageError} from '../core/errors.ts';

const HINT = 'give it as https://HOST/ACCOUNT';

/**
 * Checks an account's base address. It may hold a path (`https://app.example.com/my-slug`): paths
 * are joined to it.
 * @param allowHttp - http to another machine shows the token to everyone between; only for a test
 *   network
 * @throws {UsageError} not a URL, another scheme, user info, a query or a fragment; it never
 *   repeats the address itself,
 *   which may hold a password
 * @see docs/traps.md "Addresses"; docs/service.md "Errors and headers"
 */
export function parseBaseUrl(
  text: string,
  {allowHttp = false}: {readonly allowHttp?: boolean} = {},
): URL {
  if (!URL.canParse(text)) throw refuse('a URL', 'something else');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw refuse('no user name or password in it', 'one; the token is given apart');
  }
  if (text.includes('#')) throw refuse('no fragment', 'one after "#"');
  if (text.includes('?')) throw refuse('no query', 'one after "?"');
  if (url.protocol === 'http:' && (allowHttp || isLoopback(url.hostname))) return url;
  if (url.protocol !== 'https:')
    throw refuse('https', `${url.protocol.slice(0, 20)}// to ${url.hostname}`);
  return url;
}

/** True for a host that is this machine whatever a name server says. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** The path of a request: the base's own path, the resource's after it, the query encoded. */
export function joinPath(
  base: URL,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(query).toString();
  return `${base.pathname.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`;
}

function refuse(expected: string, got: string): UsageError {
  return new UsageError(`the account's base address: expected ${expected}, got ${got}; ${HINT}`);
}
