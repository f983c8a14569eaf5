// A Redis is asked once before BullMQ sees it: whether it answers, takes writes, and keeps them. Of
// a cluster each primary is asked.

import {randomUUID} from 'node:crypto';
import type {Redis} from 'ioredis';
import {FatalError} from '../src/core/errors.ts';
import {
  type ClusterAddress,
  parseRedisAddress,
  type RedisServer,
  type SentinelAddress,
} from '../src/core/redis-address.ts';
import {accessOptions, askOnce, nameServer, type Target} from './redis-ask-once.ts';
import {prefix, prefixAt} from './redis-prefix.ts';
import {findClusterPrimaries, findSentinelPrimary} from './redis-primaries.ts';

export interface RedisFound {
  /** The servers, their part and their version: `Redis 8.0.1 at db.example.com:6379`. */
  readonly reached: string;
  /** One sentence a problem, each with its mend. */
  readonly problems: readonly string[];
}

/** One server that was asked. */
interface ServerFound {
  /** Null where we may not ask. */
  readonly version: string | null;
  readonly problems: readonly string[];
}

/**
 * Asks for settings that lose queue jobs: no append-only file, or an eviction policy.
 * @param url - a whole `REDIS_URL`
 * @throws {FatalError} the server that would hold our keys cannot be reached, refuses us, or takes
 *   nothing
 */
export async function inspectRedis(url: string): Promise<RedisFound> {
  const address = parseRedisAddress(url);
  if (address.kind === 'cluster') return await inspectCluster(address);
  if (address.kind === 'sentinel') return await inspectSentinels(address);
  const server = new URL(address.url);
  const database = Number(server.pathname.slice(1));
  server.pathname = '';
  const target = {server: server.href, place: server.host};
  const found = await inspectServer(target, database, prefix);
  return {reached: `${describeVersions([found])} at ${server.host}`, problems: found.problems};
}

async function inspectSentinels(address: SentinelAddress): Promise<RedisFound> {
  const {primary, sentinel} = await findSentinelPrimary(address);
  const place = `${nameServer(primary)} (the primary of ${address.name} by sentinel ${nameServer(sentinel)})`;
  const server = {...primary, ...accessOptions(address.login, address.isTls)};
  const found = await inspectServer({server, place}, address.database, prefix);
  return {reached: `${describeVersions([found])} at ${place}`, problems: found.problems};
}

async function inspectCluster(address: ClusterAddress): Promise<RedisFound> {
  const {ours, others} = await findClusterPrimaries(address);
  const targetOf = (primary: RedisServer): Target => ({
    server: {...primary, ...accessOptions(address.login, address.isTls)},
    place: `${nameServer(primary)} (a primary of the cluster)`,
  });
  const found = await Promise.all([
    inspectServer(targetOf(ours), 0, prefixAt(address)),
    ...others.map((other) =>
      askOnce(targetOf(other), (redis) => look(redis, targetOf(other))).catch(tellAside),
    ),
  ]);
  const names = [ours, ...others].map(nameServer);
  return {
    reached: `${describeVersions(found)}, a cluster with ${names.length} primaries: ${names.join(', ')}`,
    problems: found.flatMap(({problems}) => problems),
  };
}

/** A primary that holds none of our keys stops nothing. */
function tellAside(error: unknown): ServerFound {
  if (error instanceof FatalError) return {version: null, problems: [error.message]};
  throw error;
}

/** We select the database by hand: a wrong one would be an unawaited error of the client. */
async function inspectServer(target: Target, database: number, keys: string): Promise<ServerFound> {
  return await askOnce(target, async (redis) => {
    if (database !== 0) await redis.select(database);
    // Two keys at once, as in each script of BullMQ: a server of a cluster refuses those that
    // belong apart.
    await redis.exists(`${keys}:probe:1`, `${keys}:probe:2`);
    await redis.set(`${keys}:probe:${randomUUID()}`, '', 'PX', 1);
    return await look(redis, target);
  });
}

async function look(redis: Redis, {place}: Target): Promise<ServerFound> {
  const [appendonly, policy, version] = await Promise.all([
    readSetting(redis, 'appendonly'),
    readSetting(redis, 'maxmemory-policy'),
    readVersion(redis),
  ]);
  const problems: string[] = [];
  if (appendonly === 'no') {
    problems.push(
      `redis ${place}: it has no append-only file, so a crash forgets its jobs; nothing is lost, but work is late: CONFIG SET appendonly yes, and CONFIG REWRITE`,
    );
  }
  if (policy !== null && policy !== 'noeviction') {
    problems.push(
      `redis ${place}: maxmemory-policy is ${policy}, so locks can vanish: CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE`,
    );
  }
  return {version, problems};
}

/** Null where the server does not let us ask: managed services refuse CONFIG. */
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

function describeVersions(found: readonly ServerFound[]): string {
  const versions = new Set(found.flatMap(({version}) => (version === null ? [] : [version])));
  return ['Redis', [...versions].join(' and ')].filter((part) => part !== '').join(' ');
}
