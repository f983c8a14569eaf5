// The metrics that the catalogue lists: of the warehouse, of this process, and of its requests to
// the service.

import {Counter, collectDefaultMetrics, Gauge, Histogram, Registry} from '@prometheus-io/client';
import type {AccountState} from '../accounts/accounts.ts';
import type {HealthFigures} from '../alerts/problems.ts';
import type {AccountObserver, EndedRequest} from '../api/send-once.ts';
import type {Lateness} from '../changes/change-health.ts';
import {attemptOutcomes, openStates} from '../changes/states.ts';
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
const accountStates = wordsOf<AccountState>({active: true, paused: true, stopped: true});
const fullSweepEnds = wordsOf<Exclude<SweepEnd, 'refreshed'>>({
  ...{certified: true, uncertified: true, stopped: true, failed: true},
});
const latenesses = wordsOf<Lateness>({
  ...{
    untaken: true,
    failing: true,
    'in-doubt': true,
    conflict: true,
    altered: true,
    rejected: true,
    held: true,
  },
});
const eventKinds = wordsOf<FieldNews['kind']>({
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
    ...figures.accounts.flatMap((account) => samplesOfAccount(account, figures)),
    ...samplesOfTables(figures),
    ...samplesOfRetention(figures),
    ...samplesOfTargets(figures),
    ...samplesOfReports(figures),
    sample('workersAlive', {}, figures.workersAlive),
    sample(
      'starWait',
      {},
      figures.starWaitsSince === null ? 0 : ageOf(figures.starWaitsSince, figures),
    ),
  ];
}

/** The next reading reports an account that was added while the figures were read. */
function samplesOfAccount(
  {accountId, name, state}: HealthFigures['accounts'][number],
  figures: HealthFigures,
): Sample[] {
  const own = ownFigures(figures, accountId);
  const labels = {account: name};
  return [
    ...accountStates.map((word) =>
      sample('accountState', {...labels, state: word}, Number(word === state)),
    ),
    ...own.streams.flatMap((stream) => samplesOfStream(stream, own, labels)),
    ...samplesOfSchedules(own, labels),
    ...samplesOfChanges(own, labels),
    ...eventKinds.map((kind) => {
      const count = own.events.find((each) => each.kind === kind)?.count ?? 0;
      return sample('fieldEvents', {...labels, kind}, count);
    }),
  ];
}

function ownFigures(figures: HealthFigures, accountId: string): HealthFigures {
  const isOwn = (row: {readonly accountId: string}) => row.accountId === accountId;
  const {streams, promises, unfinished, nextDue, overdue, quarantine, changes, late, events} =
    figures;
  return {
    ...figures,
    streams: streams.filter(isOwn),
    promises: promises.filter(isOwn),
    unfinished: unfinished.filter(isOwn),
    nextDue: nextDue.filter(isOwn),
    overdue: overdue.filter(isOwn),
    quarantine: quarantine.filter(isOwn),
    changes: changes.filter(isOwn),
    late: late.filter(isOwn),
    events: events.filter(isOwn),
  };
}

function samplesOfChanges(own: HealthFigures, labels: Labels): Sample[] {
  return [
    ...openStates.map((state) => {
      const count = own.changes.find((each) => each.state === state)?.count ?? 0;
      return sample('changes', {...labels, state}, count);
    }),
    ...own.changes.map(({state, oldestAt}) =>
      sample('oldestChange', {...labels, state}, ageOf(oldestAt, own)),
    ),
    ...latenesses.map((reason) => {
      const count = own.late.reduce(
        (total, late) => (late.lateness === reason ? total + late.count : total),
        0,
      );
      return sample('lateChanges', {...labels, reason}, count);
    }),
  ];
}

function samplesOfStream(figures: StreamFigures, own: HealthFigures, ofAccount: Labels): Sample[] {
  const {stream, provenAge} = figures;
  const labels = {...ofAccount, stream};
  const isOwn = (row: {readonly stream: string}) => row.stream === stream;
  return [
    ...(provenAge === null ? [] : [sample('provenAge', labels, provenAge)]),
    ...samplesOfPromise(own.promises.filter(isOwn), own, labels),
    sample('unproven', labels, Number(provenAge === null)),
    sample('quarantine', labels, own.quarantine.find(isOwn)?.count ?? 0),
    ...unfinishedStates.map((state) => {
      const count = own.unfinished.filter(isOwn).find((each) => each.state === state)?.count ?? 0;
      return sample('unfinished', {...labels, state}, count);
    }),
    ...samplesOfFullSweep(figures, labels),
  ];
}

