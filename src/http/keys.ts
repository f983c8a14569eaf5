// Decides which requests are let in: by the host name that they use, and by their API key. This
// file also has the access of each key, its turns for its own requests, and the end of its waiting
// requests when it is revoked. A key that decides about changes is an author like any other, and is
// named in the audit. The host name is checked because of DNS rebinding: a page of another site can
// point its own name at this machine, and its visitor's browser would then read the answers.

import {isIP} from 'node:net';
import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import PQueue from 'p-queue';
import type pg from 'pg';
import {
  type ApiKey,
  type AuditEntry,
  isKeyInUse,
  listRevoked,
  useApiKey,
  writeAudit,
} from '../accounts/access.ts';
import {HttpProblem} from './problem.ts';

const keysByRequest = new WeakMap<FastifyRequest, ApiKey>();

/**
 * Refuses a request without a key before any part of it is checked, so that no answer reveals
 * whether its address exists or its body is right.
 */
export function requireKey(app: FastifyInstance, pool: pg.Pool): void {
  app.addHook('onRequest', async (request) => {
    const [, text] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const key = text === undefined ? null : await useApiKey(pool, text);
    if (key === null) throw new HttpProblem(401, 'unauthorized');
    keysByRequest.set(request, key);
  });
}

/** A key of one account: the addresses under /v1 need one. */
export interface AccountKey extends ApiKey {
  readonly accountId: string;
  readonly timeZone: string;
}

/**
 * The key that a request came with.
 * @param options.hides - the address returns no personal value to a key that masks
 * @throws {HttpProblem} the key is not of one account; it masks, and the address does not; or it
 *   may only read, and `mustWrite` is set
 */
export function getApiKey(
  request: FastifyRequest,
  options: {readonly mustWrite?: boolean; readonly hides?: boolean} = {},
): AccountKey {
  const key = keysByRequest.get(request);
  if (key === undefined) throw new HttpProblem(401, 'unauthorized');
  if (options.mustWrite === true && key.role === 'viewer') {
    throw new HttpProblem(403, 'read-only', {
      detail: 'this key may only read',
      hint: 'fieldmirror keys add NAME makes one that may write.',
    });
  }
  if (key.masks && options.hides !== true) {
    throw new HttpProblem(403, 'masked', {
      detail: 'personal values are hidden from this key, and this address would show them',
      hint: 'Follow GET /v1/feed with it, or use a key that was made without --mask.',
    });
  }
  const {accountId, timeZone} = key;
  if (accountId === null || timeZone === null) {
    throw new HttpProblem(403, 'no-account', {
      detail: 'this key opens the console for all accounts; the API needs a key of one',
      hint: 'fieldmirror keys add NAME --account ACCOUNT makes one.',
    });
  }
  return {...key, accountId, timeZone};
}

/** The name of a request's key, for the log. */
export function readKeyName(request: FastifyRequest): string | null {
  return keysByRequest.get(request)?.name ?? null;
}

/**
 * Makes the key the author and decider of the transaction, whichever author used the connection
 * before.
 * @throws {HttpProblem} 401: the key was revoked since its request began, which may be minutes ago
 */
export async function setDecider(
  client: pg.ClientBase,
  {apiKeyId, name}: AccountKey,
): Promise<void> {
  if (!(await isKeyInUse(client, apiKeyId))) throw new HttpProblem(401, 'unauthorized');
  await client.query(
    `SELECT set_config('fieldmirror.writer', '', true), set_config('fieldmirror.batch', '', true),
            set_config('fieldmirror.person', $1, true), set_config('application_name', $1, true)`,
    [`http: ${name}`],
  );
}

type KeyAuditEntry = Pick<AuditEntry, 'action' | 'subject' | 'address' | 'before' | 'after'>;

/** Writes the audit entry in the transaction that decides. */
export async function saveKeyAudit(
  client: pg.ClientBase,
  {name, role, accountId}: AccountKey,
  entry: KeyAuditEntry,
): Promise<void> {
  await writeAudit(client, {...entry, sessionId: null, name: `http: ${name}`, role, accountId});
}

/** How many requests of one key are carried out at once, and how many more wait for their turn. */
interface TurnLimits {
  readonly atOnce: number;
  readonly waiting: number;
}

/**
 * Gives each key turns for its own requests: a key that sends many delays its own requests, and
 * those of no other key.
 */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #what: string;
  readonly #queues = new Map<string, PQueue>();

  /** @param requestKind - `writes`, for the words of a refusal */
  constructor(requestKind: string, limits: TurnLimits) {
    this.#what = requestKind;
    this.#limits = limits;
  }

  /**
   * Does the work when its turn comes.
   * @param options.isPart - the work is part of a request in progress: it waits, however many
   *   others wait
   * @throws {HttpProblem} 429: this key already has as many waiting requests as it may
   */
  async take<T>(apiKeyId: string, work: () => Promise<T>, {isPart = false} = {}): Promise<T> {
    const {atOnce, waiting} = this.#limits;
    const queue = this.#queues.get(apiKeyId) ?? new PQueue({concurrency: atOnce});
    if (queue.size >= waiting && !isPart) {
      throw new HttpProblem(429, 'too-many', {
        detail: `this key has ${atOnce} ${this.#what} in progress and ${waiting} waiting`,
        hint: 'Send fewer at once, and this one again later; nothing was done.',
      });
    }
    this.#queues.set(apiKeyId, queue);
    try {
      return await queue.add(work);
    } finally {
      if (queue.pending + queue.size === 0) this.#queues.delete(apiKeyId);
    }
  }
}

/** How long a request may still wait after its key was revoked. */
const checkIntervalMs = 2_000;

