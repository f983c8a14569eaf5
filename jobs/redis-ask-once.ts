import {Redis} from 'ioredis';
import type {RedisLogin, RedisServer} from '../src/core/redis-address.ts';
import {explainRedisError} from './redis-errors.ts';

/** The time for a connection, and for an answer to a question that does not wait for work. */
export const connectTimeoutMs = 5_000;

/** The client's options for a login and for TLS. */
export interface Access {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
}

/** One server, by its address or by the parts of it. */
export interface Target {
  readonly server: string | (RedisServer & Access & {readonly enableReadyCheck?: boolean});
  /** The server and its part in the queue, for messages. */
  readonly place: string;
  readonly mends?: Parameters<typeof explainRedisError>[2];
}

/**
 * Asks one server over a connection of its own, without retries.
 * @throws {FatalError} it cannot be reached, is silent, or refuses us
 */
export async function askOnce<T>(
  target: Target,
  question: (redis: Redis) => Promise<T>,
): Promise<T> {
  const {server, place, mends} = target;
  const once = {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    socketTimeout: connectTimeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  };
  const redis =
    typeof server === 'string' ? new Redis(server, once) : new Redis({...server, ...once});
  let broken: Error | undefined;
  // The cause of a broken connection comes as an event; the waiting call learns only that it is
  // closed.
  redis.on('error', (error: Error) => (broken ??= error));
  try {
    await redis.connect();
    return await question(redis);
  } catch (cause) {
    throw explainRedisError(broken ?? cause, place, mends);
  } finally {
    redis.disconnect();
  }
}

export function accessOptions(login: RedisLogin | null, isTls: boolean): Access {
  return {
    ...(login === null ? {} : {password: login.password.reveal()}),
    ...(login === null || login.user === null ? {} : {username: login.user}),
    ...(isTls ? {tls: {}} : {}),
  };
}

/** As in an address: `db.example.com:6379`, `[::1]:6379`. */
export function nameServer({host, port}: RedisServer): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
