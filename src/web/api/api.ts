// The HTTP API: HTTP and JSON for systems that do not speak SQL. It adds nothing to what SQL can do.

import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import type {z} from 'zod';
import {FatalError, RetryableError} from '../../base/errors.ts';
import type {Logger} from '../../base/log.ts';
import {FeedWatch} from '../../warehouse/history/feed/feed-watch.ts';
import {explainDatabaseError} from '../../warehouse/postgres/database-errors.ts';
import {NoticeWatch} from '../../warehouse/postgres/sessions/notice-watch.ts';
import type {ApiPools} from '../pools.ts';
import {requireKey} from './authentication.ts';
import {addDocument} from './document.ts';
import {findFlaws} from './problems/flaws.ts';
import {type Flaw, Problem} from './problems/problem.ts';
import {addRoutes} from './routes.ts';

/** A body may be this long. */
export const maxBodyBytes = 1_000_000;
const retryAfterSeconds = 5;

const places: Readonly<Record<string, Flaw['in']>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

interface ApiOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
}

/** Adds every address under /v1. Nothing there is told without a key, not even whether an address exists. */
export async function addApi(app: FastifyInstance, {pools, log, directUrl}: ApiOptions): Promise<void> {
  const onTrouble = (reason: string) => log.warn({reason}, 'the feed is late');
  const watches = {
    feed: new FeedWatch({directUrl, pool: pools.writes, onTrouble}),
    changes: new NoticeWatch({
      directUrl,
      channel: 'fieldmirror_changes',
      onFailure: (error) => log.warn({reason: String(error)}, 'nothing tells of changes that are settled'),
    }),
  };
  await app.register(
    async (api) => {
      api.removeContentTypeParser('text/plain');
      api.setValidatorCompiler<z.ZodType>(({schema, httpPart}) =>
        checkWith(schema, places[httpPart ?? ''] ?? 'body'),
      );
      // Answers are made by our own statements, and the tests compare them with the document.
      api.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
      api.setErrorHandler((error: Error, request, reply) =>
        sendProblem(
          reply,
          toProblem(explainDatabaseError(error, pools.reads.options.connectionString ?? ''), request, log),
        ),
      );
      api.setNotFoundHandler(() => {
        throw new Problem(404, 'not-found', {hint: 'GET /v1/openapi.json lists every address.'});
      });
      requireKey(api, pools.reads);
      await addDocument(api);
      await api.register(addRoutes(pools, watches));
      api.get('/openapi.json', {schema: {hide: true}}, async () => api.swagger());
    },
    {prefix: '/v1'},
  );
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

/** Answers with a problem, and says when to come again. */
export function sendProblem(reply: FastifyReply, {body}: Problem): void {
  if (body.status === 401) reply.header('www-authenticate', 'Bearer');
  if (body.status === 503 || body.status === 429) reply.header('retry-after', String(retryAfterSeconds));
  void reply
    .code(body.status)
    .type('application/problem+json')
    .serializer((problem: unknown) => JSON.stringify(problem))
    .send(body);
}