/**
 * Ends waiting requests when their key is revoked. All of them together cost one query every two
 * seconds.
 */
export class KeyWatch {
  readonly #pool: pg.Pool;
  readonly #waiting = new Map<AbortController, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** @returns a signal that aborts when the key is revoked; `leave` ends the watch */
  follow(apiKeyId: string): {readonly revoked: AbortSignal; readonly leave: () => void} {
    const controller = new AbortController();
    this.#waiting.set(controller, apiKeyId);
    this.#timer ??= setInterval(() => void this.#check(), checkIntervalMs).unref();
    return {revoked: controller.signal, leave: () => this.#leave(controller)};
  }

  #leave(controller: AbortController): void {
    this.#waiting.delete(controller);
    if (this.#waiting.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  async #check(): Promise<void> {
    try {
      const revoked = new Set(await listRevoked(this.#pool, [...new Set(this.#waiting.values())]));
      for (const [controller, apiKeyId] of this.#waiting)
        if (revoked.has(apiKeyId)) controller.abort();
    } catch {
      // If the database does not answer, the request itself fails with it, or the next check finds
      // the key.
    }
  }
}

/** Requests of one key that may wait at once. */
const maxWaiting = 20;

/**
 * Gives each key places for requests that wait until something happens. While they wait, they use
 * no read turn of the key.
 */
export class WaitingPlaces {
  readonly #what: string;
  readonly #hint: string;
  readonly #keys: KeyWatch | null;
  readonly #waiting = new Map<string, number>();

  /**
   * @param requestKind - `the feed`, for the words of a refusal
   * @param hint - what to do instead
   * @param keys - ends the work when its key is revoked; left out: the work checks its key itself
   */
  constructor(requestKind: string, hint: string, keys: KeyWatch | null = null) {
    this.#what = requestKind;
    this.#hint = hint;
    this.#keys = keys;
  }

  /**
   * Does the work of a request in a place of its key.
   * @param work - gets a signal that aborts when the client disconnects, or the key is revoked
   * @throws {HttpProblem} 429: every place of the key is taken; 401: the key was revoked meanwhile
   */
  async take<T>(
    apiKeyId: string,
    reply: FastifyReply,
    work: (disconnected: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const disconnected = new AbortController();
    reply.raw.on('close', () => disconnected.abort());
    // The client may have disconnected while its key was looked up.
    if (reply.raw.closed) disconnected.abort();
    const count = this.#waiting.get(apiKeyId) ?? 0;
    if (count >= maxWaiting)
      throw new HttpProblem(429, 'too-many', {
        detail: `this key has ${maxWaiting} requests for ${this.#what} in progress`,
        hint: this.#hint,
      });
    this.#waiting.set(apiKeyId, count + 1);
    const watch = this.#keys?.follow(apiKeyId);
    try {
      if (watch === undefined) return await work(disconnected.signal);
      const answer = await work(AbortSignal.any([disconnected.signal, watch.revoked]));
      if (watch.revoked.aborted) throw new HttpProblem(401, 'unauthorized');
      return answer;
    } finally {
      watch?.leave();
      this.#leave(apiKeyId);
    }
  }

  #leave(apiKeyId: string): void {
    const remaining = (this.#waiting.get(apiKeyId) ?? 1) - 1;
    if (remaining === 0) this.#waiting.delete(apiKeyId);
    else this.#waiting.set(apiKeyId, remaining);
  }
}

/** Names that lead to this machine from itself. */
const localNames = ['localhost', '127.0.0.1', '[::1]'];

/** The advice for a host name that is not known. */
export const namingHint =
  'Set FIELDMIRROR_CONSOLE_URL to the address that people use, ' +
  'or FIELDMIRROR_HOST_NAMES to further names, and restart the server.';

export interface KnownNames {
  /**
   * Whether the server answers under that host name: one rule for the console, /v1 and /metrics.
   */
  has(hostname: string): boolean;
  /**
   * Whether /livez and /readyz are answered under that host name. Supervisors and load balancers
   * use their own names, so a server that is open to other machines answers these two under any
   * name.
   */
  hasForProbe(hostname: string): boolean;
  /** Name and port of the address that people use; null if none is set. */
  readonly publicHost: string | null;
}

interface HostNameOptions {
  /** The address that people use; null if none is set. */
  readonly publicUrl: URL | null;
  /** Further names, such as those of a service in a cluster. */
  readonly hostNames: readonly string[];
}

/** @param host - the address that the server listens on */
export function listKnownNames(host: string, {publicUrl, hostNames}: HostNameOptions): KnownNames {
  const hostName = isIP(host) === 6 ? `[${host}]` : host;
  const names = [...localNames, hostName, ...hostNames, ...(publicUrl ? [publicUrl.hostname] : [])];
  const known = new Set(names.map((name) => name.toLowerCase()));
  const isOpen = !localNames.includes(hostName);
  // DNS rebinding needs a name: for an IP address, a browser connects to that address itself. Other
  // machines reach an open server by an IP address that it need not know, such as that of a pod.
  const has = (hostname: string) =>
    known.has(hostname.toLowerCase()) || (isOpen && isIpAddress(hostname));
  return {
    has,
    hasForProbe: (hostname) => isOpen || publicUrl !== null || has(hostname),
    publicHost: publicUrl?.host ?? null,
  };
}

/** Whether a host name is an IP address. An IPv6 address is in brackets there. */
function isIpAddress(hostname: string): boolean {
  const [, bracketed] = /^\[(.*)\]$/.exec(hostname) ?? [];
  return bracketed === undefined ? isIP(hostname) === 4 : isIP(bracketed) === 6;
}
