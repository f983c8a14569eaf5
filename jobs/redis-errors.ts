import {FatalError} from '../src/core/errors.ts';
import {prefix} from './redis-prefix.ts';

type Mends = readonly (readonly [RegExp, string])[];

/** Errors of Redis or the network, each with its next step. */
const mends: Mends = [
  [/^OOM/, 'it is full: raise its maxmemory (CONFIG SET maxmemory), or remove keys of others'],
  [/^READONLY/, 'it is a replica: point REDIS_URL at the primary'],
  [/^MISCONF/, 'it cannot save to its disk: make room there'],
  [/^(NOAUTH|WRONGPASS|ERR AUTH|ERR invalid password)/, 'mend the user and password in REDIS_URL'],
  [/^NOPERM/, `let its user write: ACL SETUSER … ~${prefix}:* ~{${prefix}}:* &* +@all`],
  [/DB index/, 'it has no such database: mend the number at the end of REDIS_URL'],
  [/^LOADING/, 'it is reading its data: start again when it is ready'],
  [/^(CROSSSLOT|MOVED)/, 'it is a server of a cluster: begin REDIS_URL with redis-cluster://'],
  [/cluster support disabled/, 'it is no cluster: begin REDIS_URL with redis://'],
  [
    /^CLUSTERDOWN/,
    'a part of the cluster has no primary: see redis-cli --cluster check, and bring it back',
  ],
  [
    /unknown command ['`](select|exists|cluster)/i,
    'it is a sentinel: begin REDIS_URL with redis-sentinel://, and end it with the name of the primary',
  ],
  [/unknown command ['`]sentinel/i, 'it is no sentinel: begin REDIS_URL with redis://'],
  [/ENOTFOUND|EAI_AGAIN/, 'no such host: mend REDIS_URL'],
  [
    /certificate required/,
    'it wants a certificate of its clients, and we have none: set its tls-auth-clients to no',
  ],
  [/self-signed|issuer|verify the first/, 'name the file of its authority in NODE_EXTRA_CA_CERTS'],
  [/altnames|certificate/, 'let its certificate name the host of REDIS_URL, and be valid now'],
  [/SSL|EPROTO/, 'it speaks no TLS: begin REDIS_URL with redis instead of rediss'],
  [/RESP type|Protocol error/, 'something else than a Redis listens there: mend REDIS_URL'],
  [
    /^Connection is closed|ECONNRESET/,
    'no Redis listens there, or one that takes TLS alone: mend REDIS_URL, or begin it with rediss instead of redis',
  ],
];

/**
 * Says in one sentence what a Redis refused, and what to do.
 * @param place - the server and its part in the queue, without user and password
 * @param first - next steps that go before the usual ones
 */
export function explainRedisError(cause: unknown, place: string, first: Mends = []): FatalError {
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const mend =
    [...first, ...mends].find(([pattern]) => pattern.test(reason))?.[1] ??
    'start it, mend REDIS_URL';
  return new FatalError(
    `redis ${place}: expected an answer, got "${reason}"; ${mend}, or unset REDIS_URL to keep the queue in Postgres`,
    {cause: withoutCommand(cause), kind: 'queue'},
  );
}

/**
 * The client hangs the refused command on its error, and the command that logs in holds the
 * password.
 */
function withoutCommand(cause: unknown): unknown {
  return cause instanceof Error && 'command' in cause ? new Error(cause.message) : cause;
}
