// The address of a key's own place in the feed: up to where it has followed, with a small state.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {ackFeed, readFeedPlace} from '../feed/feed.ts';
import {mostStateBytes} from '../feed/terms.ts';
import {apiKeyOf, type Turns} from './keys.ts';
import {explainCursor, problemSchema} from './problem.ts';
import {lineOf} from './queries.ts';

/** A cursor, as a reader sends it. */
export const cursorSchema = lineOf(60).min(1);

const stateSchema = z
  .record(z.string(), z.unknown())
  .nullable()
  .describe(`What this key stored beside it: at most ${mostStateBytes} bytes.`);

const putSchema = z.strictObject({
  cursor: cursorSchema.describe('Behind the last entry that was processed.'),
  state: stateSchema.optional().describe('Left out or null: as it was.'),
});

const placeSchema = z
  .object({
    cursor: z.string().nullable().describe('null: this key has stored none.'),
    state: stateSchema,
    acked_at: z.string().nullable().meta({format: 'date-time'}),
  })
  .describe('The place of this key in the feed; no other key is given it.');

const response = {
  200: placeSchema,
  default: {
    description: 'What went wrong; 410: the cursor is too old or of another warehouse.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
};

interface Way {
  readonly pool: pg.Pool;
  readonly turns: Turns;
}

/** Adds GET and PUT /v1/feed/place. */
export function addFeedPlaceRoutes(
  instance: FastifyInstance,
  {reads, writes}: {readonly reads: Way; readonly writes: Way},
): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const of = {url: '/feed/place', tags: ['feed']};
  app.route({
    method: 'GET',
    url: of.url,
    schema: {
      operationId: 'readFeedPlace',
      summary: 'The cursor and the state that this key has stored.',
      tags: of.tags,
      response,
    },
    handler: async (request) => {
      const {apiKeyId, accountId, name} = apiKeyOf(request, {hides: true});
      const reader = `http: ${name}`;
      return await reads.turns.take(apiKeyId, () => readFeedPlace(reads.pool, {accountId, reader}));
    },
  });
  app.route({
    method: 'PUT',
    url: of.url,
    schema: {
      operationId: 'storeFeedPlace',
      summary:
        'Stores a cursor and a state for this key; POST /v1/changes?ack= does so with changes.',
      tags: of.tags,
      body: putSchema,
      response,
    },
    handler: async (request) => {
      const {apiKeyId, accountId, name} = apiKeyOf(request, {
        mustWrite: true,
        hides: true,
      });
      const {cursor, state = null} = request.body;
      const whose = {accountId, reader: `http: ${name}`};
      return await writes.turns.take(apiKeyId, async () => {
        await ackFeed(writes.pool, {...whose, cursor, state}).catch((error: unknown) => {
          throw explainCursor(error, '/cursor');
        });
        return await readFeedPlace(writes.pool, whose);
      });
    },
  });
}
