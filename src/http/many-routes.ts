// The addresses for many changes at once; an answer may be one JSON document a line, sent as it
// comes to be.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {
  decidedLineSchema,
  decidedSchema,
  decideInBatches,
  decideOverHttp,
  decideRequestSchema,
  undoInLines,
  undoneLineSchema,
  undoneSchema,
  undoOverHttp,
  undoRequestSchema,
} from './decide-changes.ts';
import {apiKeyOf, type Turns, WaitingPlaces} from './keys.ts';
import {jsonOrLines, sendLines, wantsLines} from './lines.ts';
import {type Explain, problemSchema} from './problem.ts';
import {toWanted} from './queries.ts';
import {listApiChanges, listChangesQuery, listChangesSchema} from './read-change.ts';

/** The two pools, each with the turns of the keys. */
export interface Ways {
  readonly reads: {readonly pool: pg.Pool; readonly turns: Turns};
  readonly writes: {readonly pool: pg.Pool; readonly turns: Turns};
}

const problems = {
  default: {
    description: 'What went wrong.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
} as const;

export function addManyRoutes(instance: FastifyInstance, ways: Ways, explain: Explain): void {
  addListing(instance, ways);
  addDeciding(instance, ways, explain);
  addUndoing(instance, ways, explain);
}

function addListing(instance: FastifyInstance, {reads}: Ways): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.route({
    method: 'GET',
    url: '/changes',
    schema: {
      operationId: 'listChanges',
      summary: 'The changes that match, in the order in which they were made.',
      tags: ['changes'],
      querystring: listChangesQuery,
      response: {200: listChangesSchema, ...problems},
    },
    handler: async (request) => {
      const {external_key: externalKey = null, after = '0', limit, ...filters} = request.query;
      const {apiKeyId, accountId, system} = apiKeyOf(request);
      const wanted = toWanted(accountId, filters);
      const changes = await reads.turns.take(apiKeyId, () =>
        listApiChanges(reads.pool, wanted, {externalKey, system, after, limit: limit + 1}),
      );
      const page = changes.slice(0, limit);
      return {
        changes: page,
        next_after: changes.length > limit ? (page.at(-1)?.change_id ?? null) : null,
      };
    },
  });
}

function addDeciding(
  instance: FastifyInstance,
  {writes: {pool, turns}}: Ways,
  explain: Explain,
): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const places = new WaitingPlaces('decisions line by line', 'Make them one after the other.');
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  app.route({
    method: 'POST',
    url: '/changes/decide',
    schema: {
      operationId: 'decideChanges',
      summary:
        'Decides up to 10,000 changes alike: what can be decided is done, and the rest says ' +
        'why not.',
      tags: ['changes'],
      body: decideRequestSchema,
      response: {200: jsonOrLines(decidedSchema, decidedLineSchema), ...problems},
    },
    handler: async (request, reply) => {
      const key = apiKeyOf(request, {mustWrite: true});
      const {body, ip: address} = request;
      if (!wantsLines(request))
        return await turns.take(key.apiKeyId, () => decideOverHttp(pool, key, {body, address}));
      return await places.take(key.apiKeyId, reply, async (gone) => {
        const deps = {
          pool,
          turns,
          stop: stopping.signal,
          explain: (error: unknown) => explain(error, request),
        };
        await sendLines(reply, decideInBatches(deps, key, {body, address}), {gone});
        return reply;
      });
    },
  });
}

function addUndoing(
  instance: FastifyInstance,
  {writes: {pool, turns}}: Ways,
  explain: Explain,
): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const places = new WaitingPlaces(
    'undos line by line',
    'Take changes back with one request after the other.',
  );
  app.route({
    method: 'POST',
    url: '/changes/undo',
    schema: {
      operationId: 'undoChanges',
      summary: 'Takes changes back: what was not sent is given up, what is done gets held changes.',
      tags: ['changes'],
      body: undoRequestSchema,
      response: {200: jsonOrLines(undoneSchema, undoneLineSchema), ...problems},
    },
    handler: async (request, reply) => {
      const key = apiKeyOf(request, {mustWrite: true});
      const {body, ip: address} = request;
      if (!wantsLines(request))
        return await turns.take(key.apiKeyId, () => undoOverHttp(pool, key, {body, address}));
      return await places.take(key.apiKeyId, reply, async (gone) => {
        const deps = {pool, turns, explain: (error: unknown) => explain(error, request)};
        await sendLines(reply, undoInLines(deps, key, {body, address}), {gone});
        return reply;
      });
    },
  });
}
