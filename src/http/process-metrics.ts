import {collectDefaultMetrics, Registry} from '@prometheus-io/client';
import {readVersion} from '../core/package.ts';
import {CachedReading} from './cached-reading.ts';
import {makeGauge} from './make-metric.ts';
import {processCatalogue} from './metric-catalogue.ts';

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
