// HTTP around the routes: authentication, refusals before a route is asked, and the sending of
// answers.

import {randomUUID, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import {gzip} from 'node:zlib';
import type {FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods} from 'fastify';
import fastify from 'fastify';
import type {Logger} from '../core/log.ts';
import {customerRoutes} from './customer-routes.ts';
import type {ServiceQueryable} from './database.ts';
import {employeeRoutes, timeEntryRoutes} from './employee-routes.ts';
import {jobChargeRoutes, jobRoutes} from './job-routes.ts';
import type {Query} from './query.ts';
import type {Service, ServiceRequest, ServiceRoute} from './records.ts';
import {noteRoutes, taskRoutes} from './task-routes.ts';
import {ServiceRefusal, writeErrors} from './xml-write.ts';

interface HttpOptions {
  readonly basePath: string;
  readonly compress: boolean;
  readonly log?: Logger;
}

/** Every address that the service answers. */
export const routes: readonly ServiceRoute[] = [
  ...customerRoutes,
  ...jobRoutes,
  ...jobChargeRoutes,
  ...employeeRoutes,
  ...timeEntryRoutes,
  ...taskRoutes,
  ...noteRoutes,
];

const MAX_BODY_BYTES = 1_048_576;
const MIN_GZIP_BYTES = 1024;
const allMethods: readonly HTTPMethods[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
];

/**
 * As recorded in 2018: no ETag, no Last-Modified, nothing about pages or rates (docs/service.md
 * "Errors and headers").
 */
const recordedHeaders = {
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: 'Mon, 01 Jan 1990 00:00:00 GMT',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'x-xss-protection': '1; mode=block',
};

/** When each request that is being answered came in, by the process's own clock. */
const arrivals = new WeakMap<FastifyRequest, number>();

const gzipText = promisify<Buffer, {level: number}, Buffer>(gzip);

/** The routes of the specification as a server that does not listen yet. */
export function createHttp(service: Service, options: HttpOptions): FastifyInstance {
  const http = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: 'idle',
    frameworkErrors: (_error, _request, reply) =>
      sendErrors(reply, new ServiceRefusal(400, 'The address is not a valid URL.')),
  });
  http.addHook('onRequest', async (request) => {
    arrivals.set(request, performance.now());
  });
  http.removeAllContentTypeParsers();
  http.addContentTypeParser('*', {parseAs: 'buffer'}, (_request, body, done) => done(null, body));
  http.setNotFoundHandler((_request, reply) =>
    sendErrors(reply, new ServiceRefusal(404, 'There is no such address.')),
  );
  http.setErrorHandler((error, _request, reply) =>
    sendErrors(reply, toRefusal(error, options.log)),
  );
  for (const route of routes) addRoute(http, {service, route, options});
  for (const path of new Set(routes.map((route) => route.path)))
    refuseOtherMethods(http, path, options);
  return http;
}

function addRoute(
  http: FastifyInstance,
  {
    service,
    route,
    options,
  }: {readonly service: Service; readonly route: ServiceRoute; readonly options: HttpOptions},
): void {
  const actors = new WeakMap<FastifyRequest, string>();
  http.route({
    method: methodsOf(route),
    url: options.basePath + route.path,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      const actorId = await authenticate(service.database, request.headers.authorization);
      if (actorId === null) throw new ServiceRefusal(401, 'Invalid Username, Account or password.');
      actors.set(request, actorId);
    },
    handler: async (request, reply) => {
      const asked = toServiceRequest(request, {
        actorId: actors.get(request) ?? '',
        basePath: options.basePath,
      });
      const answer = await route.answer(service, asked);
      if (answer.location !== undefined)
        reply.header('location', options.basePath + answer.location);
      return await send(request, reply, {body: answer.body, compress: options.compress});
    },
  });
}

/** PATCH means the same as PUT; HEAD is a GET without its body. */
function methodsOf({method}: ServiceRoute): HTTPMethods[] {
  if (method === 'PUT') return ['PUT', 'PATCH'];
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function refuseOtherMethods(http: FastifyInstance, path: string, {basePath}: HttpOptions): void {
  const allowed = routes.filter((route) => route.path === path).flatMap(methodsOf);
  http.route({
    method: allMethods.filter((method) => !allowed.includes(method)),
    url: basePath + path,
    handler: async (request, reply) => {
      reply.header('allow', allowed.join(', '));
      return sendErrors(
        reply,
        new ServiceRefusal(405, `${request.method} is not allowed here: ${allowed.join(', ')}.`),
      );
    },
  });
}

function toServiceRequest(
  request: FastifyRequest,
  {actorId, basePath}: {readonly actorId: string; readonly basePath: string},
): ServiceRequest {
  const {pathname, search} = new URL(request.url, 'http://service');
  return {
    method: request.method,
    path: pathname.slice(basePath.length),
    params: readParams(request.params),
    query: readQuery(search),
    contentType: request.headers['content-type'] ?? '',
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    actorId,
  };
}

function readParams(params: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params ?? {}).map(([name, value]) => [name, String(value)]),
  );
}

/** The last of several parameters with one name counts, as in Rails. */
function readQuery(search: string): Query {
  return new Map(new URLSearchParams(search));
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  {body, compress}: {readonly body: Buffer; readonly compress: boolean},
): Promise<FastifyReply> {
  reply
    .code(200)
    .headers(recordedHeaders)
    .headers(traceHeaders(reply))
    .type('application/xml; charset=utf-8');
  reply.header('vary', 'Accept-Encoding');
  const offersGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(
    String(request.headers['accept-encoding'] ?? ''),
  );
  if (!compress || !offersGzip || body.length <= MIN_GZIP_BYTES) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(await gzipText(body, {level: 1}));
}

function sendErrors(reply: FastifyReply, {status, texts}: ServiceRefusal): FastifyReply {
  reply
    .code(status)
    .header('cache-control', 'no-cache')
    .headers(traceHeaders(reply))
    .type('application/xml; charset=utf-8');
  return reply.send(writeErrors(texts));
}

function traceHeaders(reply: FastifyReply): Record<string, string> {
  const now = performance.now();
  const seconds = ((now - (arrivals.get(reply.request) ?? now)) / 1000).toFixed(6);
  return {'x-request-id': randomUUID(), 'x-transaction': randomUUID(), 'x-runtime': seconds};
}

function toRefusal(error: unknown, log: Logger | undefined): ServiceRefusal {
  if (error instanceof ServiceRefusal) return error;
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status === 413) return new ServiceRefusal(413, 'The request body is larger than 1 MB.');
  if (status >= 400 && status < 500)
    return new ServiceRefusal(status, 'The request cannot be understood.');
  const message = error instanceof Error ? error.message : String(error);
  log?.error({event: 'service.failed', message}, 'reference service: a request failed');
  return new ServiceRefusal(500, "We're sorry, but something went wrong.");
}

/**
 * The internal id of the employee whose token stands as user name and as password of the Basic
 * credentials, or null: no credentials, other ones, or an employee who is inactive.
 */
async function authenticate(
  db: ServiceQueryable,
  authorization: string | undefined,
): Promise<string | null> {
  const token = readToken(authorization);
  if (token === null) return null;
  const text =
    'SELECT id FROM service.employees WHERE token = $1 AND active AND deleted_at IS NULL';
  const {rows} = await db.query<{id: string}>({name: 'employee by token', text, values: [token]});
  return rows[0]?.id ?? null;
}

function readToken(authorization: string | undefined): string | null {
  const encoded = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const [user, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  const password = rest.join(':');
  if (user === undefined || user === '' || user.includes('\u0000')) return null;
  return isSame(user, password) ? user : null;
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
