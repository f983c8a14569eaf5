import {Registry} from '@prometheus-io/client';
import {makeCounter, makeGauge} from './make-metric.ts';
import {warehouseCatalogue} from './metric-catalogue.ts';
import type {Sample} from './metric-samples.ts';

type Name = Sample['metric'];

/** The part of a gauge and of a counter that shows a figure which is read anew each time. */
interface Shown {
  reset(): void;
  inc(labels: Sample['labels'], value: number): void;
  remove(labels: Sample['labels']): void;
}

const names = Object.keys(warehouseCatalogue) as Name[];

/** The metrics that are read from rows. Each is shown as it was read last, or not at all. */
export class WarehouseMetrics {
  readonly registry = new Registry();
  readonly #metrics: ReadonlyMap<Name, Shown>;

  constructor() {
    this.#metrics = new Map(names.map((name) => [name, make(name, this.registry)]));
    this.clear();
  }

  /** Shows these samples and no others. */
  show(samples: readonly Sample[]): void {
    this.clear();
    for (const {metric, labels, value} of samples) this.#metrics.get(metric)?.inc(labels, value);
  }

  /** Shows none: an old figure would look like a present one. */
  clear(): void {
    for (const [name, metric] of this.#metrics) {
      metric.reset();
      // Without labels a reset leaves a 0 behind: no worker would seem to be alive while nobody
      // knows.
      if (warehouseCatalogue[name].labels.length === 0) metric.remove({});
    }
  }
}

function make(name: Name, registry: Registry): Shown {
  const metric = warehouseCatalogue[name];
  return metric.type === 'counter' ? makeCounter(metric, registry) : makeGauge(metric, registry);
}
