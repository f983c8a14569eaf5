// The address that makes changes: one, or several together, or many line by line.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {resultsSchema} from './answers.ts';
import {changeRequestSchema, changesRequestSchema} from './change-request.ts';
import {cursorSchema} from './feed-place-route.ts';
import {type AccountKey, apiKeyOf, WaitingPlaces} from './keys.ts';
import {jsonOrLines, linesType, sendLines} from './lines.ts';
import type {Ways} from './many-routes.ts';
import {checkWith, type Explain, HttpProblem, maxLinesBytes, problemSchema} from './problem.ts';
import {batchName} from './queries.ts';
import {writeChanges} from './write-changes.ts';
import {writeInLines, writtenLineSchema} from './write-lines.ts';

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, {error: 'expected 1 to 200 characters of ASCII, no blanks'})
  .optional()
  .describe(
    'Your own name for the request, kept for 30 days: sent again with the same body it has no ' +
      'second effect, and is answered with what became of the first. What was refused leaves no ' +
      'trace, and may be mended under the same key.',
  );

const querySchema = z.strictObject({
  batch: batchName
    .optional()
    .describe('A name for the transaction, by which its changes are found.'),
  ack: cursorSchema
    .optional()
    .describe('Stored as the place of this key in the feed, in the same transaction.'),
});

/** How a request is named, and what it brings about beside its changes. */
interface Asked {
  readonly batch: string | null;
  readonly ack: string | null;
  readonly idempotencyKey: string | null;
}

/** What is checked by its schema, or lines, which are checked one by one. */
type Body = z.infer<typeof changesRequestSchema> | Buffer;

const described = {
  operationId: 'makeChanges',
  summary:
    'Changes a row; or, given an array, several rows together or not at all; or, given lines, ' +
    'up to 10,000 rows, each by itself.',
  tags: ['changes'],
  headers: z.object({'idempotency-key': idempotencyKey}),
  querystring: querySchema,
  body: {
    content: {
      'application/json': {schema: changesRequestSchema},
      [linesType]: {schema: changeRequestSchema},
    },
  },
  response: {
    200: jsonOrLines(resultsSchema, writtenLineSchema),
    202: resultsSchema,
    default: {
      description: 'What went wrong.',
      content: {'application/problem+json': {schema: problemSchema}},
    },
  },
} as const;

/** Adds the address; its lines are read by this address alone. */
export function addChangesRoute(
  instance: FastifyInstance,
  {pool, turns}: Ways['writes'],
  explain: Explain,
): void {
  void instance.register((child, _options, done) => {
    const app = child.withTypeProvider<ZodTypeProvider>();
    const places = new WaitingPlaces('changes line by line', 'Send one after the other.');
    const stopping = new AbortController();
    app.addHook('preClose', async () => stopping.abort());
    app.addContentTypeParser(
      linesType,
      {parseAs: 'buffer', bodyLimit: maxLinesBytes},
      (_request, body, parsed) => parsed(null, body),
    );
    app.route({
      method: 'POST',
      url: '/changes',
      schema: described,
      // A key that may not write is refused before its body is read.
      onRequest: async (request) => void apiKeyOf(request, {mustWrite: true}),
      handler: async (request, reply) => {
        const key = apiKeyOf(request, {mustWrite: true});
        const {batch = null, ack = null} = request.query;
        const idempotencyKey = request.headers['idempotency-key'] ?? null;
        const asked = {batch, ack, idempotencyKey};
        const body = requireBody(request.body);
        if (!Buffer.isBuffer(body)) {
          const {status, location, answer} = await turns.take(key.apiKeyId, () =>
            makeChanges(pool, key, {...asked, body}),
          );
          if (location !== null) reply.header('location', location);
          return await reply.code(status).send(answer);
        }
        refuseForLines(asked);
        return await places.take(key.apiKeyId, reply, async (gone) => {
          const stop = stopping.signal;
          const deps = {pool, turns, stop, explain: (error: unknown) => explain(error, request)};
          await sendLines(reply, writeInLines(deps, key, {body, batch}), {gone});
          return reply;
        });
      },
    });
    done();
  });
}

const checkBody = checkWith(changesRequestSchema, 'body');

/** A request without a body has no media type, so no schema of one has refused it yet. */
function requireBody(body: unknown): Body {
  const read = body === undefined ? checkBody(body) : {value: body};
  if ('error' in read) throw read.error;
  return read.value as Body;
}

/** Makes one change, or an array of them. */
async function makeChanges(
  pool: pg.Pool,
  key: AccountKey,
  asked: Asked & {readonly body: Exclude<Body, Buffer>},
) {
  const {results, isReplay} = await writeChanges(pool, {key, ...asked});
  const isNew = !isReplay && results.some(({state}) => state !== 'unchanged');
  const status = isNew ? (202 as const) : (200 as const);
  const [first] = results;
  if (Array.isArray(asked.body) || first === undefined)
    return {status, location: null, answer: {changes: [...results]}};
  const location = first.state === 'unchanged' ? null : `/v1/changes/${first.change_id}`;
  return {status, location, answer: first};
}

/** Lines are no one transaction: what counts for the whole request has no meaning there. */
function refuseForLines({ack, idempotencyKey}: Asked): void {
  const expected = 'nothing beside lines';
  if (idempotencyKey !== null)
    throw new HttpProblem(400, 'invalid', {
      detail: `Idempotency-Key: expected ${expected}`,
      hint: 'Give each line an external_key: by it the same lines may be sent again.',
      errors: [{in: 'header', at: 'Idempotency-Key', expected}],
    });
  if (ack !== null)
    throw new HttpProblem(400, 'invalid', {
      detail: `ack: expected ${expected}`,
      hint: 'Send PUT /v1/feed/place after the last line of the answer.',
      errors: [{in: 'query', at: 'ack', expected}],
    });
}
