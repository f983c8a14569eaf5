import type {FastifyInstance, FastifyPluginCallback} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import pg from 'pg';
import {z} from 'zod';
import type {FeedWatch} from '../feed/feed.ts';
import type {NoticeWatch} from '../postgres/listen.ts';
import {allTables} from '../streams/all.ts';
import type {MirrorTable} from '../streams/table.ts';
import {isStorableInstant} from '../streams/values.ts';
import {columnsOf, resultsSchema, rowSchema, rowsSchema} from './answers.ts';
import {changesRequestSchema} from './change-request.ts';
import {addFeedRoute} from './feed-route.ts';
import {apiKeyOf, Turns} from './keys.ts';
import {addLogin, type LoginRouteDeps} from './login-route.ts';
import {addManyRoutes, type Ways} from './many-routes.ts';
import type {ApiPools} from './pools.ts';
import {type Explain, HttpProblem, problemSchema, type WrongInput} from './problem.ts';
import {batchName, type Place, packPlace, unpackPlace} from './queries.ts';
import {addStory} from './story-route.ts';
import {writeChanges} from './write-changes.ts';

/** The dependencies of a read. */
interface Reading {
  readonly reads: pg.Pool;
  readonly turns: Turns;
}

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
const rowsAtOnce = {most: 500, usual: 100} as const;

/** The schema of each table's row, made once: the document names it by the table. */
export const rowSchemas: ReadonlyMap<MirrorTable, z.ZodType> = new Map(
  allTables.map((table) => [table, rowSchema(table)]),
);

const problems = {
  default: {
    description: 'What went wrong.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
} as const;

const listQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(rowsAtOnce.most).default(rowsAtOnce.usual),
  page: z.string().optional().describe('next_page of the page before.'),
  changed_since: z
    .string()
    .refine(isStorableInstant, {
      error:
        'expected ISO 8601 with an offset, from the year 1 on, such as 2027-03-14T09:30:00Z; ' +
        'in an address a + is written %2B',
    })
    .optional()
    .describe(
      'Only rows that changed in the warehouse since: by _changed_at, the beginning of the ' +
        'transaction that wrote the row. Ask with some minutes to spare; a row read twice does ' +
        'no harm.',
    ),
  deleted: z
    .enum(['true', 'false'])
    .optional()
    .describe('Whether rows that are gone are listed, too.'),
});

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
    const turns = new Turns('reads', readLimits);
    const writing = {pool: writes, turns: new Turns('writes', writeLimits)};
    addChanges(app, writing);
    addManyRoutes(instance, {reads: {pool: reads, turns}, writes: writing}, explain);
    addStory(instance, {reads, turns, watch: watches.changes});
    addLogin(instance, {turns: writing.turns, setLogin});
    addFeedRoute(app, {reads, turns, watch: watches.feed});
    for (const table of allTables) addList(app, {reads, turns}, table);
    done();
  };
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

function addList(app: App, {reads, turns}: Reading, table: MirrorTable): void {
  const row = rowSchemas.get(table) ?? rowSchema(table);
  app.route({
    method: 'GET',
    url: `/${table.name}`,
    schema: {
      operationId: `list_${table.name}`,
      summary: table.comment,
      tags: ['rows'],
      querystring: listQuery,
      response: {200: rowsSchema(row), ...problems},
    },
    handler: async (request) => {
      const {limit} = request.query;
      const place = findPlace(table, request.query);
      const {apiKeyId, accountId} = apiKeyOf(request);
      const wanted = {...place, accountId, limit: limit + 1};
      const rows = await turns.take(apiKeyId, () => readRows(reads, table, wanted));
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return {
        rows: rows.slice(0, limit),
        next_page: last === undefined ? null : packPlace({...place, afterRowId: last.row_id}),
      };
    },
  });
}

function findPlace(table: MirrorTable, query: z.infer<typeof listQuery>): Place {
  const {page, deleted, changed_since: changedSince} = query;
  const begun = page === undefined ? null : unpackPlace(page);
  if (page === undefined) {
    const filters = {showsDeleted: deleted === 'true', changedSince: changedSince ?? null};
    return {table: table.name, afterRowId: '0', ...filters};
  }
  if (begun?.table !== table.name)
    throw refuse('page', `next_page of an earlier answer for ${table.name}`);
  if (deleted !== undefined && (deleted === 'true') !== begun.showsDeleted)
    throw refuse('deleted', 'the same as for the first page, or nothing: page has it');
  if (changedSince !== undefined && changedSince !== begun.changedSince)
    throw refuse('changed_since', 'the same as for the first page, or nothing: page has it');
  return begun;
}

function refuse(at: string, expected: string): HttpProblem {
  const errors: WrongInput[] = [{in: 'query', at, expected}];
  return new HttpProblem(400, 'invalid', {detail: `${at}: expected ${expected}`, errors});
}

interface RowsQuery {
  readonly accountId: string;
  readonly afterRowId: string;
  readonly limit: number;
  readonly showsDeleted: boolean;
  /** ISO with an offset. */
  readonly changedSince: string | null;
}

type Row = Readonly<Record<string, unknown>> & {readonly row_id: string};

/**
 * The next rows of a table, in order of row_id, which never changes: a row that stands throughout
 * is read once, though others come and go meanwhile.
 */
async function readRows(pool: pg.Pool, table: MirrorTable, query: RowsQuery): Promise<Row[]> {
  const {accountId, afterRowId, limit, showsDeleted, changedSince} = query;
  const {rows} = await pool.query<Row>(
    `SELECT ${columnsOf(table).map(pg.escapeIdentifier).join(', ')}
     FROM warehouse.${pg.escapeIdentifier(table.name)}
      WHERE account_id = $1 AND row_id > $2 AND ($4 OR _deleted_at IS NULL)
        AND ($5::timestamptz IS NULL OR _changed_at >= $5)
      ORDER BY row_id LIMIT $3`,
    [accountId, afterRowId, limit, showsDeleted, changedSince],
  );
  return rows;
}
