// The metrics that the catalogue lists: of the warehouse, of this process, and of its requests to
// the service.

import {Counter, collectDefaultMetrics, Gauge, Histogram, Registry} from '@prometheus-io/client';
import type {AccountState} from '../accounts/accounts.ts';
import type {HealthFigures} from '../alerts/problems.ts';
import type {AccountObserver, EndedRequest} from '../api/send-once.ts';
import {attemptOutcomes, type Lateness, openStates} from '../changes/states.ts';
import {readVersion} from '../core/package.ts';
import type {FieldNews} from '../health/account-status.ts';
import type {StreamFigures} from '../health/figures.ts';
import {closestPromise, countsSince} from '../sweeps/freshness.ts';
import type {SweepEnd} from '../sweeps/sweeps.ts';
import {
  type Metric,
  processCatalogue,
  requestCatalogue,
  warehouseCatalogue,
} from './metric-catalogue.ts';
import {CachedReading} from './readiness.ts';

/** Makes a gauge as the catalogue has it. */
function makeGauge(metric: Metric, registry: Registry): Gauge<string> {
  return new Gauge(configure(metric, registry));
}

/** Makes a counter as the catalogue has it. */
function makeCounter(metric: Metric, registry: Registry): Counter<string> {
  return new Counter(configure(metric, registry));
}

/** Makes a histogram as the catalogue has it. */
function makeHistogram(
  metric: Metric,
  registry: Registry,
  buckets: readonly number[],
): Histogram<string> {
  return new Histogram({...configure(metric, registry), buckets: [...buckets]});
}

function configure({name, help, labels}: Metric, registry: Registry) {
  return {name, help, labelNames: labels, registers: [registry]};
}

