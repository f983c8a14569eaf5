// One port for all that is asked over HTTP: the console for people, /v1 for systems, and what tells
// whether all is well.

import fastify, {type FastifyInstance} from 'fastify';
import {FatalError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {type ApiOptions, addApi, sendProblem} from '../http/api.ts';
import {nameOfKey} from '../http/keys.ts';
import {listKnownNames} from '../http/known-names.ts';
import type {ApiPools} from '../http/pools.ts';
import {HttpProblem, maxBodyBytes} from '../http/problem.ts';
import {addTelemetry, type TelemetryDeps} from '../http/telemetry.ts';
import {addConsole} from './routes.ts';
import type {ConsoleOptions} from './services.ts';

export interface ServerOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Another port is taken where this one is in use. */
  readonly mayMove?: boolean;
  readonly console: ConsoleOptions;
  /** Sets logins of employees, in a process that opens accounts. */
  readonly setLogin?: NonNullable<ApiOptions['setLogin']>;
  /** The queue and the requests of a process that works. */
  readonly telemetry?: Pick<TelemetryDeps, 'queue' | 'requests'>;
}

/** An address with its method: `/sweeps/:sweepId`. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

export interface RunningServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Every address that it answers, as the parts of the server declare them. */
  readonly routes: readonly Route[];
  /** Answers the requests that have begun, then lets go of the port. */
  close(): Promise<void>;
}

const requestTimeoutMs = 60_000;

/**
 * Opens the server, on a warehouse that is migrated. The content of requests is never logged, nor
 * are keys.
 * @throws {FatalError} the port is taken, or the host is none of this machine
 */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const {host, port, mayMove = false} = options;
  const routes: Route[] = [];
  const app = await buildServer(options, routes);
  try {
    const url = await listen(app, {host, port, mayMove});
    return {url, routes, close: () => app.close()};
  } catch (cause) {
    await app.close();
    const reason = isTaken(cause)
      ? 'it is in use: stop what listens there, or give another port'
      : String(cause);
    throw new FatalError(`http: cannot listen on port ${port} of ${host}: ${reason}`, {
      cause,
      kind: 'port',
    });
  }
}

async function listen(
  app: FastifyInstance,
  {host, port, mayMove}: {readonly host: string; readonly port: number; readonly mayMove: boolean},
): Promise<string> {
  try {
    return await app.listen({host, port});
  } catch (error) {
    if (!mayMove || !isTaken(error)) throw error;
    return await app.listen({host, port: 0});
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

async function buildServer(
  {pools, log, host, console, telemetry, setLogin}: ServerOptions,
  routes: Route[],
): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    // Behind a proxy that we know, people come from the addresses that it tells.
    trustProxy: console.proxy?.addresses.slice() ?? false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (_error, _request, reply) =>
      sendProblem(reply, new HttpProblem(400, 'invalid', {detail: 'the address cannot be read'})),
  });
  app.addHook('onRoute', ({method, url}) => {
    for (const each of [method].flat()) routes.push({method: each, path: url});
  });
  app.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const {method, routeOptions} = request;
    const ms = Math.round(reply.elapsedTime);
    log.info(
      {key: nameOfKey(request), method, route: routeOptions.url, status: reply.statusCode, ms},
      'http',
    );
  });
  const known = listKnownNames(host, console);
  await addApi(app, {pools, log, known, directUrl: console.directUrl, setLogin: setLogin ?? null});
  await addTelemetry(app, {pool: pools.reads, log, known, ...telemetry});
  await addConsole(app, {pools, log, known, ...console});
  return app;
}
