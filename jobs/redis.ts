// Redis as the place of the queue. It is checked once before BullMQ uses it: whether it answers,
// accepts writes, and keeps them. In a cluster each primary is checked. BullMQ then opens and
// closes its connections itself. Only for a cluster does it receive a client.

import {randomUUID} from 'node:crypto';
import type {ConnectionOptions} from 'bullmq';
import {Cluster, Redis} from 'ioredis';
import {FatalError} from '../src/core/errors.ts';
import {
  type ClusterAddress,
  parseRedisAddress,
  type RedisAddress,
  type RedisLogin,
  type RedisServer,
  type SentinelAddress,
} from '../src/core/redis-address.ts';

/** The prefix of our keys: the keys of one Redis may belong to several programs. */
export const prefix = 'fieldmirror';

/**
 * The prefix of our keys at an address. A script of BullMQ uses several keys at once. A cluster
 * permits that only if the braces mark them as keys that belong together.
 */
export function prefixAt({kind}: RedisAddress): string {
  return kind === 'cluster' ? `{${prefix}}` : prefix;
}

interface RedisInspection {
  /** The servers, their part and their version: `Redis 8.0.1 at db.example.com:6379`. */
  readonly reached: string;
  /** One sentence per problem, each with its fix. */
  readonly problems: readonly string[];
}

/** One server that was checked. */
interface ServerInspection {
  /** Null if the server refuses the query. */
  readonly version: string | null;
  readonly problems: readonly string[];
}

/**
 * Checks for settings that lose queue jobs: no append-only file, or an eviction policy.
 * @param url - a whole `REDIS_URL`
 * @throws {FatalError} the server for our keys cannot be reached, refuses access, or refuses writes
 */
export async function inspectRedis(url: string): Promise<RedisInspection> {
  const address = parseRedisAddress(url);
  if (address.kind === 'cluster') return await inspectCluster(address);
  if (address.kind === 'sentinel') return await inspectSentinels(address);
  const server = new URL(address.url);
  const database = Number(server.pathname.slice(1));
  server.pathname = '';
  const target = {server: server.href, place: server.host};
  const inspection = await inspectServer(target, database, prefix);
  return {
    reached: `${describeVersions([inspection])} at ${server.host}`,
    problems: inspection.problems,
  };
}

async function inspectSentinels(address: SentinelAddress): Promise<RedisInspection> {
  const {primary, sentinel} = await findSentinelPrimary(address);
  const bySentinel = `the primary of ${address.name} by sentinel ${nameServer(sentinel)}`;
  const place = `${nameServer(primary)} (${bySentinel})`;
  const server = {...primary, ...accessOptions(address.login, address.isTls)};
  const inspection = await inspectServer({server, place}, address.database, prefix);
  return {reached: `${describeVersions([inspection])} at ${place}`, problems: inspection.problems};
}

async function inspectCluster(address: ClusterAddress): Promise<RedisInspection> {
  const {ours, others} = await findClusterPrimaries(address);
  const targetOf = (primary: RedisServer): Target => ({
    server: {...primary, ...accessOptions(address.login, address.isTls)},
    place: `${nameServer(primary)} (a primary of the cluster)`,
  });
  const inspections = await Promise.all([
    inspectServer(targetOf(ours), 0, prefixAt(address)),
    ...others.map((primary) =>
      queryServer(targetOf(primary), (redis) => inspectSettings(redis, targetOf(primary))).catch(
        toProblem,
      ),
    ),
  ]);
  const names = [ours, ...others].map(nameServer);
  const cluster = `a cluster with ${names.length} primaries: ${names.join(', ')}`;
  return {
    reached: `${describeVersions(inspections)}, ${cluster}`,
    problems: inspections.flatMap(({problems}) => problems),
  };
}

/**
 * A failure of a primary that holds none of our keys is only a problem in the report, not a fatal
 * error.
 */
function toProblem(error: unknown): ServerInspection {
  if (error instanceof FatalError) return {version: null, problems: [error.message]};
  throw error;
}

/**
 * The code selects the database itself: if the client did it, a wrong number would be an unawaited
 * error.
 */
async function inspectServer(
  target: Target,
  database: number,
  keyPrefix: string,
): Promise<ServerInspection> {
  return await queryServer(target, async (redis) => {
    if (database !== 0) await redis.select(database);
    // Two keys at once, as in each script of BullMQ: a server of a cluster refuses keys of
    // different slots.
    await redis.exists(`${keyPrefix}:probe:1`, `${keyPrefix}:probe:2`);
    await redis.set(`${keyPrefix}:probe:${randomUUID()}`, '', 'PX', 1);
    return await inspectSettings(redis, target);
  });
}

