// The addresses for machines: whether this process is alive, whether it can do its work, and its
// metrics. A supervisor and Prometheus have no key, so every caller may read them. The answers
// therefore hold nothing about a person: names of accounts and counts, no record and no address.

import {Registry} from '@prometheus-io/client';
import type {FastifyInstance} from 'fastify';
import type pg from 'pg';
import {type HealthFigures, readHealthFigures} from '../alerts/problems.ts';
import type {Logger} from '../core/log.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {type KnownNames, namingHint} from './keys.ts';
import {
  ProcessMetrics,
  RequestMetrics,
  readNodeMetrics,
  toSamples,
  WarehouseMetrics,
} from './metrics.ts';
import {pageOfStatus} from './problem.ts';
import {
  CachedReading,
  OutageLog,
  type ReadinessDeps,
  ReadinessProbe,
  type ReadingOptions,
} from './readiness.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requested by a supervisor or a load balancer, which may use any host name. */
    isProbe?: boolean;
  }
}

const probeOptions = {config: {isProbe: true}} as const;

export type TelemetryDeps = ExporterDeps & ReadinessDeps & {readonly known: KnownNames};

/**
 * Adds `/livez`, `/readyz` and `/metrics`. A server that is open to other machines answers the
 * first two under any host name.
 */
export async function addTelemetry(server: FastifyInstance, deps: TelemetryDeps): Promise<void> {
  const exporter = new Exporter(deps);
  const readiness = new ReadinessProbe(deps);
  await server.register(async (app) => {
    app.addHook('onRequest', async ({hostname, routeOptions: {config}}, reply) => {
      if (config.isProbe === true ? deps.known.hasForProbe(hostname) : deps.known.has(hostname))
        return;
      await reply.code(421).send({
        status: 'misdirected',
        reason: `this server does not go by that name. ${namingHint}`,
        docs: pageOfStatus(421),
      });
    });
    // If this address answers, the event loop runs. A database that does not answer is no reason to
    // end the process.
    app.get('/livez', probeOptions, async () => ({status: 'ok'}));
    app.get('/readyz', probeOptions, async (_request, reply) => {
      const {isReady, checks} = await readiness.look();
      return reply
        .code(isReady ? 200 : 503)
        .send({status: isReady ? 'ready' : 'not-ready', checks});
    });
    app.get('/metrics', async (_request, reply) => {
      const text = await exporter.expose();
      return reply.type(exporter.contentType).send(text);
    });
  });
}

interface ExporterDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The requests of this process to the service; left out if it sends none. */
  readonly requests?: RequestMetrics;
  readonly reading?: Partial<ReadingOptions>;
}

/**
 * Prometheus gives up after ten seconds by default, and an answer without figures is better than
 * none.
 */
const defaultReading: ReadingOptions = {freshMs: 5_000, patienceMs: 5_000};

/** Returns all metrics in Prometheus' text format, whatever state the warehouse is in. */
class Exporter {
  readonly #absence: OutageLog;
  readonly #databaseUrl: string;
  readonly #figures: CachedReading<HealthFigures>;
  readonly #warehouse = new WarehouseMetrics();
  readonly #process = new ProcessMetrics();
  readonly #ownRegistry: Registry;

  constructor({pool, log, requests = new RequestMetrics(), reading}: ExporterDeps) {
    this.#absence = new OutageLog(log, 'metrics: the warehouse');
    this.#databaseUrl = pool.options.connectionString ?? '';
    this.#figures = new CachedReading(() => this.#read(pool), {...defaultReading, ...reading});
    const groups = [this.#warehouse, requests, this.#process];
    this.#ownRegistry = Registry.merge(groups.map(({registry}) => registry));
  }

  get contentType(): string {
    return this.#ownRegistry.contentType;
  }

  /**
   * Returns the metrics as text. If the warehouse does not answer, they lack its figures and have
   * `fieldmirror_warehouse_up 0`.
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
    return `${await this.#ownRegistry.metrics()}\n${await readNodeMetrics()}`;
  }

  async #read(pool: pg.Pool): Promise<HealthFigures> {
    const startedAt = performance.now();
    const figures = await readHealthFigures(pool);
    this.#process.tookReading(performance.now() - startedAt);
    return figures;
  }
}
