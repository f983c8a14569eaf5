// A Redis is asked once before BullMQ sees it: whether it answers, takes writes, and keeps them.

import {randomUUID} from 'node:crypto';
import {Redis} from 'ioredis';
import {FatalError} from '../../src/base/errors.ts';

const connectTimeoutMs = 5_000;
/** The keys of one Redis may belong to several installations. */
export const prefix = 'fieldmirror';

/** Errors of Redis or the network, each with its next step. */
const mends: readonly (readonly [RegExp, string])[] = [
  [/^OOM/, 'it is full: raise its maxmemory (CONFIG SET maxmemory), or remove keys of others'],
  [/^READONLY/, 'it is a replica: point REDIS_URL at the primary'],
  [/^MISCONF/, 'it cannot save to its disk: make room there'],
  [/^(NOAUTH|WRONGPASS|ERR AUTH|ERR invalid password)/, 'mend the user and password in REDIS_URL'],
  [/^NOPERM/, `let its user write: ACL SETUSER … ~${prefix}:* &* +@all`],
  [/DB index/, 'it has no such database: mend the number at the end of REDIS_URL'],
  [/^LOADING/, 'it is reading its data: start again when it is ready'],
  [/ENOTFOUND|EAI_AGAIN/, 'no such host: mend REDIS_URL'],
  [/SSL|EPROTO/, 'it speaks no TLS: begin REDIS_URL with redis://'],
  [/RESP type|Protocol error/, 'something else than a Redis listens there: mend REDIS_URL'],
];

/**
 * Asks a Redis for settings that lose queue jobs: no append-only file, or an eviction policy.
 * @returns one sentence a problem, each with its mend
 * @throws {FatalError} it cannot be reached, refuses us, or takes nothing
 */
export async function inspectRedis(url: string): Promise<{problems: string[]}> {
  const {redis, database, place} = openOnce(url);
  let broken: Error | undefined;
  // The cause of a broken connection comes as an event; the waiting call learns only that it is closed.
  redis.on('error', (error: Error) => (broken ??= error));
  try {
    await redis.connect();
    await redis.select(database);
    await redis.set(`${prefix}:probe:${randomUUID()}`, '', 'PX', 1);
    return {problems: await findRisks(redis, place)};
  } catch (cause) {
    throw explainRedisError(broken ?? cause, place);
  } finally {
    redis.disconnect();
  }
}

/** A connection without retries. We select its database by hand: a wrong one would be an unawaited error. */
function openOnce(url: string): {readonly redis: Redis; readonly database: number; readonly place: string} {
  const address = new URL(url);
  const place = address.host;
  const database = Number(address.pathname.slice(1));
  address.pathname = '';
  const redis = new Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  return {redis, database, place};
}

function explainRedisError(cause: unknown, place: string): FatalError {
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const mend = mends.find(([pattern]) => pattern.test(reason))?.[1] ?? 'start it, mend REDIS_URL';
  return new FatalError(
    `redis ${place}: expected an answer, got "${reason}"; ${mend}, or unset REDIS_URL to keep the queue in Postgres`,
    {cause},
  );
}

async function findRisks(redis: Redis, place: string): Promise<string[]> {
  const [appendonly, policy] = await Promise.all([
    readSetting(redis, 'appendonly'),
    readSetting(redis, 'maxmemory-policy'),
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
  return problems;
}

/** Null where the server does not let us ask: managed services refuse CONFIG. */
async function readSetting(redis: Redis, name: string): Promise<string | null> {
  try {
    const answer = await redis.config('GET', name);
    if (Array.isArray(answer)) return String(answer[1] ?? '');
    return typeof answer === 'object' && answer !== null ? String(Object.values(answer)[0] ?? '') : null;
  } catch {
    return null;
  }
}
