// Addresses that requests may be sent to, and the paths below them. No account, receiver or
// subscriber can have an address of a network's own link, or one where clouds hand out the
// credentials of a machine. Private addresses are allowed, because an ERP has one.

import {lookup as ofSystem} from 'node:dns';
import {BlockList, isIP, type LookupFunction} from 'node:net';
import type {buildConnector} from 'undici';
import {RecordError, UsageError} from '../core/errors.ts';

const HINT = 'give it as https://HOST/ACCOUNT';

/**
 * Checks an account's base address. It may hold a path (`https://app.example.com/my-slug`): paths
 * are joined to it.
 * @param allowHttp - http to another machine shows the token to everyone between; only for a test
 *   network
 * @throws {UsageError} not a URL, another scheme, user info, a query or a fragment; it never
 *   repeats the address itself, which may hold a password
 * @see docs/traps.md "Addresses"; docs/service.md "Errors and headers"
 */
export function parseBaseUrl(
  text: string,
  {allowHttp = false}: {readonly allowHttp?: boolean} = {},
): URL {
  const problem = findBaseUrlProblem(text, allowHttp);
  if (problem !== null) throw new UsageError(`the account's base address: ${problem}`);
  return new URL(text);
}

/** Why `parseBaseUrl` refuses an address: `expected https, got …`; null if it is valid. */
export function findBaseUrlProblem(text: string, allowHttp: boolean): string | null {
  const describeProblem = (expected: string, got: string) =>
    `expected ${expected}, got ${got}; ${HINT}`;
  if (!URL.canParse(text)) return describeProblem('a URL', 'something else');
  const {username, password, protocol, hostname} = new URL(text);
  if (username !== '' || password !== '')
    return describeProblem('no user name or password in it', 'one; the token is given apart');
  if (text.includes('#')) return describeProblem('no fragment', 'one after "#"');
  if (text.includes('?')) return describeProblem('no query', 'one after "?"');
  if (protocol === 'https:' || (protocol === 'http:' && (allowHttp || isLoopback(hostname))))
    return null;
  return describeProblem('https', `${protocol.slice(0, 20)}// to ${hostname}`);
}

/** True for a host that is this machine whatever a name server answers. */
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

/**
 * Checks a number or id that becomes part of a path.
 * @throws {RecordError} not a positive whole number: it could lead to another path
 */
export function toPathPart(number: string): string {
  if (!/^[1-9]\d{0,18}$/.test(number))
    throw new RecordError('record number: expected a positive whole number, got something else');
  return number;
}

/** The error code for a name that must be this machine's and is not: `[ELOOPBACK]`. */
const loopbackCode = 'ELOOPBACK';

/**
 * Resolves names as `lookup` does, and accepts no answer but this machine. Plain http shows the
 * token to all on the way, and a name server, or an impostor in its place, may answer anything for
 * `localhost`.
 */
export function onlyThisMachine(lookup: LookupFunction = ofSystem): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const addresses = Array.isArray(address) ? address.map((entry) => entry.address) : [address];
      const foreignAddress = addresses.find((candidate) => !isThisMachine(candidate));
      if (error !== null || foreignAddress === undefined) callback(error, address, family);
      else
        callback(
          Object.assign(new Error(`${hostname} is ${foreignAddress}`), {code: loopbackCode}),
          address,
          family,
        );
    });
  };
}

function isThisMachine(address: string): boolean {
  const unmapped = address.replace(/^::ffff:/i, '');
  return isLoopback(unmapped.includes(':') ? `[${unmapped}]` : unmapped);
}

/** The error code for a refused address: `[ELINKLOCAL]`. */
const linkLocalCode = 'ELINKLOCAL';

const refusedAddresses = new BlockList();
refusedAddresses.addSubnet('169.254.0.0', 16, 'ipv4');
refusedAddresses.addSubnet('fe80::', 10, 'ipv6');
// Metadata addresses outside of the link-local ranges: Alibaba, Oracle, Azure; Amazon and Google by
// IPv6.
for (const address of ['100.100.100.200', '192.0.0.192', '168.63.129.16'])
  refusedAddresses.addAddress(address, 'ipv4');
refusedAddresses.addSubnet('fd00:ec2::', 32, 'ipv6');
refusedAddresses.addSubnet('fd20:ce::', 32, 'ipv6');

/**
 * Prefixes of IPv6 addresses that hold an IPv4 address, and the word at which that begins. Node
 * itself reads the one in `::ffff:0:0`.
 */
const embeddedRanges = [
  {prefix: '::', bits: 96, word: 6},
  {prefix: '::ffff:0:0:0', bits: 96, word: 6},
  {prefix: '64:ff9b::', bits: 96, word: 6},
  {prefix: '64:ff9b:1::', bits: 48, word: 6},
  {prefix: '2002::', bits: 16, word: 1},
].map(({prefix, bits, word}) => {
  const range = new BlockList();
  range.addSubnet(prefix, bits, 'ipv6');
  return {range, word};
});

/**
 * Whether connections to an address are refused, however it is written.
 * @param address - of IPv4 or IPv6
 */
export function isRefusedAddress(address: string): boolean {
  const [literal = ''] = address.split('%');
  if (isIP(literal) === 4) return refusedAddresses.check(literal, 'ipv4');
  if (isIP(literal) !== 6) return false;
  if (refusedAddresses.check(literal, 'ipv6')) return true;
  const matchingRanges = embeddedRanges.filter(({range}) => range.check(literal, 'ipv6'));
  return matchingRanges.some(({word}) => refusedAddresses.check(readIpv4(literal, word), 'ipv4'));
}

/**
 * Resolves names as `lookup` does; a name that leads to a refused address gets no connection at
 * all.
 */
export function refusingLookup(lookup: LookupFunction = ofSystem): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const addresses = Array.isArray(address) ? address.map((entry) => entry.address) : [address];
      if (error !== null || !addresses.some(isRefusedAddress)) callback(error, address, family);
      else callback(toRefusal(hostname), address, family);
    });
  };
}

/**
 * Wraps a connector so that it does not connect to a refused address: a literal address is not
 * resolved.
 */
export function makeRefusingConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    if (isRefusedAddress(host)) callback(toRefusal(host), null);
    else connect(options, callback);
  };
}

export function toRefusal(host: string): Error {
  return Object.assign(new Error(`${host} is an address of the link or of a cloud's metadata`), {
    code: linkLocalCode,
  });
}

/** Reads the IPv4 address in an IPv6 address, whose two words begin at `word`. */
function readIpv4(address: string, word: number): string {
  const [high = 0, low = 0] = readWords(address).slice(word);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** The eight words of an IPv6 address. In a URL, all of them are hexadecimal numbers. */
function readWords(address: string): number[] {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const readPart = (part: string) =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16));
  const [head = [], tail = []] = plain.split('::').map(readPart);
  const gap = 8 - head.length - tail.length;
  return [...head, ...Array.from({length: gap}, () => 0), ...tail];
}
