// The addresses of the feed: the entries after a cursor, at once or as soon as there are some; and
// the place of a key in the feed: the cursor up to which it has read, with a small state.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {isKeyInUse} from '../accounts/access.ts';
import {
  ackFeed,
  CursorError,
  type FeedPage,
  type FeedQuery,
  type FeedWatch,
  hideEntry,
  listFeedColumns,
  readFeed,
  readFeedPlace,
} from '../feed/feed.ts';
import {entryOperations, maxStateBytes} from '../feed/terms.ts';
import {allTables} from '../streams/all.ts';
import {buildLineSchema} from './change-request.ts';
import {getApiKey, KeyWatch, type Turns, WaitingPlaces} from './keys.ts';
import {explainCursor, HttpProblem, problemSchema} from './problem.ts';

/** A cursor, as a reader sends it. */
export const cursorSchema = buildLineSchema(60).min(1);

const stateSchema = z
  .record(z.string(), z.unknown())
  .nullable()
  .describe(`What this key stored beside it: at most ${maxStateBytes} bytes.`);

const storePlaceSchema = z.strictObject({
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

const placeResponses = {
  200: placeSchema,
  default: {
    description: 'What went wrong; 410: the cursor is too old or of another warehouse.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
};

interface PoolWithTurns {
  readonly pool: pg.Pool;
  readonly turns: Turns;
}

/** Adds GET and PUT /v1/feed/place. */
export function addFeedPlaceRoutes(
  instance: FastifyInstance,
  {reads, writes}: {readonly reads: PoolWithTurns; readonly writes: PoolWithTurns},
): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const routeOptions = {url: '/feed/place', tags: ['feed']};
  app.route({
    method: 'GET',
    url: routeOptions.url,
    schema: {
      operationId: 'readFeedPlace',
      summary: 'The cursor and the state that this key has stored.',
      tags: routeOptions.tags,
      response: placeResponses,
    },
    handler: async (request) => {
      const {apiKeyId, accountId, name} = getApiKey(request, {hides: true});
      const reader = `http: ${name}`;
      return await reads.turns.take(apiKeyId, () => readFeedPlace(reads.pool, {accountId, reader}));
    },
  });
  app.route({
    method: 'PUT',
    url: routeOptions.url,
    schema: {
      operationId: 'storeFeedPlace',
      summary:
        'Stores a cursor and a state for this key; POST /v1/changes?ack= does so with changes.',
      tags: routeOptions.tags,
      body: storePlaceSchema,
      response: placeResponses,
    },
    handler: async (request) => {
      const {apiKeyId, accountId, name} = getApiKey(request, {
        mustWrite: true,
        hides: true,
      });
      const {cursor, state = null} = request.body;
      const placeOwner = {accountId, reader: `http: ${name}`};
      return await writes.turns.take(apiKeyId, async () => {
        await ackFeed(writes.pool, {...placeOwner, cursor, state}).catch((error: unknown) => {
          throw explainCursor(error, '/cursor');
        });
        return await readFeedPlace(writes.pool, placeOwner);
      });
    },
  });
}

const limits = {most: 1_000, usual: 200, waitSeconds: 60} as const;
const tableNames = allTables.map(({name}) => name);
const columnNames = new Set(listFeedColumns(null));

const feedQuery = z.strictObject({
  after: buildLineSchema(60)
    .optional()
    .describe(
      'The cursor of the answer before; end: no entry, and the cursor of now; left out: from ' +
        'the oldest entry kept.',
    ),
  wait: z.coerce
    .number()
    .int()
    .min(0)
    .max(limits.waitSeconds)
    .default(0)
    .describe('Seconds to wait for an entry if none exists yet.'),
  limit: z.coerce.number().int().min(1).max(limits.most).default(limits.usual),
  tables: z
    .string()
    .refine((list) => list.split(',').every((name) => tableNames.includes(name)), {
      error: `expected names of tables with commas between: ${tableNames.join(', ')}`,
    })
    .optional()
    .describe('Only entries of these, as in jobs,customers.'),
  columns: z
    .string()
    .refine((list) => list.split(',').every((name) => columnNames.has(name)), {
      error: 'expected names of columns with commas between, such as name,phone_number',
    })
    .optional()
    .describe(
      'A row that changed in none of these columns is left out, as in name,phone_number. Rows ' +
        'that came or went are given.',
    ),
  changes: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      'true gives what became of the changes of this key, too: entries whose operation is done, ' +
        'rejected, conflict or cancelled, without values. GET /v1/changes/ID has the reason.',
    ),
  own: z
    .enum(['true', 'false'])
    .default('true')
    .describe('false leaves out what this key wrote itself.'),
});

const numberSchema = z.string().nullable();
const valuesSchema = z.record(z.string(), z.unknown()).nullable();

export const entrySchema = z
  .object({
    cursor: z.string().describe('Behind this entry.'),
    id: z.string().describe('The same for ever: it identifies an entry that is read twice.'),
    account: z.string(),
    table: z.string(),
    row_id: numberSchema.describe('row_id of the row; null of loaded.'),
    number: numberSchema.describe(
      'Number of the record at the service; null until it has given one.',
    ),
    external_key: z.string().nullable().describe('What the system of the key calls the row.'),
    operation: z
      .enum(entryOperations)
      .describe(
        'loaded: the table was read as a whole for the first time; read its rows from its own ' +
          'address. done, rejected, conflict, cancelled: what became of change_id, on request.',
      ),
    before: valuesSchema.describe(
      'The changed fields before; of a removed row all that had a value.',
    ),
    after: valuesSchema.describe(
      'The changed fields after; of a created row all that have a value.',
    ),
    at: z.string().meta({format: 'date-time'}),
    written_by: z
      .string()
      .nullable()
      .describe('Database user; null where it came from the service.'),
    application: z.string().nullable().describe('Of a key http: and its name.'),
    change_id: numberSchema.describe('The change that caused the entry; null where none did.'),
    own: z.boolean().describe('Whether this key wrote it.'),
    overwritten: z.boolean().describe('Whether this key has set one of its fields since.'),
    merged_into: numberSchema.describe(
      'Of a removed row: the number of the record into which its record was merged.',
    ),
  })
  .describe('A change of a row in the warehouse.');

const feedPageSchema = z
  .object({
    entries: z.array(entrySchema),
    cursor: z.string().describe('Give it as after to continue.'),
  })
  .describe('Entries in the order in which they are followed.');

interface FeedDeps {
  readonly reads: pg.Pool;
  readonly turns: Turns;
  readonly watch: FeedWatch;
}

/**
 * Adds GET /v1/feed. A request that waits uses none of the turns of its key, and a key may have
 * several such requests.
 */
export function addFeedRoute(instance: FastifyInstance, {reads, turns, watch}: FeedDeps): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const hint = 'Follow the feed with one request after the other.';
  const places = new WaitingPlaces('the feed', hint, new KeyWatch(reads));
  app.addHook('preClose', async () => watch.close());
  app.route({
    method: 'GET',
    url: '/feed',
    schema: {
      operationId: 'readFeed',
      summary: 'What changed after a cursor, in order, nothing skipped.',
      tags: ['feed'],
      querystring: feedQuery,
      response: {
        200: feedPageSchema,
        default: {
          description:
            'What went wrong; 410: the cursor is too old or of another warehouse, and its ' +
            'reader begins again.',
          content: {'application/problem+json': {schema: problemSchema}},
        },
      },
    },
    handler: async (request, reply) => {
      const {after = null, wait, limit, tables, columns, changes, own} = request.query;
      const {apiKeyId, accountId, name, masks, system} = getApiKey(request, {hides: true});
      const query = {
        after,
        limit,
        accountId,
        tables: tables?.split(',') ?? null,
        columns: columns?.split(',') ?? null,
        changes: changes === 'true',
        readers: [`http: ${name}`],
        system,
      };
      return await places.take(apiKeyId, reply, async (signal) => {
        const {entries, cursor} = await followFeed(
          {watch, take: (read) => turns.take(apiKeyId, () => read(reads))},
          {query, showsOwn: own === 'true', masks, waitMs: wait * 1_000, signal},
        );
        // A key that was revoked while its request waited gets no entries.
        if (!(await isKeyInUse(reads, apiKeyId))) throw new HttpProblem(401, 'unauthorized');
        // A server that stops waits for its connections, so this one is closed after the answer.
        if (watch.signal.aborted) reply.header('connection', 'close');
        return {entries: [...entries], cursor};
      });
    },
  });
}