function samplesOfPromise(
  promises: HealthFigures['promises'],
  own: HealthFigures,
  labels: Labels,
): Sample[] {
  const promise = closestPromise(promises);
  if (promise === undefined) return [];
  const since = countsSince(promise);
  return [
    sample('promisedFreshness', labels, promise.everyMs / 1000),
    ...(since === null ? [] : [sample('wholeListAge', labels, ageOf(since, own))]),
  ];
}

function samplesOfFullSweep({lastFull}: StreamFigures, labels: Labels): Sample[] {
  if (lastFull === null) return [];
  const {state, age, duration, records, pages} = lastFull;
  return [
    ...fullSweepEnds.map((word) =>
      sample('fullSweepState', {...labels, state: word}, Number(word === state)),
    ),
    sample('fullSweepAge', labels, age),
    ...(duration === null ? [] : [sample('fullSweepDuration', labels, duration)]),
    sample('fullSweepRecords', labels, records),
    sample('fullSweepPages', labels, pages),
  ];
}

/** Schedules of one stream and mode are reported as one: a person chooses their names freely. */
function samplesOfSchedules(own: HealthFigures, ofAccount: Labels): Sample[] {
  return own.nextDue.flatMap(({stream, mode, at}) => {
    const labels = {...ofAccount, stream, mode};
    const waits = own.overdue
      .filter((each) => each.stream === stream && each.mode === mode)
      .map(({waitsSince}) => ageOf(waitsSince, own));
    return [sample('nextDue', labels, at), sample('overdue', labels, Math.max(0, ...waits))];
  });
}

function samplesOfTables({tables, databaseBytes}: HealthFigures): Sample[] {
  return [
    ...tables.flatMap(({schema, table, rows, bytes}) => [
      ...(rows === null ? [] : [sample('tableRows', {schema, table}, rows)]),
      sample('tableBytes', {schema, table}, bytes),
    ]),
    sample('databaseBytes', {}, databaseBytes),
  ];
}

function samplesOfRetention(figures: HealthFigures): Sample[] {
  const {kinds, prunedAt} = figures.retention;
  return [
    ...(prunedAt === null ? [] : [sample('prunedAge', {}, ageOf(prunedAt, figures))]),
    ...kinds.map(({kind, removed}) => sample('pruned', {kind}, removed)),
  ];
}

function samplesOfTargets(figures: HealthFigures): Sample[] {
  return figures.targets.flatMap(({name, latest, addedAt, attempts}) => {
    const labels = {target: name};
    return [
      sample('deliveryAge', labels, ageOf(latest?.deliveredAt ?? addedAt, figures)),
      sample('deliveryFailures', labels, attempts),
      ...(latest === null ? [] : [sample('deliveryBytes', labels, latest.bytes)]),
    ];
  });
}

function samplesOfReports(figures: HealthFigures): Sample[] {
  return figures.reportLists.flatMap(({name, lastSentAt, addedAt, waiting, givenUp}) => {
    const labels = {list: name};
    return [
      sample('reportAge', labels, ageOf(lastSentAt ?? addedAt, figures)),
      sample('reportsUnsent', labels, waiting + givenUp),
    ];
  });
}

function sample(metric: Sample['metric'], labels: Labels, value: number): Sample {
  return {metric, labels, value};
}

function ageOf(instant: string, {now}: HealthFigures): number {
  return Math.max(0, Date.parse(now) - Date.parse(instant)) / 1000;
}

function wordsOf<Word extends string>(words: Readonly<Record<Word, true>>): Word[] {
  return Object.keys(words) as Word[];
}

type Name = Sample['metric'];

/** The methods of a gauge and of a counter for a figure that is read again each time. */
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

function make(name: Name, registry: Registry): Shown {
  const metric = warehouseCatalogue[name];
  return metric.type === 'counter' ? makeCounter(metric, registry) : makeGauge(metric, registry);
}

/** A tenth of the package's own rate, so that an idle process can sleep. */
const utilisationEveryMs = 1_000;
/** A fifth of the package's own rate. Each figure of the lag includes this pause, too. */
const lagEveryMs = 50;
/**
 * Without samples, as when a process has just begun, these figures are not a number, or the number
 * of three hundred years.
 */
const ofNoSamples = ['min', 'mean', 'stddev'].map((part) => `nodejs_eventloop_lag_${part}_seconds`);

let watched: Registry | null = null;

/**
 * There is one process, and the package cannot stop watching it. So the watch begins once, when its
 * figures are first requested. Each reading resets the lag, so concurrent callers share one
 * reading: otherwise the second would get the lag of no time at all.
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

/**
 * In seconds: they cover a record from a near service, a page from a distant one, and the deadline
 * of a request.
 */
const buckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
/**
 * Results that queries select by name: they are reported as 0 before the first one, so that the
 * first one is seen as an increase.
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
