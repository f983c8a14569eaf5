// The addresses for many changes at once.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {keyOf} from '../authentication.ts';
import {problemSchema} from '../problems/problem.ts';
import type {Turns} from '../turns/turns.ts';
import {
  decidedSchema,
  decideOverHttp,
  decideRequestSchema,
  undoneSchema,
  undoOverHttp,
  undoRequestSchema,
} from './decide-changes.ts';
import {listApiChanges, listChangesQuery, listChangesSchema} from './list-changes.ts';
import {toWanted} from './wanted-query.ts';

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

export function addManyRoutes(instance: FastifyInstance, {reads, writes}: Ways): void {
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
      const {apiKeyId, accountId} = keyOf(request);
      const wanted = toWanted(accountId, filters);
      const changes = await reads.turns.take(apiKeyId, () =>
        listApiChanges(reads.pool, wanted, {externalKey, after, limit: limit + 1}),
      );
      const page = changes.slice(0, limit);
      return {changes: page, next_after: changes.length > limit ? (page.at(-1)?.change_id ?? null) : null};
    },
  });
  app.route({
    method: 'POST',
    url: '/changes/decide',
    schema: {
      operationId: 'decideChanges',
      summary: 'Decides up to 10,000 changes alike: what can be decided is done, and the rest says why not.',
      tags: ['changes'],
      body: decideRequestSchema,
      response: {200: decidedSchema, ...problems},
    },
    handler: async (request) => {
      const key = keyOf(request, {mustWrite: true});
      const {body, ip: address} = request;
      return await writes.turns.take(key.apiKeyId, () => decideOverHttp(writes.pool, key, {body, address}));
    },
  });
  app.route({
    method: 'POST',
    url: '/changes/undo',
    schema: {
      operationId: 'undoChanges',
      summary: 'Takes changes back: what was not sent is given up, what is done gets held changes.',
      tags: ['changes'],
      body: undoRequestSchema,
      response: {200: undoneSchema, ...problems},
    },
    handler: async (request) => {
      const key = keyOf(request, {mustWrite: true});
      const {body, ip: address} = request;
      return await writes.turns.take(key.apiKeyId, () => undoOverHttp(writes.pool, key, {body, address}));
    },
  });
}
