// The answers of the HTTP API: their schemas, built from the table definitions, so that a new
// column appears here automatically; and changes as they are returned: one change, a page of
// changes, and the outcome of one, at once or as soon as it is settled.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {isKeyInUse} from '../accounts/access.ts';
import {
  type ChangeFilter,
  listFilterValues,
  matchesFilterSql,
  needsPersonSql,
} from '../changes/change.ts';
import {attemptOutcomes, type ChangeState, changeStates} from '../changes/states.ts';
import {findChangeDocs} from '../changes/story.ts';
import {idPattern} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import type {NoticeWatch} from '../postgres/listen.ts';
import {buildSystemKeys} from '../rows/links.ts';
import {type Column, changeOperations, type MirrorTable, ownColumns} from '../streams/table.ts';
import {changeNumberSchema, filterShape, textSchema} from './change-request.ts';
import {type AccountKey, getApiKey, KeyWatch, type Turns, WaitingPlaces} from './keys.ts';
import {HttpProblem, problemResponse} from './problem.ts';

/** Numbers are text: no digit is lost. */
const numberSchema = z.string();
const instantSchema = z.string().meta({format: 'date-time'});
/** The value of a field. */
export const valueSchema = z.union([z.string(), z.null(), z.array(z.string())]);
const valuesSchema = z.record(z.string(), valueSchema);

const changeShape = {
  change_id: numberSchema,
  table: z.string(),
  row_id: numberSchema.describe(
    'row_id of the row in its table; it has one before the service gives a number.',
  ),
  operation: z.enum(changeOperations),
  number: numberSchema
    .nullable()
    .describe('Number of the record at the service; null until it has given one.'),
  parent_row_id: numberSchema.nullable(),
  external_key: z.string().nullable().describe('Key of the row in the system of the API key.'),
  fields: valuesSchema.describe(
    'The values wanted: text, null, or a list of texts; instants in UTC.',
  ),
  base: valuesSchema.describe('What the same fields held before.'),
  state: z
    .enum(changeStates)
    .describe('done, rejected and cancelled are final; held and conflict wait for a person.'),
  reason: z.string().nullable().describe('Why it is in this state.'),
  waits_for: numberSchema.nullable().describe('The change that must be settled first.'),
  requested_at: instantSchema,
  requested_by: z.string(),
  application: z.string().nullable(),
  batch: z.string().nullable().describe('The name of the transaction that made it.'),
  transaction_id: numberSchema
    .nullable()
    .describe('The transaction that made it, or edited it last.'),
  undoes: z.array(numberSchema).nullable().describe('The changes that it takes back.'),
  due_at: instantSchema,
  sends: z.int(),
  sent_at: instantSchema.nullable(),
  settled_at: instantSchema.nullable(),
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What the service made of it, where that is not what was requested.'),
};

export const changeSchema = z
  .object(changeShape)
  .describe('A change on its way to the service, or settled.');

export const unchangedSchema = z
  .object({
    state: z.literal('unchanged'),
    table: z.string(),
    row_id: numberSchema,
    operation: z.enum(changeOperations),
    number: numberSchema.nullable(),
    external_key: z.string().nullable(),
  })
  .describe('Nothing is sent: the row says so already, or its key alone was set.');

const resultSchema = z.union([changeSchema, unchangedSchema]);
export const resultsSchema = z
  .union([
    resultSchema,
    z.object({changes: z.array(resultSchema)}).describe('The answer to an array, in its order.'),
  ])
  .describe('202 where a change is on its way now; 200 where nothing is new.');

/** A change with its attempts and its conflicts. */
export const storySchema = z.object({
  ...changeShape,
  docs: z
    .string()
    .nullable()
    .describe(
      'The code of what is stuck, with cause and fix: A13 is in docs/alerts.md; null where ' +
        'nothing has to be fixed.',
    ),
  attempts: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      started_at: instantSchema,
      ended_at: instantSchema.nullable(),
      outcome: z.enum(attemptOutcomes).nullable(),
      status: z.int().nullable(),
      answer: z.string().nullable().describe('What the service said, in short.'),
    }),
  ),
  conflicts: z.array(
    z.object({
      field: z.string(),
      base_value: z.unknown(),
      warehouse_value: z.unknown(),
      service_value: z.unknown(),
      rule: z.string(),
      winner: z.enum(['service', 'warehouse']).nullable(),
      found_at: instantSchema,
      decided_at: instantSchema.nullable(),
      decided_by: z.string().nullable(),
    }),
  ),
});

type ChangeAnswer = z.infer<typeof changeSchema>;
export type Result = z.infer<typeof resultSchema>;
type Story = z.infer<typeof storySchema>;

const columnSchemas: Readonly<Record<Column['type'], z.ZodType>> = {
  text: z.string().nullable(),
  integer: numberSchema.nullable(),
  decimal: numberSchema.nullable(),
  float: z.number().nullable(),
  boolean: z.boolean().nullable(),
  instant: instantSchema.nullable(),
  nested: z.unknown(),
};

