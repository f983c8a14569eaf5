// GET /v1/changes/ID: what became of a change, at once or as soon as it is settled.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {isKeyInUse} from '../accounts/access.ts';
import type {ChangeState} from '../changes/states.ts';
import {idPattern} from '../core/text.ts';
import type {NoticeWatch} from '../postgres/listen.ts';
import {type Story, storySchema} from './answers.ts';
import {apiKeyOf, KeyWatch, type Turns, WaitingPlaces} from './keys.ts';
import {HttpProblem, problemSchema} from './problem.ts';
import {answerStory} from './read-change.ts';

const mostSeconds = 60;
/** The states that end a wait, as in sync.wait: a person decides what is in conflict. */
const ends: readonly ChangeState[] = ['done', 'rejected', 'cancelled', 'conflict'];

interface StoryDeps {
  readonly reads: pg.Pool;
  readonly turns: Turns;
  readonly watch: NoticeWatch;
}

/**
 * A request that waits has no turn among those of its key and no connection, and there may be some
 * of them.
 */
export function addStory(instance: FastifyInstance, {reads, turns, watch}: StoryDeps): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const places = new WaitingPlaces(
    'changes',
    'Wait for few changes at once, or follow many with GET /v1/changes?batch=…',
    new KeyWatch(reads),
  );
  app.addHook('preClose', async () => watch.close());
  app.route({
    method: 'GET',
    url: '/changes/:change_id',
    schema: {
      operationId: 'readChange',
      summary: 'What became of a change, at once or as soon as it is settled.',
      tags: ['changes'],
      params: z.object({
        change_id: z.string().regex(idPattern, {error: 'expected the number of a change'}),
      }),
      querystring: z.strictObject({
        wait: z.coerce
          .number()
          .int()
          .min(0)
          .max(mostSeconds)
          .default(0)
          .describe(
            'Seconds to wait until it is done, rejected, cancelled or in conflict; then it is ' +
              'told as it is.',
          ),
      }),
      response: {
        200: storySchema,
        default: {
          description: 'What went wrong.',
          content: {'application/problem+json': {schema: problemSchema}},
        },
      },
    },
    handler: async (request, reply) => {
      const {change_id: changeId} = request.params;
      const key = apiKeyOf(request);
      const {apiKeyId} = key;
      const read = async () => {
        const story = await turns.take(apiKeyId, () => answerStory(reads, key, changeId));
        if (story !== null) return story;
        throw new HttpProblem(404, 'not-found', {
          detail: `change ${changeId}: the account has none of that number`,
        });
      };
      if (request.query.wait === 0) return await read();
      const waitMs = request.query.wait * 1_000;
      return await places.take(apiKeyId, reply, async (gone) => {
        const story = await followChange(watch, {changeId, read, waitMs, gone});
        if (!(await isKeyInUse(reads, apiKeyId))) throw new HttpProblem(401, 'unauthorized');
        // A server that stops waits for its connections.
        if (watch.signal.aborted) reply.header('connection', 'close');
        return story;
      });
    },
  });
}

interface Following {
  readonly changeId: string;
  readonly read: () => Promise<Story>;
  readonly waitMs: number;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
}

async function followChange(
  watch: NoticeWatch,
  {changeId, read, waitMs, gone}: Following,
): Promise<Story> {
  const until = performance.now() + waitMs;
  const ended = AbortSignal.any([gone, watch.signal]);
  for (;;) {
    const waitOn = watch.watch();
    const story = await read();
    const left = until - performance.now();
    if (ends.includes(story.state) || left <= 0 || ended.aborted) return story;
    await waitOn(left, ended, (payload) => namesChange(payload, changeId));
  }
}

/** @param payload - of `fieldmirror_changes`: `{"change_id" : 12, …}` */
function namesChange(payload: string, changeId: string): boolean {
  return new RegExp(`"change_id"\\s*:\\s*${changeId}\\D`).test(payload);
}
