import type {IncomingHttpHeaders} from 'node:http';
import type {FastifyInstance, FastifyPluginCallback} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import {z} from 'zod';
import type {FeedWatch} from '../feed/feed.ts';
import type {NoticeWatch} from '../postgres/listen.ts';
import {resultsSchema} from './answers.ts';
import {changesRequestSchema} from './change-request.ts';
import {addFeedRoute} from './feed-route.ts';
import {apiKeyOf, Turns} from './keys.ts';
import {addLogin, type LoginRouteDeps} from './login-route.ts';
import {addManyRoutes, type Ways} from './many-routes.ts';
import type {ApiPools} from './pools.ts';
import {type Explain, HttpProblem, problemSchema} from './problem.ts';
import {batchName} from './queries.ts';
import {addRows} from './row-routes.ts';
import {addStory} from './story-route.ts';
import {writeChanges} from './write-changes.ts';

/** What wakes the requests that wait. */
interface Watches {
  readonly feed: FeedWatch;
  /** Of `fieldmirror_changes`: changes that are settled, or need a person. */
  readonly changes: NoticeWatch;
}

type App = ReturnType<typeof withTypes>;

/** The limits of each key: half of the connections, and the requests that a burst may hold. */
const readLimits = {atOnce: 4, waiting: 100} as const;
const writeLimits = {atOnce: 4, waiting: 50} as const;

const problems = {
  default: {
    description: 'What went wrong.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
} as const;

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, {error: 'expected 1 to 200 characters of ASCII, no blanks'})
  .optional()
  .describe(
    'Your own name for the request, kept for 30 days: sent again with the same body it has no ' +
      'second effect, and is answered with what became of the first. What was refused leaves no ' +
      'trace, and may be mended under the same key.',
  );

/** The addresses under /v1, all for the account of the key alone. */
export function addRoutes(
  {reads, writes}: Pick<ApiPools, 'reads' | 'writes'>,
  {
    watches,
    explain,
    setLogin,
  }: Pick<LoginRouteDeps, 'setLogin'> & {readonly watches: Watches; readonly explain: Explain},
): FastifyPluginCallback {
  return (instance, _options, done) => {
    const app = withTypes(instance);
    instance.addHook('preHandler', async ({method, headers}) => {
      if (method !== 'GET') refuseConditions(headers);
    });
    const turns = new Turns('reads', readLimits);
    const writing = {pool: writes, turns: new Turns('writes', writeLimits)};
    addChanges(app, writing);
    addManyRoutes(instance, {reads: {pool: reads, turns}, writes: writing}, explain);
    addStory(instance, {reads, turns, watch: watches.changes});
    addLogin(instance, {turns: writing.turns, setLogin});
    addFeedRoute(app, {reads, turns, watch: watches.feed});
    addRows(instance, {reads, turns});
    done();
  };
}

/** Rows have no version here: a condition that is not checked must not look as if it were. */
function refuseConditions(headers: IncomingHttpHeaders): void {
  const name = ['if-match', 'if-none-match', 'if-unmodified-since'].find((each) => each in headers);
  if (name === undefined) return;
  const expected = 'nothing: rows have no ETag';
  throw new HttpProblem(400, 'invalid', {
    detail: `${name}: expected ${expected}`,
    hint: 'Say it in the body of a change: seen, a cursor of the feed, or was, the values read.',
    errors: [{in: 'header', at: name, expected}],
  });
}

function withTypes(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>();
}

function addChanges(app: App, {pool, turns}: Ways['writes']): void {
  app.route({
    method: 'POST',
    url: '/changes',
    schema: {
      operationId: 'makeChanges',
      summary: 'Changes a row; or, given an array, several rows together or not at all.',
      tags: ['changes'],
      headers: z.object({'idempotency-key': idempotencyKey}),
      querystring: z.strictObject({
        batch: batchName
          .optional()
          .describe('A name for the transaction, by which its changes are found.'),
      }),
      body: changesRequestSchema,
      response: {200: resultsSchema, 202: resultsSchema, ...problems},
    },
    handler: async (request, reply) => {
      const {body, headers, query} = request;
      const {batch = null} = query;
      const key = apiKeyOf(request, {mustWrite: true});
      const idempotencyKey = headers['idempotency-key'] ?? null;
      const {results, isReplay} = await turns.take(key.apiKeyId, () =>
        writeChanges(pool, {key, body, batch, idempotencyKey}),
      );
      const isNew = !isReplay && results.some(({state}) => state !== 'unchanged');
      const [first] = results;
      if (Array.isArray(body) || first === undefined)
        return await reply.code(isNew ? 202 : 200).send({changes: [...results]});
      if (first.state !== 'unchanged') reply.header('location', `/v1/changes/${first.change_id}`);
      return await reply.code(isNew ? 202 : 200).send(first);
    },
  });
}