const ownColumnSchemas = {
  row_id: numberSchema,
  external_key: z.string().nullable(),
  parent_row_id: numberSchema.nullable(),
  extra: z.record(z.string(), z.unknown()),
  _first_seen_at: instantSchema,
  _changed_at: instantSchema,
  _deleted_at: instantSchema.nullable(),
  _pending: z.boolean().nullable(),
} as const satisfies Record<string, z.ZodType>;

/** The columns of a table that the API returns, in order: all but those of our own bookkeeping. */
export function listApiColumns(table: MirrorTable): string[] {
  return Object.keys(buildRowShape(table));
}

/** A row of a table. */
export function buildRowSchema(table: MirrorTable) {
  return z.object(buildRowShape(table)).describe(table.comment);
}

/** A page of rows. */
export function buildRowsSchema(rowSchema: z.ZodType) {
  return z
    .object({
      rows: z.array(rowSchema),
      next_page: z.string().nullable().describe('Give it as page to continue; null at the end.'),
    })
    .describe('A page of rows, in order of row_id.');
}

function buildRowShape({columns}: MirrorTable): Record<string, z.ZodType> {
  const {row_id, external_key, parent_row_id, ...rest} = ownColumnSchemas;
  return {
    ...addDescriptions({row_id, external_key, parent_row_id}),
    ...Object.fromEntries(
      columns.map(({name, type, comment}) => [name, columnSchemas[type].describe(comment)]),
    ),
    ...addDescriptions(rest),
  };
}

function addDescriptions(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [
      name,
      schema.describe(ownColumns[name] ?? name),
    ]),
  );
}

// The schemas of the answers name the columns that are read.
const {attempts: attempt, conflicts: conflict} = storySchema.shape;
const attemptColumns = listColumns(attempt.element);
const conflictColumns = listColumns(conflict.element);

/** The account whose changes are returned, and the outside system whose keys they show. */
type KeyScope = Pick<AccountKey, 'accountId' | 'system'>;

