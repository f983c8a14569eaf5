// Which servers take writes is known only to the cluster, or to the sentinels: any of them that
// answers is good enough.

import type {ClusterAddress, RedisServer, SentinelAddress} from '../src/core/redis-address.ts';
import {accessOptions, askOnce, nameServer} from './redis-ask-once.ts';
import {prefixAt} from './redis-prefix.ts';

/** The primaries of a cluster. */
export interface ClusterPrimaries {
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
 * Asks a cluster for its primaries.
 * @throws {FatalError} none of the named servers answers as a part of a cluster
 */
export async function findClusterPrimaries(address: ClusterAddress): Promise<ClusterPrimaries> {
  return await askEach(address.servers, async (server) => {
    const options = {...server, ...accessOptions(address.login, address.isTls)};
    const target = {server: options, place: nameServer(server)};
    return await askOnce(target, async (redis) => {
      const ourSlot = Number(await redis.cluster('KEYSLOT', prefixAt(address)));
      return sortPrimaries(await redis.cluster('SLOTS'), ourSlot, server.host);
    });
  });
}

/** @param askedHost - the host for servers that do not know their own address */
function sortPrimaries(
  ranges: readonly SlotRange[],
  ourSlot: number,
  askedHost: string,
): ClusterPrimaries {
  const primaries = new Map<string, RedisServer>();
  let ours: RedisServer | undefined;
  for (const [first, last, server] of ranges) {
    if (server === undefined) continue;
    const [host, port] = server;
    const primary = {host: host || askedHost, port};
    primaries.set(nameServer(primary), primary);
    if (first <= ourSlot && ourSlot <= last) ours = primary;
  }
  if (ours === undefined) throw new Error(`CLUSTERDOWN nobody serves slot ${ourSlot}`);
  primaries.delete(nameServer(ours));
  return {ours, others: [...primaries.values()]};
}

/**
 * Asks the sentinels for the primary of the moment.
 * @throws {FatalError} none of them answers, or the one that does knows no such name
 */
export async function findSentinelPrimary(
  address: SentinelAddress,
): Promise<{readonly primary: RedisServer; readonly sentinel: RedisServer}> {
  const {name, sentinelLogin, isTls} = address;
  return await askEach(address.servers, async (sentinel) => {
    const options = {...sentinel, ...accessOptions(sentinelLogin, isTls), enableReadyCheck: false};
    const place = `${nameServer(sentinel)} (sentinel)`;
    return await askOnce({server: options, place, mends: sentinelMends}, async (redis) => {
      const answer = await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
      if (!Array.isArray(answer)) throw new Error(`no primary named ${name}`);
      const [host, port] = answer.map(String);
      return {primary: {host: host ?? '', port: Number(port)}, sentinel};
    });
  });
}

const sentinelMends = [
  [
    /^(NOAUTH|WRONGPASS|ERR AUTH)/,
    'give the login of the sentinels at the end of REDIS_URL: ?sentinel_user=…&sentinel_password=…',
  ],
  [
    /^no primary named/,
    'mend the name behind the hosts in REDIS_URL, as in the sentinels: SENTINEL MASTERS',
  ],
] as const;

/** @throws what the last one threw, when all have failed */
async function askEach<T>(
  servers: readonly RedisServer[],
  ask: (server: RedisServer) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const server of servers) {
    try {
      return await ask(server);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