async function inspectSettings(redis: Redis, {place}: Target): Promise<ServerInspection> {
  const [appendonly, policy, version] = await Promise.all([
    readSetting(redis, 'appendonly'),
    readSetting(redis, 'maxmemory-policy'),
    readVersion(redis),
  ]);
  const problems: string[] = [];
  if (appendonly === 'no') {
    problems.push(
      `redis ${place}: it has no append-only file, so a crash forgets its jobs; ` +
        'nothing is lost, but work is late: CONFIG SET appendonly yes, and CONFIG REWRITE',
    );
  }
  if (policy !== null && policy !== 'noeviction') {
    problems.push(
      `redis ${place}: maxmemory-policy is ${policy}, so locks can vanish: ` +
        'CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE',
    );
  }
  return {version, problems};
}

/** Null if the server refuses the command: managed services refuse CONFIG. */
async function readSetting(redis: Redis, name: string): Promise<string | null> {
  try {
    const answer = await redis.config('GET', name);
    if (Array.isArray(answer)) return String(answer[1] ?? '');
    return typeof answer === 'object' && answer !== null
      ? String(Object.values(answer)[0] ?? '')
      : null;
  } catch {
    return null;
  }
}

async function readVersion(redis: Redis): Promise<string | null> {
  try {
    return /^(?:redis|valkey)_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? null;
  } catch {
    return null;
  }
}

function describeVersions(inspections: readonly ServerInspection[]): string {
  const versions = new Set(inspections.flatMap(({version}) => (version === null ? [] : [version])));
  return ['Redis', [...versions].join(' and ')].filter((part) => part !== '').join(' ');
}

// Only the cluster, or the sentinels, know which servers accept writes. The answer of any one of
// them suffices.

/** The primaries of a cluster. */
interface ClusterPrimaries {
  /** The one that holds our keys. */
  readonly ours: RedisServer;
  readonly others: readonly RedisServer[];
}

/** A part of a cluster's answer: first and last slot, then its servers, the primary first. */
type SlotRange = readonly [
  first: number,
  last: number,
  ...servers: (readonly [host: string | null, port: number, ...rest: unknown[]])[],
];

/**
 * Requests the primaries from a cluster.
 * @throws {FatalError} none of the named servers answers as a part of a cluster
 */
async function findClusterPrimaries(address: ClusterAddress): Promise<ClusterPrimaries> {
  return await tryServers(address.servers, async (server) => {
    const options = {...server, ...accessOptions(address.login, address.isTls)};
    const target = {server: options, place: nameServer(server)};
    return await queryServer(target, async (redis) => {
      const ourSlot = Number(await redis.cluster('KEYSLOT', prefixAt(address)));
      return sortPrimaries(await redis.cluster('SLOTS'), ourSlot, server.host);
    });
  });
}

/** @param queriedHost - the host for servers that do not know their own address */
function sortPrimaries(
  ranges: readonly SlotRange[],
  ourSlot: number,
  queriedHost: string,
): ClusterPrimaries {
  const primaries = new Map<string, RedisServer>();
  let ours: RedisServer | undefined;
  for (const [first, last, server] of ranges) {
    if (server === undefined) continue;
    const [host, port] = server;
    const primary = {host: host || queriedHost, port};
    primaries.set(nameServer(primary), primary);
    if (first <= ourSlot && ourSlot <= last) ours = primary;
  }
  if (ours === undefined) throw new Error(`CLUSTERDOWN no server has slot ${ourSlot}`);
  primaries.delete(nameServer(ours));
  return {ours, others: [...primaries.values()]};
}

/**
 * Requests the present primary from the sentinels.
 * @throws {FatalError} none of them answers, or the one that does knows no such name
 */
async function findSentinelPrimary(
  address: SentinelAddress,
): Promise<{readonly primary: RedisServer; readonly sentinel: RedisServer}> {
  const {name, sentinelLogin, isTls} = address;
  return await tryServers(address.servers, async (sentinel) => {
    const options = {...sentinel, ...accessOptions(sentinelLogin, isTls), enableReadyCheck: false};
    const place = `${nameServer(sentinel)} (sentinel)`;
    return await queryServer({server: options, place, extraFixes: sentinelFixes}, async (redis) => {
      const answer = await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
      if (!Array.isArray(answer)) throw new Error(`no primary named ${name}`);
      const [host, port] = answer.map(String);
      return {primary: {host: host ?? '', port: Number(port)}, sentinel};
    });
  });
}