/** One figure of one metric. */
interface Sample {
  readonly metric: keyof typeof warehouseCatalogue;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Labels = Sample['labels'];

// These are records, so that the compiler requires each new state here as well.
const accountStates = listKeys<AccountState>({active: true, paused: true, stopped: true});
const fullSweepEnds = listKeys<Exclude<SweepEnd, 'refreshed'>>({
  certified: true,
  uncertified: true,
  stopped: true,
  failed: true,
});
const latenesses = listKeys<Lateness>({
  untaken: true,
  failing: true,
  'in-doubt': true,
  conflict: true,
  altered: true,
  rejected: true,
  held: true,
});
const eventKinds = listKeys<FieldNews['kind']>({
  new: true,
  vanished: true,
  returned: true,
  retyped: true,
});
const unfinishedStates = ['due', 'running'] as const;

/**
 * Makes the samples of the warehouse's figures. A count that may be 0 is reported as 0: an alert on
 * a metric that is absent until something goes wrong would miss the first time.
 */
export function toSamples(figures: HealthFigures): Sample[] {
  return [
    ...figures.accounts.flatMap((account) => listAccountSamples(account, figures)),
    ...listTableSamples(figures),
    ...listRetentionSamples(figures),
    ...listTargetSamples(figures),
    ...listReportSamples(figures),
    createSample('workersAlive', {}, figures.workersAlive),
    createSample(
      'starWait',
      {},
      figures.starWaitsSince === null ? 0 : computeAge(figures.starWaitsSince, figures),
    ),
  ];
}

/** The next reading reports an account that was added while the figures were read. */
function listAccountSamples(
  {accountId, name, state}: HealthFigures['accounts'][number],
  figures: HealthFigures,
): Sample[] {
  const accountFigures = pickAccountFigures(figures, accountId);
  const labels = {account: name};
  return [
    ...accountStates.map((accountState) =>
      createSample(
        'accountState',
        {...labels, state: accountState},
        Number(accountState === state),
      ),
    ),
    ...accountFigures.streams.flatMap((stream) =>
      listStreamSamples(stream, accountFigures, labels),
    ),
    ...listScheduleSamples(accountFigures, labels),
    ...listChangeSamples(accountFigures, labels),
    ...eventKinds.map((kind) => {
      const count = accountFigures.events.find((event) => event.kind === kind)?.count ?? 0;
      return createSample('fieldEvents', {...labels, kind}, count);
    }),
  ];
}

function pickAccountFigures(figures: HealthFigures, accountId: string): HealthFigures {
  const isOfAccount = (row: {readonly accountId: string}) => row.accountId === accountId;
  const {streams, promises, unfinished, nextDue, overdue, quarantine, changes, late, events} =
    figures;
  return {
    ...figures,
    streams: streams.filter(isOfAccount),
    promises: promises.filter(isOfAccount),
    unfinished: unfinished.filter(isOfAccount),
    nextDue: nextDue.filter(isOfAccount),
    overdue: overdue.filter(isOfAccount),
    quarantine: quarantine.filter(isOfAccount),
    changes: changes.filter(isOfAccount),
    late: late.filter(isOfAccount),
    events: events.filter(isOfAccount),
  };
}

function listChangeSamples(accountFigures: HealthFigures, labels: Labels): Sample[] {
  return [
    ...openStates.map((state) => {
      const count = accountFigures.changes.find((group) => group.state === state)?.count ?? 0;
      return createSample('changes', {...labels, state}, count);
    }),
    ...accountFigures.changes.map(({state, oldestAt}) =>
      createSample('oldestChange', {...labels, state}, computeAge(oldestAt, accountFigures)),
    ),
    ...latenesses.map((reason) => {
      const count = accountFigures.late.reduce(
        (total, late) => (late.lateness === reason ? total + late.count : total),
        0,
      );
      return createSample('lateChanges', {...labels, reason}, count);
    }),
  ];
}

function listStreamSamples(
  figures: StreamFigures,
  accountFigures: HealthFigures,
  accountLabels: Labels,
): Sample[] {
  const {stream, provenAge} = figures;
  const labels = {...accountLabels, stream};
  const isOfStream = (row: {readonly stream: string}) => row.stream === stream;
  return [
    ...(provenAge === null ? [] : [createSample('provenAge', labels, provenAge)]),
    ...listPromiseSamples(accountFigures.promises.filter(isOfStream), accountFigures, labels),
    createSample('unproven', labels, Number(provenAge === null)),
    createSample('quarantine', labels, accountFigures.quarantine.find(isOfStream)?.count ?? 0),
    ...unfinishedStates.map((state) => {
      const count =
        accountFigures.unfinished.filter(isOfStream).find((group) => group.state === state)
          ?.count ?? 0;
      return createSample('unfinished', {...labels, state}, count);
    }),
    ...listFullSweepSamples(figures, labels),
  ];
}

function listPromiseSamples(
  promises: HealthFigures['promises'],
  accountFigures: HealthFigures,
  labels: Labels,
): Sample[] {
  const promise = closestPromise(promises);
  if (promise === undefined) return [];
  const since = countsSince(promise);
  return [
    createSample('promisedFreshness', labels, promise.everyMs / 1000),
    ...(since === null
      ? []
      : [createSample('wholeListAge', labels, computeAge(since, accountFigures))]),
  ];
}

function listFullSweepSamples({lastFull}: StreamFigures, labels: Labels): Sample[] {
  if (lastFull === null) return [];
  const {state, age, duration, records, pages} = lastFull;
  return [
    ...fullSweepEnds.map((sweepState) =>
      createSample('fullSweepState', {...labels, state: sweepState}, Number(sweepState === state)),
    ),
    createSample('fullSweepAge', labels, age),
    ...(duration === null ? [] : [createSample('fullSweepDuration', labels, duration)]),
    createSample('fullSweepRecords', labels, records),
    createSample('fullSweepPages', labels, pages),
  ];
}

/** Schedules of one stream and mode are reported as one: a person chooses their names freely. */
function listScheduleSamples(accountFigures: HealthFigures, accountLabels: Labels): Sample[] {
  return accountFigures.nextDue.flatMap(({stream, mode, at}) => {
    const labels = {...accountLabels, stream, mode};
    const waitSeconds = accountFigures.overdue
      .filter((schedule) => schedule.stream === stream && schedule.mode === mode)
      .map(({waitsSince}) => computeAge(waitsSince, accountFigures));
    return [
      createSample('nextDue', labels, at),
      createSample('overdue', labels, Math.max(0, ...waitSeconds)),
    ];
  });
}

function listTableSamples({tables, databaseBytes}: HealthFigures): Sample[] {
  return [
    ...tables.flatMap(({schema, table, rows, bytes}) => [
      ...(rows === null ? [] : [createSample('tableRows', {schema, table}, rows)]),
      createSample('tableBytes', {schema, table}, bytes),
    ]),
    createSample('databaseBytes', {}, databaseBytes),
  ];
}

function listRetentionSamples(figures: HealthFigures): Sample[] {
  const {kinds, prunedAt} = figures.retention;
  return [
    ...(prunedAt === null ? [] : [createSample('prunedAge', {}, computeAge(prunedAt, figures))]),
    ...kinds.map(({kind, removed}) => createSample('pruned', {kind}, removed)),
  ];
}

function listTargetSamples(figures: HealthFigures): Sample[] {
  return figures.targets.flatMap(({name, latest, addedAt, attempts}) => {
    const labels = {target: name};
    return [
      createSample('deliveryAge', labels, computeAge(latest?.deliveredAt ?? addedAt, figures)),
      createSample('deliveryFailures', labels, attempts),
      ...(latest === null ? [] : [createSample('deliveryBytes', labels, latest.bytes)]),
    ];
  });
}

function listReportSamples(figures: HealthFigures): Sample[] {
  return figures.reportLists.flatMap(({name, lastSentAt, addedAt, waiting, givenUp}) => {
    const labels = {list: name};
    return [
      createSample('reportAge', labels, computeAge(lastSentAt ?? addedAt, figures)),
      createSample('reportsUnsent', labels, waiting + givenUp),
    ];
  });
}

function createSample(metric: Sample['metric'], labels: Labels, value: number): Sample {
  return {metric, labels, value};
}

function computeAge(instant: string, {now}: HealthFigures): number {
  return Math.max(0, Date.parse(now) - Date.parse(instant)) / 1000;
}

function listKeys<Key extends string>(record: Readonly<Record<Key, true>>): Key[] {
  return Object.keys(record) as Key[];
}

type MetricName = Sample['metric'];

/** The methods of a gauge and of a counter for a figure that is read again each time. */
interface WarehouseMetric {
  reset(): void;
  inc(labels: Sample['labels'], value: number): void;
  remove(labels: Sample['labels']): void;
}

const metricNames = Object.keys(warehouseCatalogue) as MetricName[];

/** The metrics that are read from rows. Each is shown as it was read last, or not at all. */
export class WarehouseMetrics {
  readonly registry = new Registry();
  readonly #metrics: ReadonlyMap<MetricName, WarehouseMetric>;

