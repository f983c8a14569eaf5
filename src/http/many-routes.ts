// The addresses for many changes at once; an answer may be one JSON document a line, sent as it
// comes to be.

import {once} from 'node:events';
import {PassThrough} from 'node:stream';
import {finished} from 'node:stream/promises';
import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import type {z} from 'zod';
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

/** One answer at the end, or lines as they come to be, where Accept says so. */
function jsonOrLines(whole: z.ZodType, line: z.ZodType) {
  return {
    description: 'All of it in one; or line by line, for Accept: application/x-ndjson.',
    content: {'application/json': {schema: whole}, [linesType]: {schema: line}},
  };
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

export const linesType = 'application/x-ndjson';

/** Characters that wait for the socket before the sender waits as well. */
const mostWaiting = 65_536;

/** A reader that takes nothing for so long is cut off. */
const usualPatienceMs = 30_000;

/** Whether a request asks for lines, by its Accept. */
function wantsLines({headers}: FastifyRequest): boolean {
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((range) => range.toLowerCase().replace(/\s/g, ''));
  return accepted.some(
    (range) => range.split(';', 1)[0] === linesType && !/;q=0(?:\.0*)?(?:;|$)/.test(range),
  );
}

interface Sending {
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  readonly patienceMs?: number;
}

/**
 * Sends what `batches` gives, a line for each item, and asks for the next batch when the reader has
 * taken so much of those before that little is left waiting. It resolves when all is sent, or the
 * client is gone.
 * @throws the first batch has failed: nothing is sent yet
 */
export async function sendLines(
  reply: FastifyReply,
  batches: AsyncGenerator<readonly unknown[], void, void>,
  {gone, patienceMs = usualPatienceMs}: Sending,
): Promise<void> {
  const first = (await batches.next()).value ?? undefined;
  const lines = new PassThrough({highWaterMark: mostWaiting});
  // A reader that goes away ends the answer, and is no error.
  lines.on('error', () => {});
  // A server that stops while lines are sent waits for the connection: the headers are out by then,
  // so they say it always.
  reply.header('connection', 'close').type(linesType).send(lines);
  const isTaken = (waiting: (options: {signal: AbortSignal}) => Promise<unknown>) =>
    waiting({signal: AbortSignal.any([gone, AbortSignal.timeout(patienceMs)])}).then(
      () => true,
      () => false,
    );
  try {
    for (let batch = first; batch !== undefined && !gone.aborted; ) {
      const text = batch.map((item) => `${JSON.stringify(item)}\n`).join('');
      if (!lines.write(text) && !(await isTaken((options) => once(lines, 'drain', options))))
        return;
      batch = gone.aborted ? undefined : ((await batches.next()).value ?? undefined);
    }
    lines.end();
    await isTaken((options) => finished(reply.raw, options));
  } finally {
    await batches.return();
    if (!reply.raw.writableFinished) reply.raw.destroy();
  }
}
