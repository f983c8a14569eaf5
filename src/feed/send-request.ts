// One request to a receiver: never redirected, a deadline for the whole, and the body of the answer
// is not looked at.

import type {LookupFunction} from 'node:net';
import {isLoopback, onlyThisMachine} from '../api/addresses.ts';
import {createAgents} from '../api/agents.ts';
import {ExchangeError, exchange} from '../api/exchange.ts';
import {parseRetryAfter} from '../api/retry.ts';
import {describeFailure} from '../api/verdict.ts';
import {RetryableError} from '../core/errors.ts';

const limits = {timeoutMs: 10_000, maxBodyBytes: 1_000_000, maxHeaders: 200};

/** How it is sent, whatever it is. */
export interface Way {
  readonly signal?: AbortSignal | undefined;
  readonly allowsLinkLocal?: boolean | undefined;
  /** Looks names up, in place of the system. */
  readonly lookup?: LookupFunction | undefined;
}

/** A request of JSON; or without a body a GET. */
export interface Sending extends Way {
  readonly url: URL;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends it once.
 * @returns the answer, for a person: `200`
 * @throws {RetryableError} anything but 2xx: it names host and status, never the path, which may be
 *   a secret
 */
export async function sendRequest({url, body, headers = {}, ...way}: Sending): Promise<string> {
  const {signal, lookup: named, allowsLinkLocal: allowLinkLocal} = way;
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname);
  const lookup = isLocal ? onlyThisMachine(named) : named;
  const {reads, writes} = createAgents({allowLinkLocal, ...(lookup === undefined ? {} : {lookup})});
  try {
    const request = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      headers: {
        'user-agent': 'fieldmirror',
        ...(body === undefined ? {} : {'content-type': 'application/json'}),
        ...headers,
      },
      body: body ?? null,
    };
    const {status, headers: got} = await exchange(writes, request, {...limits, signal});
    if (status >= 200 && status < 300) return String(status);
    const retryAfter = got['retry-after'];
    const retryAfterMs = parseRetryAfter(
      typeof retryAfter === 'string' ? retryAfter : undefined,
      Date.now(),
    );
    throw new RetryableError(`${url.host}: expected an answer of 2xx, got ${status}`, {
      retryAfterMs,
    });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    throw new RetryableError(`${url.host}: expected an answer, got ${describeFailure(error)}`);
  } finally {
    await Promise.all([reads.destroy(), writes.destroy()]);
  }
}