interface Following {
  readonly query: FeedQuery;
  /** Whether entries that the reader itself wrote are returned. */
  readonly showsOwn: boolean;
  /** Whether the key may not see personal data. */
  readonly masks: boolean;
  readonly waitMs: number;
  /** Aborts when the client disconnects, or the key is revoked. */
  readonly signal: AbortSignal;
}

interface FollowDeps {
  readonly watch: FeedWatch;
  /** Reads once, when the turn of the key comes. */
  readonly take: (read: (reads: pg.Pool) => Promise<FeedPage>) => Promise<FeedPage>;
}

/**
 * Returns the entries after a cursor: at once if there are some, otherwise as soon as some come. If
 * none come in time, it returns none.
 * @throws {HttpProblem} 410: the reader has to begin again; 400: the cursor or a column is invalid
 */
async function followFeed({watch, take}: FollowDeps, following: Following): Promise<FeedPage> {
  const {query, showsOwn, masks, waitMs, signal} = following;
  const deadline = performance.now() + waitMs;
  const stopSignal = AbortSignal.any([signal, watch.signal]);
  for (let {after} = query; ; ) {
    const waitForEntry = watch.watch();
    await watch.sequence();
    const page = await take((reads) => readFeed(reads, {...query, after})).catch(
      throwCursorProblem,
    );
    const entries = page.entries.filter(({own}) => showsOwn || !own);
    const remainingMs = deadline - performance.now();
    if (entries.length > 0 || query.after === 'end' || remainingMs <= 0 || stopSignal.aborted)
      return {...page, entries: masks ? entries.map(hideEntry) : entries};
    after = page.cursor;
    // If all entries of a full page were left out, more entries follow, so the next page is read at
    // once.
    if (!page.hasMore) await waitForEntry(remainingMs, stopSignal);
  }
}

function throwCursorProblem(error: unknown): never {
  if (!(error instanceof CursorError)) throw error;
  const {message: detail, isGone} = error;
  if (!isGone) {
    const isAboutColumns = detail.startsWith('columns:');
    const [at, expected, hint] = isAboutColumns
      ? [
          'columns',
          'columns of these tables',
          'GET /v1/openapi.json has the columns of each table.',
        ]
      : ['after', 'a cursor that the feed gave', 'Leave it out to read from the oldest entry.'];
    const errors = [{in: 'query' as const, at, expected}];
    throw new HttpProblem(400, 'invalid', {detail, errors, hint, cause: error});
  }
  throw new HttpProblem(410, 'cursor-gone', {
    detail,
    hint:
      'Begin again: keep the cursor of GET /v1/feed?after=end, read the tables, ' +
      'then follow the feed from that cursor.',
    cause: error,
  });
}
