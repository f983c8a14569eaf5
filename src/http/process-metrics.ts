// The metrics of this process and of its requests of the service.

import {collectDefaultMetrics, Registry} from '@prometheus-io/client';
import type {AccountObserver, EndedRequest} from '../api/send-once.ts';
import {attemptOutcomes} from '../changes/states.ts';
import {readVersion} from '../core/package.ts';
import {processCatalogue, requestCatalogue} from './metric-catalogue.ts';
import {makeCounter, makeGauge, makeHistogram} from './metrics.ts';
import {CachedReading} from './readiness.ts';

/** Ten times as seldom as the package's own pace: a process that has nothing to do shall sleep. */
const utilisationEveryMs = 1_000;
/** Five times as seldom. Each figure of the lag holds this pause, too. */
const lagEveryMs = 50;
/**
 * Of no samples they are no number, or that of three hundred years: so it is when a process has
 * just begun.
 */
const ofNoSamples = ['min', 'mean', 'stddev'].map((part) => `nodejs_eventloop_lag_${part}_seconds`);

let watched: Registry | null = null;

/**
 * The process is one, and the package cannot stop watching it: so it begins once, when its figures
 * are first asked for. Each reading forgets the lag before it: two who ask at once share one, or
 * the second would be told of no time at all.
 */
const ofNode = new CachedReading(
  async () => {
    watched ??= watchNode();
    return await watched.metrics();
  },
  {freshMs: 5_000, patienceMs: 5_000},
);

/** CPU, memory, event loop and garbage collections of this process, as Prometheus reads them. */
export async function readNodeMetrics(): Promise<string> {
  return await ofNode.get();
}

function watchNode(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: utilisationEveryMs,
    eventLoopMonitoringPrecision: lagEveryMs,
  });
  for (const name of ofNoSamples) registry.removeSingleMetric(name);
  return registry;
}

/** The metrics about the answer itself. */
export class ProcessMetrics {
  readonly registry = new Registry();
  readonly #warehouseUp = makeGauge(processCatalogue.warehouseUp, this.registry);
  readonly #reading = makeGauge(processCatalogue.reading, this.registry);

  constructor() {
    makeGauge(processCatalogue.build, this.registry).set({version: readVersion()}, 1);
  }

  set isWarehouseUp(isUp: boolean) {
    this.#warehouseUp.set(Number(isUp));
  }

  /** @param ms - how long the figures took to read */
  tookReading(ms: number): void {
    this.#reading.set(ms / 1000);
  }
}

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
