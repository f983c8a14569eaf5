// Faults that a person switches on in the reference service, to see what a client does in an
// outage. There are slow answers, refusals for a while, and the three ways in which a client cannot
// know whether a write was done. Chance decides request by request, the same each time for the same
// order of requests.

import {AsyncLocalStorage} from 'node:async_hooks';
import {setTimeout as wait} from 'node:timers/promises';
import type {FastifyInstance, FastifyRequest} from 'fastify';
import {UsageError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {nearest} from '../core/names.ts';
import {Random} from './vocabulary.ts';
import {ServiceRefusal, writeErrors} from './xml-write.ts';

/** The faults that may happen to a request, each with its share of the requests, 0 to 1. */
const faultKinds = {
  /** 429 with Retry-After; nothing is done. */
  throttled: 'each',
  /** 503; nothing is done. */
  unavailable: 'each',
  /** The request is carried out, and the connection breaks before the answer. */
  lost: 'each',
  /** The request is carried out, and the answer is 500. */
  failed: 'each',
  /** The connection breaks at once; the request is carried out up to `late-seconds` later. */
  late: 'write',
} as const;

type FaultKind = keyof typeof faultKinds;

const kindNames = Object.keys(faultKinds) as FaultKind[];

export interface Faults {
  readonly shares: Readonly<Record<FaultKind, number>>;
  /** The longest time before an answer, in milliseconds. */
  readonly delay: number;
  /** The longest time until a late write is done, in seconds. */
  readonly lateSeconds: number;
  /** How far the service's clock is ahead, in seconds; negative if it is behind. */
  readonly skew: number;
}

const noFaults: Faults = {
  shares: {throttled: 0, unavailable: 0, lost: 0, failed: 0, late: 0},
  delay: 0,
  lateSeconds: 60,
  skew: 0,
};

/** The faults of `usual`. */
const usualFaults: Faults = {
  ...noFaults,
  shares: {throttled: 0.02, unavailable: 0.02, lost: 0.02, failed: 0.02, late: 0.02},
  delay: 200,
};

/** The longest delay: a client gives up long before it ends. */
const maxDelayMs = 600_000;
const maxLateSeconds = 3600;
const maxSkewSeconds = 86_400;

/** The numbers beside the shares: their bounds, and the fields that they set. */
const numberSettings = {
  delay: {least: 0, most: maxDelayMs, unit: 'milliseconds', field: 'delay'},
  'late-seconds': {least: 0, most: maxLateSeconds, unit: 'seconds', field: 'lateSeconds'},
  skew: {least: -maxSkewSeconds, most: maxSkewSeconds, unit: 'seconds', field: 'skew'},
} as const;

/**
 * Reads the text of `--faults`: `lost=0.1,late=0.05,delay=500`, or `usual`, alone or first.
 * @throws {UsageError} another name, a number out of its bounds, or shares of more than 1 in all
 */
export function readFaults(text: string): Faults {
  let faults = noFaults;
  for (const part of text.split(',').map((entry) => entry.trim())) {
    if (part === 'usual') faults = usualFaults;
    else faults = applyPart(faults, part);
  }
  const sum = Object.values(faults.shares).reduce((total, share) => total + share, 0);
  if (sum > 1)
    throw makeUsageError('shares of at most 1 in all', Number(sum.toFixed(6)).toString());
  return faults;
}

function applyPart(faults: Faults, part: string): Faults {
  const [name = '', text = ''] = part.split('=', 2);
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (isKind(name)) {
    if (!(value >= 0 && value <= 1))
      throw makeUsageError(`a share of the requests from 0 to 1, such as ${name}=0.05`, part);
    return {...faults, shares: {...faults.shares, [name]: value}};
  }
  if (isNumberName(name)) {
    const {least, most, unit, field} = numberSettings[name];
    if (!(Number.isInteger(value) && value >= least && value <= most))
      throw makeUsageError(`${name} in whole ${unit} from ${least} to ${most}`, part);
    return {...faults, [field]: value};
  }
  const names = ['usual', ...kindNames, ...Object.keys(numberSettings)];
  const got = part === '' ? 'nothing' : `${part}${nearest(name, names)}`;
  throw makeUsageError(`one of ${names.join(', ')}, such as lost=0.1,delay=500`, got);
}

function makeUsageError(expected: string, got: string): UsageError {
  return new UsageError(`service: --faults: expected ${expected}, got ${got}`);
}

function isKind(name: string): name is FaultKind {
  return Object.hasOwn(faultKinds, name);
}

function isNumberName(name: string): name is keyof typeof numberSettings {
  return Object.hasOwn(numberSettings, name);
}

/** A write that arrives late does so outside of every other fault. */
const lateArrival = new AsyncLocalStorage<true>();

interface Deps {
  /** Milliseconds since 1970, of the service's own clock. */
  readonly now: () => number;
  readonly log: Logger | undefined;
}

/**
 * Makes faults happen to the requests of a server. A request with another token gets no fault, and
 * requests that the service refuses stay refused.
 */
export function addFaults(http: FastifyInstance, faults: Faults, deps: Deps): void {
  const faultByRequest = new WeakMap<FastifyRequest, FaultKind>();
  const timers = new Set<NodeJS.Timeout>();
  let count = 0;

  const sendLater = (request: FastifyRequest, afterMs: number) => {
    const {method, url, headers, body} = request;
    const timer = setTimeout(() => {
      timers.delete(timer);
      const payload = Buffer.isBuffer(body) ? {payload: body} : {};
      lateArrival.run(true, () => {
        http.inject({method: method as 'PUT', url, headers, ...payload}).catch((error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          deps.log?.error({event: 'service.failed', message}, 'a late request failed');
        });
      });
    }, afterMs);
    timers.add(timer);
  };

  http.addHook('preHandler', async (request, reply) => {
    if (lateArrival.getStore() === true) return;
    const random = new Random('faults', 'request', count++);
    await wait(Math.round(random.next() * faults.delay));
    const kind = drawFault(faults, random, request.method);
    if (kind === null) return;
    faultByRequest.set(request, kind);
    const {method, url} = request;
    deps.log?.info({event: 'service.fault', fault: kind, method, path: url}, messages[kind]);
    if (kind === 'throttled') {
      reply.header('retry-after', String(random.integer(1, 5)));
      throw new ServiceRefusal(429, 'Please try again later.');
    }
    if (kind === 'unavailable') throw new ServiceRefusal(503, 'Please try again later.');
    if (kind === 'late') {
      sendLater(request, random.next() * faults.lateSeconds * 1000);
      reply.hijack();
      request.raw.socket.resetAndDestroy();
    }
  });

  http.addHook('onSend', async (request, reply, payload) => {
    if (faults.skew !== 0) reply.header('date', new Date(deps.now()).toUTCString());
    const kind = faultByRequest.get(request);
    if (kind === 'lost') request.raw.socket.resetAndDestroy();
    if (kind !== 'failed' || reply.statusCode >= 300) return payload;
    for (const name of ['content-encoding', 'content-length', 'location']) reply.removeHeader(name);
    reply.code(500);
    return writeErrors(["We're sorry, but something went wrong."]);
  });

  http.addHook('onClose', async () => {
    for (const timer of timers) clearTimeout(timer);
  });
}

const messages: Readonly<Record<FaultKind, string>> = {
  throttled: 'answered 429; nothing was done',
  unavailable: 'answered 503; nothing was done',
  lost: 'done, and the answer is lost',
  failed: 'done, and answered 500',
  late: 'the connection breaks, and the request arrives later',
};

function drawFault({shares}: Faults, random: Random, method: string): FaultKind | null {
  const isRead = method === 'GET' || method === 'HEAD';
  let remaining = random.next();
  for (const kind of kindNames) {
    remaining -= shares[kind];
    if (remaining < 0) return isRead && faultKinds[kind] === 'write' ? null : kind;
  }
  return null;
}
