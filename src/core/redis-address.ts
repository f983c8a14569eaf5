// The address of the queue's Redis: one server, a cluster, or servers that sentinels watch.

import {UsageError} from './errors.ts';
import {Secret} from './secret.ts';

export interface RedisServer {
  /** A name or an IP address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  /** Null means: the default user. */
  readonly user: string | null;
  readonly password: Secret;
}

/** Some servers of a cluster; they name the others. */
export interface ClusterAddress {
  readonly kind: 'cluster';
  readonly servers: readonly RedisServer[];
  readonly login: RedisLogin | null;
  readonly isTls: boolean;
}

/** Some sentinels, which name the current primary. */
export interface SentinelAddress {
  readonly kind: 'sentinel';
  readonly servers: readonly RedisServer[];
  /** The login at the primary. */
  readonly login: RedisLogin | null;
  /** The login at the sentinels, which have separate users. */
  readonly sentinelLogin: RedisLogin | null;
  readonly isTls: boolean;
  /** The name that the sentinels have for the primary and its replicas. */
  readonly name: string;
  readonly database: number;
}

/** The Redis client itself parses the address of a single server. */
export type RedisAddress =
  | {readonly kind: 'single'; readonly url: string}
  | ClusterAddress
  | SentinelAddress;

/** The parts of the address of several servers, as text. */
interface Parts {
  readonly isTls: boolean;
  readonly user: string;
  readonly servers: string;
  readonly path: string;
  readonly query: string;
}

const defaultPorts = {cluster: 6379, sentinel: 26379} as const;
const encoding = 'special characters of the password as %40';
const forms = {
  single: `redis://user:password@host:port/number, ${encoding}`,
  cluster: `redis-cluster://user:password@host:port,host:port without a number, ${encoding}`,
  sentinel: `redis-sentinel://user:password@host:port,host:port/NAME or /NAME/number, ${encoding}`,
} as const;

/**
 * Reads an address; `rediss`, `rediss-cluster` and `rediss-sentinel` mean the same with TLS.
 * @throws {UsageError} what was expected; without the text, which may hold a password
 */
export function parseRedisAddress(text: string): RedisAddress {
  if (/^rediss?:\/\//.test(text)) return readSingle(text);
  if (/^rediss?-cluster:\/\//.test(text)) return readCluster(text);
  if (/^rediss?-sentinel:\/\//.test(text)) return readSentinel(text);
  throw new UsageError(
    'expected an address that begins with redis://, redis-cluster:// or redis-sentinel://, or ' +
      'with rediss for TLS',
  );
}

/**
 * Checks the address: otherwise only the client would find it invalid, with an error that names no
 * setting.
 */
function readSingle(url: string): RedisAddress {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isWhole =
    parsed !== null &&
    parsed.hostname !== '' &&
    decode(parsed.username + parsed.password) !== null &&
    /^\/?$|^\/\d+$/.test(parsed.pathname);
  if (!isWhole) throw makeFormatError('single');
  return {kind: 'single', url};
}

function readCluster(text: string): ClusterAddress {
  const {isTls, user, servers, path, query} = readParts(text, 'cluster');
  if (path !== '' || query !== '') throw makeFormatError('cluster');
  const login = readLogin(user, 'cluster');
  return {kind: 'cluster', servers: readServers(servers, 'cluster'), login, isTls};
}

function readSentinel(text: string): SentinelAddress {
  const {isTls, user, servers, path, query} = readParts(text, 'sentinel');
  const [, encodedName = '', number = '0'] = /^([^/]+)(?:\/(\d+))?$/.exec(path) ?? [];
  const name = decode(encodedName);
  if (name === null || name === '') throw makeFormatError('sentinel');
  return {
    kind: 'sentinel',
    servers: readServers(servers, 'sentinel'),
    login: readLogin(user, 'sentinel'),
    sentinelLogin: readSentinelLogin(query),
    isTls,
    name,
    database: Number(number),
  };
}

/** Does not use `URL`, which does not know lists of hosts. */
function readParts(text: string, kind: keyof typeof forms): Parts {
  const parts = /^(rediss?)-\w+:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(
    text,
  );
  if (parts === null) throw makeFormatError(kind);
  const [, scheme, user = '', servers = '', path = '', query = ''] = parts;
  return {isTls: scheme === 'rediss', user, servers, path, query};
}

function readServers(list: string, kind: keyof typeof defaultPorts): RedisServer[] {
  return list.split(',').map((text) => {
    const [, bracketed, plain, port] =
      /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+))(?::(\d+))?$/i.exec(text) ?? [];
    const host = bracketed ?? plain;
    const server = {host: host ?? '', port: port === undefined ? defaultPorts[kind] : Number(port)};
    if (host === undefined || server.port < 1 || server.port > 65_535) throw makeFormatError(kind);
    return server;
  });
}

function readLogin(text: string, kind: keyof typeof forms): RedisLogin | null {
  if (text === '') return null;
  const [, user, password] = /^([^:]*):(.+)$/.exec(text)?.map(decode) ?? [];
  if (typeof user !== 'string' || typeof password !== 'string') throw makeFormatError(kind);
  return {user: user === '' ? null : user, password: new Secret(password)};
}

function readSentinelLogin(query: string): RedisLogin | null {
  if (query === '') return null;
  const options = new URLSearchParams(query);
  const user = options.get('sentinel_user');
  const password = options.get('sentinel_password');
  const knownOptions = ['sentinel_user', 'sentinel_password'];
  if (password === null || ![...options.keys()].every((name) => knownOptions.includes(name)))
    throw new UsageError(
      'expected behind the ? nothing but the login of the sentinels: ' +
        'sentinel_user=user&sentinel_password=password, or the password alone',
    );
  return {user, password: new Secret(password)};
}

/** @returns null if the text is not encoded as in an address */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function makeFormatError(kind: keyof typeof forms): UsageError {
  return new UsageError(`expected ${forms[kind]}`);
}
