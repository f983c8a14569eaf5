// The HTTP API: HTTP and JSON for systems that do not speak SQL. It adds nothing to what SQL can do.

import fastify, {type FastifyInstance, type FastifyReply, type FastifyRequest} from 'fastify';
import type pg from 'pg';
import type {z} from 'zod';
import {FatalError, RetryableError} from '../base/errors.ts';
import type {Logger} from '../base/log.ts';
import {explainDatabaseError} from '../warehouse/postgres/database-errors.ts';
import {nameOfKey, requireKey} from './api/authentication.ts';
import {addDocument} from './api/document.ts';
import {findFlaws} from './api/problems/flaws.ts';
import {type Flaw, Problem} from './api/problems/problem.ts';
import {addRoutes} from './api/routes.ts';
import type {ApiPools} from './pools.ts';

export interface HttpOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
}

export interface RunningHttpApi {
  /** Without a slash at its end. */
  readonly url: string;
  /** Answers the requests that have begun, then lets go of the port. */
  close(): Promise<void>;
}

const maxBodyBytes = 1_000_000;
const requestTimeoutMs = 60_000;
const retryAfterSeconds = 5;

const places: Readonly<Record<string, Flaw['in']>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/**
 * Opens the HTTP API, on a warehouse that is migrated. The content of requests is never logged, nor are keys.
 * @throws {FatalError} the port is taken, or the host is none of this machine
 */
export async function openHttpApi({pools, log, host, port}: HttpOptions): Promise<RunningHttpApi> {
  const app = await buildHttpApi(pools, log);
  try {
    const url = await app.listen({host, port});
    return {url, close: () => app.close()};
  } catch (cause) {
    await app.close();
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = isTaken ? 'it is in use: stop what listens there, or give another port' : String(cause);
    throw new FatalError(`http: cannot listen on port ${port} of ${host}: ${reason}`, {cause});
  }
}

async function buildHttpApi(pools: HttpOptions['pools'], log: Logger): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (_error, _request, reply) =>
      sendProblem(reply, new Problem(400, 'invalid', {detail: 'the address cannot be read'})),
  });
  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler<z.ZodType>(({schema, httpPart}) =>
    checkWith(schema, places[httpPart ?? ''] ?? 'body'),
  );
  // Answers are made by our own statements, and the tests compare them with the document.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  app.setErrorHandler((error, request, reply) =>
    sendProblem(
      reply,
      toProblem(explainDatabaseError(error, pools.reads.options.connectionString ?? ''), request, log),
    ),
  );
  app.setNotFoundHandler(() => {
    throw new Problem(404, 'not-found', {hint: 'GET /v1/openapi.json lists every address.'});
  });
  requireKey(app, pools.reads);
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
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
  await addDocument(app);
  await app.register(addRoutes(pools), {prefix: '/v1'});
  addPlainRoutes(app, pools.reads);
  return app;
}

function addPlainRoutes(app: FastifyInstance, pool: pg.Pool): void {
  const schema = {hide: true};
  app.get('/v1/openapi.json', {schema}, async () => app.swagger());
  app.get('/healthz', {schema, config: {isOpen: true}}, async () => {
    await pool.query('SELECT 1');
    return {status: 'ok'};
  });
}

function checkWith(schema: z.ZodType, place: Flaw['in']) {
  return (value: unknown) => {
    const read = schema.safeParse(value);
    if (read.success) return {value: read.data};
    const errors = findFlaws(read.error.issues, {place, value});
    const [worst] = errors;
    const detail =
      worst && `${worst.at === '' ? place : worst.at}: expected ${worst.expected}, got ${worst.got}`;
    return {error: new Problem(400, 'invalid', {errors, ...(detail === undefined ? {} : {detail})})};
  };
}

/** Words for the refusals of the framework. */
const refusals: Readonly<Record<number, readonly [kind: string, detail: string]>> = {
  400: ['invalid', 'the body is no JSON'],
  413: ['too-large', `expected a body of at most ${maxBodyBytes} bytes`],
  415: ['unsupported', 'expected Content-Type: application/json'],
};

function toProblem(error: Error, request: FastifyRequest, log: Logger): Problem {
  if (error instanceof Problem) return error;
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status < 500) {
    const [kind, detail] = refusals[status] ?? ['invalid', 'the request cannot be read'];
    return new Problem(status, kind, {detail});
  }
  // A message may quote the request: an error that is not ours is logged by its place alone.
  const isOurs = error instanceof RetryableError || error instanceof FatalError;
  const where = isOurs
    ? error.message
    : `${error.name} ${error.stack?.replace(/^.*?(?=\n\s+at )/s, '') ?? ''}`;
  log.error(
    {method: request.method, route: request.routeOptions.url, reason: where},
    'http: a request failed',
  );
  if (isLocked(error)) {
    return new Problem(503, 'locked', {
      detail: 'another transaction is changing a row that this change needs, and has not ended',
      hint: 'Nothing was done: send the same again later.',
    });
  }
  if (!isOurs) return new Problem(500, 'bug', {hint: 'The log of the HTTP API has more.'});
  return new Problem(503, 'unavailable', {
    detail: 'the warehouse cannot be reached, or is too busy',
    hint: 'Send the same again later; with an Idempotency-Key nothing happens twice.',
  });
}

/** lock_not_available: another transaction holds the row for longer than a write waits. */
function isLocked({cause}: Error): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === '55P03';
}

function sendProblem(reply: FastifyReply, {body}: Problem): void {
  if (body.status === 401) reply.header('www-authenticate', 'Bearer');
  if (body.status === 503 || body.status === 429) reply.header('retry-after', String(retryAfterSeconds));
  void reply
    .code(body.status)
    .type('application/problem+json')
    .serializer((problem: unknown) => JSON.stringify(problem))
    .send(body);
}
