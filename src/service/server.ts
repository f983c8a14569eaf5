// The reference service: a person can run it as a demo or a sandbox, and the tests use it as the
// other side of the wire. This file has the HTTP around the routes: authentication, refusals before
// a route runs, and the sending of answers.

import {randomUUID, timingSafeEqual} from 'node:crypto';
import {once} from 'node:events';
import {createServer} from 'node:net';
import {promisify} from 'node:util';
import {gzip} from 'node:zlib';
import type {FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods} from 'fastify';
import fastify from 'fastify';
import type {Temporal} from 'temporal-polyfill';
import {FatalError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {AccountTime} from './account-time.ts';
import {Lists, openDatabase, type ServiceQueryable} from './database.ts';
import {addFaults, type Faults} from './faults.ts';
import {ensureFoundation} from './foundation.ts';
import {jobChargeRoutes, jobRoutes} from './job-routes.ts';
import {startLive} from './live.ts';
import {customerRoutes, employeeRoutes, timeEntryRoutes} from './people-routes.ts';
import type {Query} from './query.ts';
import type {ListOrder, Service, ServiceRequest, ServiceRoute} from './records.ts';
import {noteRoutes, taskRoutes} from './task-routes.ts';
import {Dialect, type DialectName, ServiceRefusal, writeErrors, XmlWriter} from './xml-write.ts';

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
function createHttp(service: Service, options: HttpOptions): FastifyInstance {
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
    method: listMethods(route),
    url: options.basePath + route.path,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      const actorId = await authenticate(service.database, request.headers.authorization);
      if (actorId === null) throw new ServiceRefusal(401, 'Invalid Username, Account or password.');
      actors.set(request, actorId);
    },
    handler: async (request, reply) => {
      const serviceRequest = toServiceRequest(request, {
        actorId: actors.get(request) ?? '',
        basePath: options.basePath,
      });
      const answer = await route.answer(service, serviceRequest);
      if (answer.location !== undefined)
        reply.header('location', options.basePath + answer.location);
      return await send(request, reply, {body: answer.body, compress: options.compress});
    },
  });
}

