// The HTTP API: HTTP and JSON for systems that do not speak SQL. It adds nothing to what SQL can
// do.

import type {FastifyInstance, FastifyReply} from 'fastify';
import type {z} from 'zod';
import {errorNumbers} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {FeedWatch} from '../feed/feed.ts';
import {NoticeWatch} from '../postgres/listen.ts';
import {requireKey} from './keys.ts';
import {type KnownNames, namingHint} from './known-names.ts';
import type {LoginRouteDeps} from './login-route.ts';
import {addDocument} from './openapi-document.ts';
import type {ApiPools} from './pools.ts';
import {checkWith, type Explain, HttpProblem, toProblem} from './problem.ts';
import {addRoutes} from './routes.ts';

const retryAfterSeconds = 5;

export interface ApiOptions extends Pick<LoginRouteDeps, 'setLogin'> {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  readonly known: KnownNames;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
}

/**
 * Adds every address under /v1. Nothing there is told without a key, not even whether an address
 * exists.
 */
export async function addApi(
  app: FastifyInstance,
  {pools, log, known, directUrl, setLogin}: ApiOptions,
): Promise<void> {
  const onTrouble = (reason: string) =>
    log.warn({reason, docs: errorNumbers.feed}, 'the feed is late');
  const watches = {
    feed: new FeedWatch({directUrl, pool: pools.writes, onTrouble}),
    changes: new NoticeWatch({
      directUrl,
      channel: 'fieldmirror_changes',
      onFailure: (error) =>
        log.warn(
          {reason: String(error), docs: errorNumbers.feed},
          'requests that wait are not notified of settled changes',
        ),
    }),
  };
  const databaseUrl = pools.reads.options.connectionString ?? '';
  const explain: Explain = (error, request) => toProblem(error, {databaseUrl, request, log});
  await app.register(
    async (api) => {
      api.removeContentTypeParser('text/plain');
      api.setValidatorCompiler<z.ZodType>(({schema, httpPart}) => checkWith(schema, httpPart));
      // Answers are made by our own statements, and the tests compare them with the document.
      api.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
      api.setErrorHandler((error, request, reply) => sendProblem(reply, explain(error, request)));
      api.setNotFoundHandler(() => {
        throw new HttpProblem(404, 'not-found', {
          hint: 'GET /v1/openapi.json lists every address.',
        });
      });
      api.addHook('onRequest', async ({hostname}) => {
        if (known.has(hostname)) return;
        const detail = 'this server does not go by that name';
        throw new HttpProblem(421, 'misdirected', {detail, hint: namingHint});
      });
      requireKey(api, pools.reads);
      await addDocument(api);
      await api.register(addRoutes(pools, {watches, explain, setLogin}));
      api.get('/openapi.json', {schema: {hide: true}}, async () => api.swagger());
    },
    {prefix: '/v1'},
  );
}

/** Answers with a problem, and says when to come again. */
export function sendProblem(reply: FastifyReply, {body}: HttpProblem): void {
  if (body.status === 401) reply.header('www-authenticate', 'Bearer');
  if (body.status === 503 || body.status === 429)
    reply.header('retry-after', String(retryAfterSeconds));
  void reply
    .code(body.status)
    .type('application/problem+json')
    .serializer((problem: unknown) => JSON.stringify(problem))
    .send(body);
}
