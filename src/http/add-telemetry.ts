// What machines ask of this process: whether it lives, whether it can work, and its figures. All of
// it is open to every caller, as a supervisor and Prometheus have no key, so it tells of nobody:
// names of accounts and counts, no record and no address.

import type {FastifyInstance} from 'fastify';
import {pageOfStatus} from './answer-pages.ts';
import {type KnownNames, namingHint} from './known-names.ts';
import {Exporter, type ExporterDeps} from './metric-exporter.ts';
import {type ReadinessDeps, ReadinessProbe} from './readiness.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Asked by a supervisor or a load balancer, which may use any name. */
    isProbe?: boolean;
  }
}

const probe = {config: {isProbe: true}} as const;

export type TelemetryDeps = ExporterDeps & ReadinessDeps & {readonly known: KnownNames};

/**
 * Adds `/livez`, `/readyz` and `/metrics`. A server that is open to other machines answers the
 * first two by any name.
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
    // The event loop runs, or there would be no answer: a database that is away is no reason to end
    // the process.
    app.get('/livez', probe, async () => ({status: 'ok'}));
    app.get('/readyz', probe, async (_request, reply) => {
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