const sentinelFixes = [
  [
    /^(NOAUTH|WRONGPASS|ERR AUTH)/,
    'give the login of the sentinels at the end of REDIS_URL: ?sentinel_user=…&sentinel_password=…',
  ],
  [
    /^no primary named/,
    'fix the name behind the hosts in REDIS_URL, as in the sentinels: SENTINEL MASTERS',
  ],
] as const;

/** @throws the error of the last server, if all have failed */
async function tryServers<T>(
  servers: readonly RedisServer[],
  query: (server: RedisServer) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const server of servers) {
    try {
      return await query(server);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** The time limit for a connection, and for the answer to a command that does not wait for work. */
const connectTimeoutMs = 5_000;

/** The client's options for a login and for TLS. */
interface Access {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
}

/** One server, by its address or by the parts of it. */
interface Target {
  readonly server: string | (RedisServer & Access & {readonly enableReadyCheck?: boolean});
  /** The server and its part in the queue, for messages. */
  readonly place: string;
  readonly extraFixes?: Parameters<typeof explainRedisError>[2];
}

/**
 * Sends a query to one server over a separate connection, without retries.
 * @throws {FatalError} the server cannot be reached, does not answer, or refuses access
 */
async function queryServer<T>(target: Target, query: (redis: Redis) => Promise<T>): Promise<T> {
  const {server, place, extraFixes} = target;
  const options = {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    socketTimeout: connectTimeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  };
  const redis =
    typeof server === 'string' ? new Redis(server, options) : new Redis({...server, ...options});
  let broken: Error | undefined;
  // The cause of a broken connection comes as an event; the waiting call learns only that it is
  // closed.
  redis.on('error', (error: Error) => (broken ??= error));
  try {
    await redis.connect();
    return await query(redis);
  } catch (cause) {
    throw explainRedisError(broken ?? cause, place, extraFixes);
  } finally {
    redis.disconnect();
  }
}

function accessOptions(login: RedisLogin | null, isTls: boolean): Access {
  return {
    ...(login === null ? {} : {password: login.password.reveal()}),
    ...(login === null || login.user === null ? {} : {username: login.user}),
    ...(isTls ? {tls: {}} : {}),
  };
}

/** As in an address: `db.example.com:6379`, `[::1]:6379`. */
function nameServer({host, port}: RedisServer): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

type Fixes = readonly (readonly [RegExp, string])[];

/** Errors of Redis or the network, each with its next step. */
const fixes: Fixes = [
  [/^OOM/, 'it is full: raise its maxmemory (CONFIG SET maxmemory), or remove keys of others'],
  [/^READONLY/, 'it is a replica: point REDIS_URL at the primary'],
  [/^MISCONF/, 'it cannot save to its disk: make room there'],
  [/^(NOAUTH|WRONGPASS|ERR AUTH|ERR invalid password)/, 'fix the user and password in REDIS_URL'],
  [/^NOPERM/, `let its user write: ACL SETUSER … ~${prefix}:* ~{${prefix}}:* &* +@all`],
  [/DB index/, 'it has no such database: fix the number at the end of REDIS_URL'],
  [/^LOADING/, 'it is reading its data: start again when it is ready'],
  [/^(CROSSSLOT|MOVED)/, 'it is a server of a cluster: begin REDIS_URL with redis-cluster://'],
  [/cluster support disabled/, 'it is no cluster: begin REDIS_URL with redis://'],
  [
    /^CLUSTERDOWN/,
    'a part of the cluster has no primary: see redis-cli --cluster check, and bring it back',
  ],
  [
    /unknown command ['`](select|exists|cluster)/i,
    'it is a sentinel: begin REDIS_URL with redis-sentinel://, and end it with the name of the ' +
      'primary',
  ],
  [/unknown command ['`]sentinel/i, 'it is no sentinel: begin REDIS_URL with redis://'],
  [/ENOTFOUND|EAI_AGAIN/, 'no such host: fix REDIS_URL'],
  [
    /certificate required/,
    'it wants a certificate of its clients, and we have none: set its tls-auth-clients to no',
  ],
  [/self-signed|issuer|verify the first/, 'name the file of its authority in NODE_EXTRA_CA_CERTS'],
  [/altnames|certificate/, 'let its certificate name the host of REDIS_URL, and be valid now'],
  [/SSL|EPROTO/, 'it speaks no TLS: begin REDIS_URL with redis instead of rediss'],
  [/RESP type|Protocol error/, 'something else than a Redis listens there: fix REDIS_URL'],
  [
    /^Connection is closed|ECONNRESET/,
    'no Redis listens there, or one that takes TLS alone: fix REDIS_URL, ' +
      'or begin it with rediss instead of redis',
  ],
];

/**
 * Describes in one sentence what a Redis refused, and what to do.
 * @param place - the server and its part in the queue, without user and password
 * @param firstFixes - next steps that come before the usual ones
 */
function explainRedisError(cause: unknown, place: string, firstFixes: Fixes = []): FatalError {
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const nextStep =
    [...firstFixes, ...fixes].find(([pattern]) => pattern.test(reason))?.[1] ??
    'start it, fix REDIS_URL';
  return new FatalError(
    `redis ${place}: expected an answer, got "${reason}"; ${nextStep}, ` +
      'or unset REDIS_URL to keep the queue in Postgres',
    {cause: withoutCommand(cause), kind: 'queue'},
  );
}

/**
 * The client attaches the refused command to its error, and the command that logs in holds the
 * password.
 */
function withoutCommand(cause: unknown): unknown {
  return cause instanceof Error && 'command' in cause ? new Error(cause.message) : cause;
}

interface QueueConnection {
  readonly connection: ConnectionOptions;
  /** Closes the parts that BullMQ leaves open, once the part of the queue is closed. */
  close(): void;
}

/**
 * While Redis is out of reach, producers fail at once and the poller tries again; a worker waits
 * until Redis is back.
 */
const roleOptions = {
  producer: {enableOfflineQueue: false, maxRetriesPerRequest: 1},
  worker: {enableOfflineQueue: true, maxRetriesPerRequest: null},
} as const;

/**
 * A server that hangs closes no connection, and another one may have replaced it. After this time
 * without an answer the client connects again, to the present primary. A worker's wait for work
 * takes ten seconds at most.
 */
const answerTimeoutMs = 15_000;
const answerOptions = {connectTimeout: connectTimeoutMs, socketTimeout: answerTimeoutMs} as const;
/** A failover takes seconds, while BullMQ's own delays grow to twenty seconds. */
const reconnectMs = 1_000;

/** A connection for one part of the queue. */
export function connect(address: RedisAddress, role: keyof typeof roleOptions): QueueConnection {
  if (address.kind === 'cluster') return connectCluster(address, role);
  const connection =
    address.kind === 'single'
      ? {url: address.url, ...answerOptions, ...roleOptions[role]}
      : {...sentinelOptions(address), ...roleOptions[role]};
  return {connection, close: () => {}};
}

function sentinelOptions(address: SentinelAddress) {
  const {login, sentinelLogin, isTls} = address;
  return {
    sentinels: [...address.servers],
    name: address.name,
    db: address.database,
    ...accessOptions(login, isTls),
    ...(isTls ? {enableTLSForSentinelMode: true, sentinelTLS: {}} : {}),
    sentinelUsername: sentinelLogin?.user,
    sentinelPassword: sentinelLogin?.password.reveal(),
    sentinelCommandTimeout: connectTimeoutMs,
    ...answerOptions,
    retryStrategy: () => reconnectMs,
  };
}

function connectCluster(address: ClusterAddress, role: keyof typeof roleOptions): QueueConnection {
  const {enableOfflineQueue, maxRetriesPerRequest} = roleOptions[role];
  const cluster = new Cluster([...address.servers], {
    enableOfflineQueue,
    // While a part of the cluster is missing, a check for readiness fails, and the attempt to
    // connect never ends. A worker of BullMQ that waits for that attempt never takes work again.
    enableReadyCheck: false,
    // A certificate names the host, not its address.
    dnsLookup: (host, callback) => callback(null, host),
    redisOptions: {
      ...accessOptions(address.login, address.isTls),
      maxRetriesPerRequest,
      ...answerOptions,
    },
  });
  // BullMQ listens as long as its part is open.
  cluster.on('error', () => {});
  return {connection: cluster, close: () => cluster.disconnect()};
}
