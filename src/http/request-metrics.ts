import {Registry} from '@prometheus-io/client';
import type {AccountObserver, EndedRequest} from '../api/send-once.ts';
import {attemptOutcomes} from '../changes/change-states.ts';
import {makeCounter, makeGauge, makeHistogram} from './make-metric.ts';
import {requestCatalogue} from './metric-catalogue.ts';

/** In seconds: a record on a near line, a page on a far one, and the deadline of a request. */
const buckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
/**
 * Results that are asked for by name: told as 0 before the first, so that the first is seen to
 * come.
 */
const expected = ['200', '429', '503', 'network', 'deadline'] as const;

/**
 * Counts the requests that this process sends to the service. Give it to `Accounts.observe`, and to
 * `addTelemetry`.
 */
export class RequestMetrics implements AccountObserver {
  readonly registry = new Registry();
  readonly #requests = makeCounter(requestCatalogue.requests, this.registry);
  readonly #duration = makeHistogram(requestCatalogue.duration, this.registry, buckets);
  readonly #bytes = makeCounter(requestCatalogue.bytes, this.registry);
  readonly #concurrency = makeGauge(requestCatalogue.concurrency, this.registry);
  readonly #attempts = makeCounter(requestCatalogue.attempts, this.registry);
  readonly #met = new Set<string>();

  readonly ended = (account: string, request: EndedRequest): void => {
    this.#meet(account);
    const {method, result, ms, bodyBytes, concurrency} = request;
    this.#requests.inc({account, method, result: String(result)});
    this.#duration.observe({account, method}, ms / 1000);
    this.#bytes.inc({account}, bodyBytes);
    this.#concurrency.set({account}, concurrency);
  };

  readonly written = (account: string, outcome: string): void => {
    this.#meet(account);
    this.#attempts.inc({account, outcome});
  };

  #meet(account: string): void {
    if (this.#met.has(account)) return;
    this.#met.add(account);
    for (const result of expected) this.#requests.inc({account, method: 'GET', result}, 0);
    for (const outcome of attemptOutcomes) this.#attempts.inc({account, outcome}, 0);
  }
}
