import {Counter, Gauge, Histogram, type Registry} from '@prometheus-io/client';
import type {Metric} from './metric-catalogue.ts';

/** Makes a gauge as the catalogue has it. */
export function makeGauge(metric: Metric, registry: Registry): Gauge<string> {
  return new Gauge(configure(metric, registry));
}

/** Makes a counter as the catalogue has it. */
export function makeCounter(metric: Metric, registry: Registry): Counter<string> {
  return new Counter(configure(metric, registry));
}

/** Makes a histogram as the catalogue has it. */
export function makeHistogram(
  metric: Metric,
  registry: Registry,
  buckets: readonly number[],
): Histogram<string> {
  return new Histogram({...configure(metric, registry), buckets: [...buckets]});
}

function configure({name, help, labels}: Metric, registry: Registry) {
  return {name, help, labelNames: labels, registers: [registry]};
}
