import {Registry} from '@prometheus-io/client';
import type pg from 'pg';
import {type HealthFigures, readHealthFigures} from '../alerts/health-figures.ts';
import type {Logger} from '../core/log.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {CachedReading, type ReadingOptions} from './cached-reading.ts';
import {Absence} from './metric-absence.ts';
import {toSamples} from './metric-samples.ts';
import {ProcessMetrics, readNodeMetrics} from './process-metrics.ts';
import {RequestMetrics} from './request-metrics.ts';
import {WarehouseMetrics} from './warehouse-metrics.ts';

export interface ExporterDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The requests of this process to the service; left out where it sends none. */
  readonly requests?: RequestMetrics;
  readonly reading?: Partial<ReadingOptions>;
}

/**
 * Prometheus gives up after ten seconds by default, and an answer without figures is better than
 * none.
 */
const defaults: ReadingOptions = {freshMs: 5_000, patienceMs: 5_000};

/** Tells all metrics in Prometheus' text format, whatever state the warehouse is in. */
export class Exporter {
  readonly #absence: Absence;
  readonly #databaseUrl: string;
  readonly #figures: CachedReading<HealthFigures>;
  readonly #warehouse = new WarehouseMetrics();
  readonly #process = new ProcessMetrics();
  readonly #own: Registry;

  constructor({pool, log, requests = new RequestMetrics(), reading}: ExporterDeps) {
    this.#absence = new Absence(log, 'metrics: the warehouse');
    this.#databaseUrl = pool.options.connectionString ?? '';
    this.#figures = new CachedReading(() => this.#read(pool), {...defaults, ...reading});
    const parts = [this.#warehouse, requests, this.#process];
    this.#own = Registry.merge(parts.map(({registry}) => registry));
  }

  get contentType(): string {
    return this.#own.contentType;
  }

  /**
   * Without the figures of the warehouse, and with `fieldmirror_warehouse_up 0`, where it does not
   * answer.
   */
  async expose(): Promise<string> {
    try {
      this.#warehouse.show(toSamples(await this.#figures.get()));
      this.#process.isWarehouseUp = true;
      this.#absence.noteHere();
    } catch (error) {
      this.#warehouse.clear();
      this.#process.isWarehouseUp = false;
      this.#absence.noteAway(explainDatabaseError(error, this.#databaseUrl).message);
    }
    return `${await this.#own.metrics()}\n${await readNodeMetrics()}`;
  }

  async #read(pool: pg.Pool): Promise<HealthFigures> {
    const begun = performance.now();
    const figures = await readHealthFigures(pool);
    this.#process.tookReading(performance.now() - begun);
    return figures;
  }
}
