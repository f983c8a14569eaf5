// Connections for BullMQ. It opens and closes them itself, but for a cluster, whose client it is
// given.

import type {ConnectionOptions} from 'bullmq';
import {Cluster} from 'ioredis';
import type {ClusterAddress, RedisAddress, SentinelAddress} from '../src/core/redis-address.ts';
import {accessOptions, connectTimeoutMs} from './redis-ask-once.ts';

export interface QueueConnection {
  readonly connection: ConnectionOptions;
  /** Closes the parts that BullMQ leaves open, once the part of the queue is closed. */
  close(): void;
}

/**
 * Producers fail at once while Redis is away, the poller tries again; a worker waits for its
 * return.
 */
const patience = {
  producer: {enableOfflineQueue: false, maxRetriesPerRequest: 1},
  worker: {enableOfflineQueue: true, maxRetriesPerRequest: null},
} as const;

/**
 * A primary that hangs closes no connection, and another one may have its place: after so long
 * without an answer we ask anew who the primary is. A worker's wait for work takes ten seconds at
 * most.
 */
const answerTimeoutMs = 15_000;
/** A failover takes seconds: BullMQ's own delays grow to twenty. */
const reconnectMs = 1_000;

/** A connection for one part of the queue. */
export function connect(address: RedisAddress, role: keyof typeof patience): QueueConnection {
  if (address.kind === 'cluster') return connectCluster(address, role);
  const connection =
    address.kind === 'single'
      ? {url: address.url, ...patience[role]}
      : {...sentinelOptions(address), ...patience[role]};
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
    connectTimeout: connectTimeoutMs,
    sentinelCommandTimeout: connectTimeoutMs,
    socketTimeout: answerTimeoutMs,
    retryStrategy: () => reconnectMs,
  };
}

function connectCluster(address: ClusterAddress, role: keyof typeof patience): QueueConnection {
  const {enableOfflineQueue, maxRetriesPerRequest} = patience[role];
  const cluster = new Cluster([...address.servers], {
    enableOfflineQueue,
    // While a part of the cluster is missing, a check for readiness fails and leaves the attempt to
    // connect without an end; a worker of BullMQ that waits for that attempt takes no work ever
    // again.
    enableReadyCheck: false,
    // A certificate names the host, not its address.
    dnsLookup: (host, answer) => answer(null, host),
    redisOptions: {
      ...accessOptions(address.login, address.isTls),
      maxRetriesPerRequest,
      connectTimeout: connectTimeoutMs,
      socketTimeout: answerTimeoutMs,
    },
  });
  // BullMQ listens as long as its part is open.
  cluster.on('error', () => {});
  return {connection: cluster, close: () => cluster.disconnect()};
}
