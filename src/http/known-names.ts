// The names by which a server may be asked. A page of another site can point a name of its own at
// this machine, and its visitor's browser would then read what is answered here (DNS rebinding).

import {isIP} from 'node:net';

/** Names that lead to this machine from itself. */
const ownNames = ['localhost', '127.0.0.1', '[::1]'];

export interface KnownNames {
  /** Whether a server goes by that name. */
  has(hostname: string): boolean;
  /**
   * Whether a request of a machine (/v1, /metrics, /livez, /readyz) was sent to somebody else: it
   * came to a server that listens on this machine alone, by a name of another. A server that is
   * open to others is asked by names that it does not know.
   */
  isMisdirected(hostname: string): boolean;
  /** Whether it listens on this machine alone. */
  readonly areOwn: boolean;
  /** Name and port of the address that people use; null where it is none of its own. */
  readonly publicHost: string | null;
}

/**
 * @param host - the address that it listens on
 * @param publicUrl - the address that people use; null where it is none of its own
 */
export function listKnownNames(host: string, publicUrl: URL | null): KnownNames {
  const given = isIP(host) === 6 ? `[${host}]` : host;
  const known = new Set([...ownNames, given, ...(publicUrl === null ? [] : [publicUrl.hostname])]);
  const areOwn = ownNames.includes(given) && publicUrl === null;
  return {
    has: (hostname) => known.has(hostname),
    isMisdirected: (hostname) => areOwn && !known.has(hostname),
    areOwn,
    publicHost: publicUrl?.host ?? null,
  };
}