/** Changes of an account by their numbers. */
export async function readApiChanges(
  db: Queryable,
  {accountId, system}: KeyScope,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, ChangeAnswer>> {
  const {rows} = await db.query<ChangeAnswer>(
    `SELECT ${listChangeColumns(system)} FROM sync.changes AS held
     WHERE account_id = $1 AND change_id = ANY ($2::bigint[])`,
    [accountId, changeIds],
  );
  return new Map(rows.map((row) => [row.change_id, row]));
}

/** One change with its attempts and conflicts; null if the account has no change of that number. */
async function readStory(db: Queryable, key: KeyScope, changeId: string): Promise<Story | null> {
  const change = (await readApiChanges(db, key, [changeId])).get(changeId);
  if (change === undefined) return null;
  const attempts = await db.query<Story['attempts'][number]>(
    `SELECT ${attemptColumns} FROM sync.attempts
      WHERE change_id = $1 ORDER BY attempt_id`,
    [changeId],
  );
  const conflicts = await db.query<Story['conflicts'][number]>(
    `SELECT ${conflictColumns}
       FROM sync.conflicts WHERE change_id = $1 ORDER BY conflict_id`,
    [changeId],
  );
  return {
    ...change,
    docs: findChangeDocs(change),
    attempts: attempts.rows,
    conflicts: conflicts.rows,
  };
}

/**
 * The last change that a statement of this transaction made or added to, since the setting
 * `fieldmirror.last_change` was cleared.
 */
export async function readLastChange(client: pg.ClientBase): Promise<string | null> {
  const {rows} = await client.query<{id: string | null}>('SELECT sync.last_change() AS id');
  return rows[0]?.id ?? null;
}

/** The latest change of each of some rows, by row_id; no entry for a row without a change. */
export async function readLatestChanges(
  client: pg.ClientBase,
  table: string,
  rowIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (rowIds.length === 0) return new Map();
  const {rows} = await client.query<{row_id: string; change_id: string}>(
    `SELECT wanted.row_id, latest.change_id FROM unnest($2::bigint[]) AS wanted (row_id),
       LATERAL (SELECT change_id FROM sync.changes AS held
                 WHERE held.table_name = $1 AND held.row_id = wanted.row_id
                 ORDER BY change_id DESC LIMIT 1) AS latest`,
    [table, rowIds],
  );
  return new Map(rows.map((row) => [row.row_id, row.change_id]));
}

/** The creates of rows that are new in this transaction, in the order of the rows. */
export async function readCreates(
  client: pg.ClientBase,
  table: string,
  rowIds: readonly string[],
): Promise<string[]> {
  const {rows} = await client.query<{change_id: string}>(
    `SELECT change_id FROM unnest($2::bigint[]) WITH ORDINALITY AS made (row_id, place)
       JOIN sync.changes USING (row_id)
      WHERE table_name = $1 AND operation = 'create' ORDER BY place`,
    [table, rowIds],
  );
  if (rows.length !== rowIds.length)
    throw new Error(`${table}: expected ${rowIds.length} creates, got ${rows.length}`);
  return rows.map((row) => row.change_id);
}

/**
 * The columns of a change, as SQL; `held` is the alias of sync.changes. For the system `default`,
 * external_key is the key that the row had when the change was made.
 */
function listChangeColumns(system: string): string {
  const {key} = buildSystemKeys(system, 'held.table_name');
  return listColumns(changeSchema).replace('external_key', `${key} AS external_key`);
}

function listColumns(schema: z.ZodObject): string {
  return Object.keys(schema.shape)
    .map((name) => (name === 'table' ? 'table_name AS "table"' : name))
    .join(', ');
}

export const listChangesQuery = z.strictObject({
  ...filterShape,
  external_key: textSchema
    .max(1_000)
    .optional()
    .describe('Changes of the row that has this key; of the system default, that had it then.'),
  after: changeNumberSchema.optional().describe('next_after of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

export const listChangesSchema = z
  .object({
    changes: z.array(changeSchema),
    next_after: z.string().nullable().describe('Give it as after to continue; null at the end.'),
  })
  .describe('A page of changes, in the order in which they were made.');

/**
 * Changes in the order of their numbers. @param after - number of the last change of the page
 * before
 */
export async function listApiChanges(
  db: Queryable,
  filter: ChangeFilter,
  {
    externalKey,
    system,
    after,
    limit,
  }: {
    readonly externalKey: string | null;
    readonly system: string;
    readonly after: string;
    readonly limit: number;
  },
): Promise<ChangeAnswer[]> {
  const {key} = buildSystemKeys(system, 'held.table_name');
  const {rows} = await db.query<ChangeAnswer>(
    `WITH ${needsPersonSql}
     SELECT ${listChangeColumns(system)} FROM sync.changes AS held
      WHERE ${matchesFilterSql} AND change_id > $10 AND ($11::text IS NULL OR ${key} = $11)
      ORDER BY change_id LIMIT $12`,
    [...listFilterValues(filter), after, externalKey, limit],
  );
  return rows;
}

const maxWaitSeconds = 60;
/**
 * The states that end a wait, as in sync.wait. A conflict ends it too, because a person decides it.
 */
const waitEndStates: readonly ChangeState[] = ['done', 'rejected', 'cancelled', 'conflict'];

interface StoryDeps {
  readonly reads: pg.Pool;
  readonly turns: Turns;
  readonly watch: NoticeWatch;
}

const storyRoute = {
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
      .max(maxWaitSeconds)
      .default(0)
      .describe(
        'Seconds to wait until it is done, rejected, cancelled or in conflict; then it is ' +
          'returned as it is.',
      ),
  }),
  response: {
    200: storySchema,
    ...problemResponse,
  },
};

/**
 * Adds GET /v1/changes/{change_id}. A request that waits uses none of the turns of its key and no
 * connection, and a key may have several such requests.
 */
export function addChangeStoryRoute(
  instance: FastifyInstance,
  {reads, turns, watch}: StoryDeps,
): void {
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
    schema: storyRoute,
    handler: async (request, reply) => {
      const {change_id: changeId} = request.params;
      const key = getApiKey(request);
      const {apiKeyId} = key;
      const read = async () => {
        const story = await turns.take(apiKeyId, () => readStory(reads, key, changeId));
        if (story !== null) return story;
        throw new HttpProblem(404, 'not-found', {
          detail: `change ${changeId}: the account has none of that number`,
        });
      };
      if (request.query.wait === 0) return await read();
      const waitMs = request.query.wait * 1_000;
      return await places.take(apiKeyId, reply, async (disconnected) => {
        const story = await followChange(watch, {changeId, read, waitMs, gone: disconnected});
        if (!(await isKeyInUse(reads, apiKeyId))) throw new HttpProblem(401, 'unauthorized');
        // A server that stops waits for its connections, so this one is closed after the answer.
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
  /** Aborts when the client disconnects, or the key is revoked. */
  readonly gone: AbortSignal;
}

async function followChange(
  watch: NoticeWatch,
  {changeId, read, waitMs, gone: disconnected}: Following,
): Promise<Story> {
  const deadline = performance.now() + waitMs;
  const stopSignal = AbortSignal.any([disconnected, watch.signal]);
  for (;;) {
    const waitForNotice = watch.watch();
    const story = await read();
    const remainingMs = deadline - performance.now();
    if (waitEndStates.includes(story.state) || remainingMs <= 0 || stopSignal.aborted) return story;
    await waitForNotice(remainingMs, stopSignal, (payload) => isAboutChange(payload, changeId));
  }
}

/** @param payload - of `fieldmirror_changes`: `{"change_id" : 12, …}` */
function isAboutChange(payload: string, changeId: string): boolean {
  return new RegExp(`"change_id"\\s*:\\s*${changeId}\\D`).test(payload);
}