  constructor() {
    this.#metrics = new Map(
      metricNames.map((name) => [name, makeWarehouseMetric(name, this.registry)]),
    );
    this.clear();
  }

  /** Shows these samples and no others. */
  show(samples: readonly Sample[]): void {
    this.clear();
    for (const {metric, labels, value} of samples) this.#metrics.get(metric)?.inc(labels, value);
  }

  /** Shows no samples: an old figure would look like a current one. */
  clear(): void {
    for (const [name, metric] of this.#metrics) {
      metric.reset();
      // A reset leaves a 0 on a metric without labels: it would seem that no worker is alive,
      // although that is unknown.
      if (warehouseCatalogue[name].labels.length === 0) metric.remove({});
    }
  }
}

function makeWarehouseMetric(name: MetricName, registry: Registry): WarehouseMetric {
  const metric = warehouseCatalogue[name];
  return metric.type === 'counter' ? makeCounter(metric, registry) : makeGauge(metric, registry);
}

/** A tenth of the package's own rate, so that an idle process can sleep. */
const utilisationIntervalMs = 1_000;
/** A fifth of the package's own rate. Each figure of the lag includes this pause, too. */
const lagIntervalMs = 50;
/**
 * Without samples, as when a process has just begun, these figures are not a number, or the number
 * of three hundred years.
 */
const metricsWithoutSamples = ['min', 'mean', 'stddev'].map(
  (figure) => `nodejs_eventloop_lag_${figure}_seconds`,
);

let nodeRegistry: Registry | null = null;

/**
 * There is one process, and the package cannot stop watching it. So the watch begins once, when its
 * figures are first requested. Each reading resets the lag, so concurrent callers share one
 * reading: otherwise the second would get the lag of no time at all.
 */
const nodeMetrics = new CachedReading(
  async () => {
    nodeRegistry ??= watchNode();
    return await nodeRegistry.metrics();
  },
  {freshMs: 5_000, patienceMs: 5_000},
);

/** CPU, memory, event loop and garbage collections of this process, as Prometheus reads them. */
export async function readNodeMetrics(): Promise<string> {
  return await nodeMetrics.get();
}

function watchNode(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: utilisationIntervalMs,
    eventLoopMonitoringPrecision: lagIntervalMs,
  });
  for (const name of metricsWithoutSamples) registry.removeSingleMetric(name);
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

/**
 * In seconds: they cover a record from a near service, a page from a distant one, and the deadline
 * of a request.
 */
const buckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
/**
 * Results that queries select by name: they are reported as 0 before the first one, so that the
 * first one is seen as an increase.
 */
const expectedResults = ['200', '429', '503', 'network', 'deadline'] as const;

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
    for (const result of expectedResults) this.#requests.inc({account, method: 'GET', result}, 0);
    for (const outcome of attemptOutcomes) this.#attempts.inc({account, outcome}, 0);
  }
}
