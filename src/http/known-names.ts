// The names by which a server may be asked. A page of another site can point a name of its own at
// this machine, and its visitor's browser would then read what is answered here (DNS rebinding).

import {isIP} from 'node:net';

/** Names that lead to this machine from itself. */
const ownNames = ['localhost', '127.0.0.1', '[::1]'];

/** What to do about a name that is not known. */
export const namingHint =
  'Set FIELDMIRROR_CONSOLE_URL to the address that people use, ' +
  'or FIELDMIRROR_HOST_NAMES to further names, and restart the server.';

export interface KnownNames {
  /** Whether a server is asked by that name: one rule for the console, /v1 and /metrics. */
  has(hostname: string): boolean;
  /**
   * Whether /livez and /readyz are answered by that name. Supervisors and load balancers use names
   * of their own, so that a server which is open to others answers these two by any name.
   */
  hasForProbe(hostname: string): boolean;
  /** Name and port of the address that people use; null where it is none of its own. */
  readonly publicHost: string | null;
}

interface Naming {
  /** The address that people use; null where it is none of its own. */
  readonly publicUrl: URL | null;
  /** Further names, such as those of a service in a cluster. */
  readonly hostNames: readonly string[];
}

/** @param host - the address that the server listens on */
export function listKnownNames(host: string, {publicUrl, hostNames}: Naming): KnownNames {
  const given = isIP(host) === 6 ? `[${host}]` : host;
  const listed = [...ownNames, given, ...hostNames, ...(publicUrl ? [publicUrl.hostname] : [])];
  const known = new Set(listed.map((name) => name.toLowerCase()));
  const isOpen = !ownNames.includes(given);
  // Rebinding takes a name: a browser reads an address as the address that it is. Other machines
  // ask an open server by an address of its own, which it need not know: that of a pod, say.
  const has = (hostname: string) =>
    known.has(hostname.toLowerCase()) || (isOpen && isAddress(hostname));
  return {
    has,
    hasForProbe: (hostname) => isOpen || publicUrl !== null || has(hostname),
    publicHost: publicUrl?.host ?? null,
  };
}

/** An address of IPv6 stands in brackets there. */
function isAddress(hostname: string): boolean {
  const [, inBrackets] = /^\[(.*)\]$/.exec(hostname) ?? [];
  return inBrackets === undefined ? isIP(hostname) === 4 : isIP(inBrackets) === 6;
}
