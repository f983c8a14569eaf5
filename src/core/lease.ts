// How long a sweep or a change certainly belongs to this process. Postgres alone decides the owner;
// this process may assume less time than that, never more. So the time counts from before the claim
// or the renewal was requested.
// An owner that has certainly ended loses its leases at once. A process number proves nothing: it
// means another process in another container, and after a while on the same machine. So each
// process keeps a socket with a random name in the abstract namespace of Linux, which has no file.
// The kernel closes it when the last thread of the process ends, and never before; a process that
// is stopped or suspended keeps it. If a connection to the name is refused, in the same network
// namespace of the same running kernel, the kernel has confirmed that the holder has ended.

import {createHash, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {readFile, readlink} from 'node:fs/promises';
import {connect, createServer} from 'node:net';
import {hostname} from 'node:os';

/**
 * Clocks that measure a lease, in milliseconds; the one that advanced most counts. The monotonic
 * clock stops while the machine is suspended; the wall clock may be set back.
 */
export type Clocks = () => readonly number[];

export const machineClocks: Clocks = () => [performance.now(), Date.now()];

/**
 * Whether less than `ms` has passed by each of the clocks.
 * @param since - the clocks' readings at the beginning
 */
export function isWithin(clocks: Clocks, since: readonly number[], ms: number): boolean {
  return clocks().every((now, at) => now - (since[at] ?? 0) < ms);
}

/** The lease of one sweep or change. */
export class Lease {
  readonly #clocks: Clocks;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #since: readonly number[];

  /** @param since - the clocks' readings before the claim was requested */
  constructor(
    clocks: Clocks,
    {since, leaseMs}: {readonly since: readonly number[]; readonly leaseMs: number},
  ) {
    this.#clocks = clocks;
    this.#since = since;
    this.#leaseMs = leaseMs;
  }

  /** Aborted when the database has reported that the lease is no longer ours. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether the lease is certainly ours at this moment. */
  isHeld(): boolean {
    return !this.#lost.signal.aborted && isWithin(this.#clocks, this.#since, this.#leaseMs);
  }

  /** @param since - the clocks' readings before the renewal was requested */
  renew(since: readonly number[]): void {
    this.#since = this.#since.map((held, at) => Math.max(held, since[at] ?? held));
  }

  /** @param error - the error that ends the work under the lease */
  lose(error: Error): void {
    this.#lost.abort(error);
  }
}

/** Calls the work again and again. @returns a function that stops the calls */
export type Every = (ms: number, work: () => void) => () => void;

const callAtIntervals: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  return () => clearInterval(timer);
};

/** The terms of some leases. */
interface LeaseTerms<T> {
  readonly leaseMs: number;
  readonly clocks: Clocks;
  /**
   * Extends our leases of some things in the database.
   * @returns whether each was still ours; null if the database cannot report that now
   */
  readonly renew: (things: readonly T[]) => Promise<readonly (boolean | null)[]>;
  /** The error that ends the work on a thing when its lease is lost. */
  readonly toLoss: (thing: T) => Error;
  /** A timer, unless a test has its own. */
  readonly every?: Every;
}

/**
 * The leases that this process holds, renewed together three times per lease time, until they are
 * closed.
 */
export class Leases<T> {
  readonly #terms: LeaseTerms<T>;
  readonly #held = new Map<T, Lease>();
  readonly #stop: () => void;

  constructor(terms: LeaseTerms<T>) {
    this.#terms = terms;
    const {every = callAtIntervals, leaseMs} = terms;
    this.#stop = every(leaseMs / 3, () => void this.#renew());
  }

  /**
   * Holds the lease of a thing that was just claimed.
   * @param since - the clocks' readings before the claim was requested
   */
  hold(thing: T, since: readonly number[]): Lease {
    const {clocks, leaseMs} = this.#terms;
    const lease = new Lease(clocks, {since, leaseMs});
    this.#held.set(thing, lease);
    return lease;
  }

  /** Stops renewing the lease of a thing. */
  release(thing: T): void {
    this.#held.delete(thing);
  }

  /** Stops all renewals. */
  close(): void {
    this.#stop();
  }

  // A failed renewal does not lose the lease: it stays as it was, the next renewal may succeed, and
  // writes meanwhile are fenced.
  async #renew(): Promise<void> {
    const {clocks, renew, toLoss} = this.#terms;
    if (this.#held.size === 0) return;
    const since = clocks();
    const leases = [...this.#held];
    const results = await renew(leases.map(([thing]) => thing)).catch(() => []);
    for (const [at, [thing, lease]] of leases.entries())
      if (results[at] === true) lease.renew(since);
      else if (results[at] === false) lease.lose(toLoss(thing));
  }
}

/** This process, for a person on any machine: `db1, pid 4711`. */
export function nameThisProcess(): string {
  return `${hostname()}, pid ${process.pid}`;
}

let ownMark: Promise<string | null> | null = null;
let ownPlace: Promise<string | null> | null = null;

/**
 * The mark of this process: its place and the name of its socket, `PLACE.NAME`. Null if the system
 * has no such sockets: then no other process learns that this one has ended, and its leases expire.
 */
export function markThisProcess(): Promise<string | null> {
  ownMark ??= makeMark();
  return ownMark;
}

/**
 * The network namespace of this process and the run of the kernel that it belongs to. The number of
 * a namespace is used again only when no socket of the old one is left. Null if it is unknown.
 */
export function findPlace(): Promise<string | null> {
  ownPlace ??= readPlace();
  return ownPlace;
}

/**
 * Whether a process has certainly ended. For one at another place that is unknown, so the answer is
 * false.
 * @param mark - as `markThisProcess` returns it
 */
export async function hasHolderEnded(mark: string): Promise<boolean> {
  const [holderPlace, name] = mark.split('.');
  if (holderPlace === undefined || name === undefined || holderPlace !== (await findPlace()))
    return false;
  return await isRefused(name);
}

async function makeMark(): Promise<string | null> {
  const at = await findPlace();
  if (at === null) return null;
  const name = randomBytes(16).toString('base64url');
  // A client that connects learns that the process exists, and no more.
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    server.listen(addressOf(name));
    await once(server, 'listening');
  } catch {
    return null;
  }
  return `${at}.${name}`;
}

async function readPlace(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1');
    const network = await readlink('/proc/self/ns/net', 'latin1');
    const facts = [boot.trim(), network, hostname()].join('\n');
    return createHash('sha256').update(facts).digest('base64url').slice(0, 22);
  } catch {
    return null;
  }
}

/**
 * Whether no socket has the name, so that a connection is refused. Any other error proves nothing.
 */
function isRefused(name: string): Promise<boolean> {
  const {promise, resolve} = Promise.withResolvers<boolean>();
  const socket = connect(addressOf(name));
  socket.once('connect', () => {
    socket.destroy();
    resolve(false);
  });
  socket.on('error', (error) => {
    resolve('code' in error && error.code === 'ECONNREFUSED');
  });
  return promise;
}

function addressOf(name: string): string {
  return `\0fieldmirror-${name}`;
}