/** PATCH means the same as PUT; HEAD is a GET without its body. */
function listMethods({method}: ServiceRoute): HTTPMethods[] {
  if (method === 'PUT') return ['PUT', 'PATCH'];
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function refuseOtherMethods(http: FastifyInstance, path: string, {basePath}: HttpOptions): void {
  const allowed = routes.filter((route) => route.path === path).flatMap(listMethods);
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
    .headers(makeTraceHeaders(reply))
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
    .headers(makeTraceHeaders(reply))
    .type('application/xml; charset=utf-8');
  return reply.send(writeErrors(texts));
}

function makeTraceHeaders(reply: FastifyReply): Record<string, string> {
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
 * The internal id of the employee whose token is both user name and password of the Basic
 * credentials. Null for no credentials, other credentials, or an inactive employee.
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
  const [user, ...passwordParts] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  const password = passwordParts.join(':');
  if (user === undefined || user === '' || user.includes('\u0000')) return null;
  return isSame(user, password) ? user : null;
}

function isSame(left: string, right: string): boolean {
  const [leftBytes, rightBytes] = [Buffer.from(left), Buffer.from(right)];
  return leftBytes.length === rightBytes.length && timingSafeEqual(leftBytes, rightBytes);
}

export interface ServiceOptions {
  /** Its own Postgres database; the schema `service` in it is made when it is missing. */
  readonly databaseUrl: string;
  /** 0, the default, uses any free port. */
  readonly port?: number;
  /** The host name or address to listen at; default: 127.0.0.1. */
  readonly host?: string;
  /** A path before every other, as real accounts have one: `/acme`. Default: none. */
  readonly basePath?: string;
  readonly dialect?: DialectName;
  /**
   * Records per page of customers, jobs and tasks: 30 by the specification; the real service was
   * seen with 50 for jobs.
   */
  readonly pageSize?: number;
  /** By number, by number backwards, or last changed first. */
  readonly order?: ListOrder;
  /**
   * False if `include` applies to lists only, which is all that the specification promises;
   * default: true.
   */
  readonly showsEmbed?: boolean;
  /** The account's IANA zone. */
  readonly timeZone?: string;
  /** The clock: milliseconds since 1970, or an instant. */
  readonly now?: () => number | Temporal.Instant;
  /**
   * Plays the made-up business on, at the speed of the clock or a multiple of it; if absent, the
   * business does not change.
   */
  readonly speed?: number;
  /** Faults to inject; default: none. */
  readonly faults?: Faults;
  /** False answers without gzip even to clients that offer it. */
  readonly compress?: boolean;
  readonly log?: Logger;
}

export interface RunningService {
  /** The base URL, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /**
   * The API token of the account's owner, the first employee, as it was when the service started.
   */
  readonly token: string;
  /**
   * The present token of an employee: the service's users read it in the employee management, which
   * has no endpoint.
   */
  tokenOf(employeeNumber: string | number): Promise<string | null>;
  /** Answers the requests that have begun, then releases the port and the database. */
  close(): Promise<void>;
}

/**
 * Starts the reference service. All of its records are in its database: a restart loses nothing.
 * @throws {FatalError} the database cannot be used, or the port is taken
 * @throws {UsageError} the time zone is not an IANA zone
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const {
    databaseUrl,
    host = '127.0.0.1',
    port = 0,
    basePath = '',
    timeZone = 'America/New_York',
    log,
  } = options;
  const now = makeClock(options);
  const time = new AccountTime(timeZone, now);
  const database = await openDatabase(databaseUrl, log);
  const lists = new Lists(database, databaseUrl, log);
  let live = {stop: async () => {}};
  const stop = async () => {
    await live.stop();
    await lists.close();
    await database.end();
  };
  try {
    const token = await ensureFoundation(database);
    await lists.listen();
    if (options.speed !== undefined) live = await startLive(database, {speed: options.speed, log});
    const writer = new XmlWriter(new Dialect(options.dialect ?? 'observed', time));
    const service: Service = {
      database,
      lists,
      time,
      writer,
      pageSize: options.pageSize ?? 30,
      order: options.order ?? 'number',
      showsEmbed: options.showsEmbed ?? true,
    };
    const http = createHttp(service, {
      basePath,
      compress: options.compress ?? true,
      ...(log === undefined ? {} : {log}),
    });
    if (options.faults !== undefined) addFaults(http, options.faults, {now, log});
    await listen(http, {port, host});
    const address = http.server.address();
    const usedPort = typeof address === 'object' && address !== null ? address.port : port;
    log?.info({event: 'service.listening', port: usedPort, host}, 'the reference service listens');
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${usedPort}${basePath}`,
      port: usedPort,
      token,
      tokenOf: (employeeNumber) => selectToken(service, String(employeeNumber)),
      close: async () => {
        await http.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The clock of a service, moved by the skew of its faults. */
function makeClock({now = Date.now, faults}: ServiceOptions): () => number {
  const aheadMs = (faults?.skew ?? 0) * 1000;
  return () => {
    const value = now();
    return (typeof value === 'number' ? value : value.epochMilliseconds) + aheadMs;
  };
}

interface PortAddress {
  readonly port: number;
  readonly host: string;
}

async function listen(http: ReturnType<typeof createHttp>, address: PortAddress): Promise<void> {
  try {
    await http.listen(address);
  } catch (cause) {
    await http.close();
    throw explainPort(address, cause);
  }
}

/**
 * Reserves a port of 127.0.0.1 for a service that starts later; connections to it are closed at
 * once.
 * @returns a function that releases it
 * @throws {FatalError} the port is taken
 */
export async function reservePort(port: number): Promise<() => Promise<void>> {
  const address = {port, host: '127.0.0.1'};
  const server = createServer((socket) => socket.destroy());
  const listening = once(server, 'listening');
  server.listen(address);
  await listening.catch((cause: unknown) => {
    throw explainPort(address, cause);
  });
  return async () => {
    server.close();
    await once(server, 'close');
  };
}

function explainPort({port, host}: PortAddress, cause: unknown): FatalError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  const reason =
    code === 'EADDRINUSE'
      ? 'it is in use. Stop what listens there, or give another port (0 takes any)'
      : String(cause);
  return new FatalError(`reference service: cannot listen on port ${port} of ${host}: ${reason}.`, {
    cause,
    kind: 'port',
  });
}

async function selectToken({database}: Service, employeeNumber: string): Promise<string | null> {
  const text = 'SELECT token FROM service.employees WHERE employee_number = $1';
  const {rows} = await database.query<{token: string}>(text, [employeeNumber]);
  return rows[0]?.token ?? null;
}
