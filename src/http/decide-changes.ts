// The addresses for many changes at once, within the account of the key: they list changes, decide
// about them, and take them back. The last two run in one transaction with one answer at its end,
// or answer line by line, with one JSON document per line. If decisions are answered in lines, they
// are made batch by batch, each in a separate transaction with its own audit entry. The next batch
// begins when the reader has taken the lines of the one before, so that no more is decided than is
// reported. Changes are taken back in one transaction in both cases. It continues to its end even
// if the reader disconnects.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {
  type DecidableChange,
  type DecisionRequest,
  decideMany,
  listDecidable,
  listUndoable,
  maxDecidedAtOnce,
  noteDecision,
  readDecidable,
} from '../changes/decisions.ts';
import {changeStates} from '../changes/states.ts';
import {nameUndo, noteUndo, undoChanges} from '../changes/undo.ts';
import {inTransaction} from '../postgres/database.ts';
import {listApiChanges, listChangesQuery, listChangesSchema} from './answers.ts';
import {
  changeSelectionShape,
  type DecideRequest,
  decideRequestSchema,
  hasOneSelection,
  listUnknown,
  oneSelectionError,
  type SentQuery,
  toChangeFilter,
} from './change-request.ts';
import {
  type AccountKey,
  getApiKey,
  saveKeyAudit,
  setDecider,
  type Turns,
  WaitingPlaces,
} from './keys.ts';
import {
  type BatchDeps,
  describeJsonOrLines,
  runInBatches,
  sendLines,
  splitBySize,
  wantsLines,
} from './lines.ts';
import {type Explain, HttpProblem, problemResponse, problemSchema} from './problem.ts';

const decidedChangeSchema = z.object({
  change_id: z.string(),
  state: z.enum(changeStates).nullable().describe('Null where it could not be decided so.'),
  refusal: z.string().nullable().describe('Why not.'),
});

const isCutSchema = z
  .boolean()
  .describe(
    `More match than the ${maxDecidedAtOnce} that are decided at once: send the same again.`,
  );

const decidedSchema = z.object({changes: z.array(decidedChangeSchema), is_cut: isCutSchema});

type DecidedChange = z.infer<typeof decidedChangeSchema>;

/** Decides the changes that can be decided, in one transaction. */
async function decideOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  request: DecideRequest,
): Promise<z.infer<typeof decidedSchema>> {
  const {change_ids: ids, filter = {}} = request.body;
  return await inTransaction(pool, async (client) => {
    await setDecider(client, key);
    const matches =
      ids === undefined
        ? await listDecidable(client, toChangeFilter(key.accountId, filter), maxDecidedAtOnce + 1)
        : await readDecidable(client, ids, [key.accountId]);
    const chosenChanges = matches.slice(0, maxDecidedAtOnce);
    const changes = await decideAndAudit(client, key, {...request, found: chosenChanges});
    const unknownChanges = listUnknown(
      ids ?? [],
      chosenChanges.map(({changeId}) => changeId),
    );
    return {changes: [...changes, ...unknownChanges], is_cut: matches.length > maxDecidedAtOnce};
  });
}

/**
 * Decides the given changes in a separate transaction, and reports the numbers that were not found.
 */
async function decideBatch(
  pool: pg.Pool,
  key: AccountKey,
  {ids, ...request}: DecideRequest & {readonly ids: readonly string[]},
): Promise<DecidedChange[]> {
  return await inTransaction(pool, async (client) => {
    await setDecider(client, key);
    const decidable = await readDecidable(client, ids, [key.accountId]);
    const changes = await decideAndAudit(client, key, {...request, found: decidable});
    const knownIds = decidable.map(({changeId}) => changeId);
    return [...changes, ...listUnknown(ids, knownIds)];
  });
}

async function decideAndAudit(
  client: pg.ClientBase,
  key: AccountKey,
  {
    body: {decision: verb, reason, take},
    address,
    found: decidable,
  }: DecideRequest & {readonly found: readonly DecidableChange[]},
): Promise<DecidedChange[]> {
  if (decidable.length === 0) return [];
  const decision: DecisionRequest = {verb, argument: take ?? reason ?? null};
  const changeIds = decidable.map(({changeId}) => changeId);
  const results = await decideMany(client, changeIds, decision);
  const note = noteDecision(decidable, results, decision);
  await saveKeyAudit(client, key, {...note, action: 'changes.decide', address});
  return results.map(({changeId, state, refusal}) => ({change_id: changeId, state, refusal}));
}

const batchSize = 500;

const decidedLastLineSchema = z
  .object({
    totals: z.object({
      decided: z.int(),
      refused: z.int().describe('Could not be decided so, or are not there.'),
      left: z.int().describe('Were not come to, because of the problem.'),
    }),
    is_cut: isCutSchema,
    problem: problemSchema
      .nullable()
      .describe('Why it ended early; what was decided before stays decided.'),
  })
  .describe('The last line. An answer without it was cut off.');

/** A line of the answer. */
const decidedLineSchema = z.union([decidedChangeSchema, decidedLastLineSchema]);
type DecidedLine = z.infer<typeof decidedLineSchema>;

/**
 * Decides the changes that can be decided, and yields one line for each change and one at the end.
 * The changes are chosen at the beginning.
 * @throws the error of the first batch: nothing was decided
 */
export async function* decideInBatches(
  {pool, ...deps}: BatchDeps & {readonly pool: pg.Pool},
  key: AccountKey,
  request: DecideRequest,
): AsyncGenerator<DecidedLine[], void, void> {
  const {apiKeyId} = key;
  const {ids, isCut} = await deps.turns.take(apiKeyId, () =>
    chooseChanges(pool, key, request.body),
  );
  const totals = {decided: 0, refused: 0, left: ids.length};
  const work = async (batch: readonly string[]) => {
    const lines = await decideBatch(pool, key, {...request, ids: batch});
    const decidedCount = lines.filter(({state}) => state !== null).length;
    totals.decided += decidedCount;
    totals.refused += lines.length - decidedCount;
    totals.left -= lines.length;
    return lines;
  };
  const problem = yield* runInBatches(deps, apiKeyId, {
    steps: splitBySize(ids, batchSize).map((batch) => [batch]),
    isPart: true,
    work,
  });
  yield [{totals, is_cut: isCut, problem}];
}

/**
 * Each number once, in the order in which the changes are decided: they are cancelled from the last
 * to the first.
 */
async function chooseChanges(
  pool: pg.Pool,
  {accountId}: AccountKey,
  {decision, change_ids: requestedIds, filter = {}}: DecideRequest['body'],
): Promise<{readonly ids: readonly string[]; readonly isCut: boolean}> {
  const foundIds =
    requestedIds ??
    (await listDecidable(pool, toChangeFilter(accountId, filter), maxDecidedAtOnce + 1)).map(
      ({changeId}) => changeId,
    );
  const ids = [...new Set(foundIds.slice(0, maxDecidedAtOnce))].sort((left, right) =>
    Number(BigInt(left) - BigInt(right)),
  );
  return {
    ids: decision === 'cancel' ? ids.reverse() : ids,
    isCut: foundIds.length > maxDecidedAtOnce,
  };
}

const undoRequestSchema = z
  .strictObject(changeSelectionShape)
  .refine(hasOneSelection, oneSelectionError);

/** A request to take changes back. */
type UndoRequest = SentQuery<typeof undoRequestSchema>;

const undoneChangeSchema = z.object({
  change_id: z.string(),
  outcome: z
    .enum(['cancelled', 'held'])
    .nullable()
    .describe('cancelled: it was not sent; held: undone_by takes it back; null: nothing was done.'),
  undone_by: z.string().nullable(),
  fields: z.array(z.string()).describe('The fields that are written.'),
  refusal: z.string().nullable().describe('What was left, and why.'),
});

const undoneSchema = z.object({
  batch: z.string().describe('The name of the changes that were made: release them by it.'),
  changes: z.array(undoneChangeSchema),
});

/** The progress of an undo, while nothing is committed. */
interface UndoProgress {
  readonly checked: number;
  readonly total: number;
}

/**
 * Takes changes back, in one transaction.
 * @throws {HttpProblem} more match than can be taken back at once
 */
async function undoOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  {body: {change_ids: ids, filter: filters = {}}, address}: UndoRequest,
  onProgress: (progress: UndoProgress) => void = () => {},
): Promise<z.infer<typeof undoneSchema>> {
  const {accountId} = key;
  return await inTransaction(pool, async (client) => {
    await setDecider(client, key);
    const wantedIds =
      ids ?? (await listUndoable(client, toChangeFilter(accountId, filters), maxDecidedAtOnce + 1));
    if (wantedIds.length > maxDecidedAtOnce)
      throw new HttpProblem(422, 'too-many', {
        detail: `expected at most ${maxDecidedAtOnce} changes at once, and more match`,
        hint: 'Narrow the filter, for example by table or since. Nothing was done.',
      });
    const chosenChanges = await readDecidable(client, wantedIds, [accountId]);
    const foundIds = chosenChanges.map(({changeId}) => changeId);
    const batch = nameUndo(filters.batch ?? null, new Date());
    const changes = await undoChanges(client, foundIds, batch, {
      onProgress: (count) => onProgress({checked: count, total: foundIds.length}),
    });
    const note = noteUndo(chosenChanges, {batch, changes});
    if (foundIds.length > 0)
      await saveKeyAudit(client, key, {...note, action: 'changes.undo', address});
    const undoneRows = changes.map(({changeId, outcome, undoId, fields, refusal}) => ({
      change_id: changeId,
      outcome,
      undone_by: undoId,
      fields: [...fields],
      refusal,
    }));
    const unknownRows = listUnknown(ids ?? [], foundIds).map(({change_id, refusal}) => ({
      change_id,
      outcome: null,
      undone_by: null,
      fields: [],
      refusal,
    }));
    return {batch, changes: [...undoneRows, ...unknownRows]};
  });
}

const linesAtOnce = 500;

const progressSchema = z
  .object({checked: z.int(), total: z.int()})
  .describe('How far it is. Nothing is committed yet.');

const undoneLastLineSchema = z
  .object({
    batch: z
      .string()
      .nullable()
      .describe('The name of the changes that were made: release them by it.'),
    totals: z.object({
      cancelled: z.int(),
      held: z.int(),
      refused: z.int().describe('Nothing was done to them.'),
    }),
    problem: problemSchema.nullable().describe('Why nothing was taken back.'),
  })
  .describe('The last line. An answer without it was cut off.');

/** A line of the answer. */
const undoneLineSchema = z.union([progressSchema, undoneChangeSchema, undoneLastLineSchema]);
type UndoneLine = z.infer<typeof undoneLineSchema>;

interface UndoDeps {
  readonly pool: pg.Pool;
  readonly turns: Turns;
  readonly explain: (error: unknown) => HttpProblem;
}

/**
 * Takes changes back in one transaction.
 * @throws the error of the undo, if it failed before any line of its progress
 */
async function* undoInLines(
  {pool, turns, explain}: UndoDeps,
  key: AccountKey,
  request: UndoRequest,
): AsyncGenerator<UndoneLine[], void, void> {
  const progress = new LatestProgress();
  const work = turns
    .take(key.apiKeyId, () => undoOverHttp(pool, key, request, (latest) => progress.tell(latest)))
    .then(
      (undone) => ({undone, error: null}),
      (error: unknown) => ({undone: null, error}),
    )
    .finally(() => progress.end());
  let hasYielded = false;
  for await (const latest of progress.follow()) {
    hasYielded = true;
    yield [latest];
  }
  const {undone, error} = await work;
  if (undone === null && !hasYielded) throw error;
  const changes = undone?.changes ?? [];
  yield* splitBySize(changes, linesAtOnce);
  const count = (outcome: string | null) =>
    changes.filter((change) => change.outcome === outcome).length;
  const totals = {cancelled: count('cancelled'), held: count('held'), refused: count(null)};
  yield [
    {batch: undone?.batch ?? null, totals, problem: undone === null ? explain(error).body : null},
  ];
}

/** Progress for a reader that may be slow: only the latest is kept. */
class LatestProgress {
  #latest: UndoProgress | null = null;
  #isOver = false;
  #wake = () => {};

  tell(progress: UndoProgress): void {
    this.#latest = progress;
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *follow(): AsyncGenerator<UndoProgress, void, void> {
    while (!this.#isOver) {
      const latest = this.#latest;
      this.#latest = null;
      if (latest === null) await new Promise<void>((wake) => (this.#wake = wake));
      else yield latest;
    }
  }
}

/** The two pools, each with the turns of the keys. */
export interface PoolsWithTurns {
  readonly reads: {readonly pool: pg.Pool; readonly turns: Turns};
  readonly writes: {readonly pool: pg.Pool; readonly turns: Turns};
}

export function addBulkRoutes(
  instance: FastifyInstance,
  pools: PoolsWithTurns,
  explain: Explain,
): void {
  addListRoute(instance, pools);
  addDecideRoute(instance, pools, explain);
  addUndoRoute(instance, pools, explain);
}

function addListRoute(instance: FastifyInstance, {reads}: PoolsWithTurns): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.route({
    method: 'GET',
    url: '/changes',
    schema: {
      operationId: 'listChanges',
      summary: 'The changes that match, in the order in which they were made.',
      tags: ['changes'],
      querystring: listChangesQuery,
      response: {200: listChangesSchema, ...problemResponse},
    },
    handler: async (request) => {
      const {external_key: externalKey = null, after = '0', limit, ...filters} = request.query;
      const {apiKeyId, accountId, system} = getApiKey(request);
      const filter = toChangeFilter(accountId, filters);
      const changes = await reads.turns.take(apiKeyId, () =>
        listApiChanges(reads.pool, filter, {externalKey, system, after, limit: limit + 1}),
      );
      const page = changes.slice(0, limit);
      return {
        changes: page,
        next_after: changes.length > limit ? (page.at(-1)?.change_id ?? null) : null,
      };
    },
  });
}

function addDecideRoute(
  instance: FastifyInstance,
  {writes: {pool, turns}}: PoolsWithTurns,
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
      response: {200: describeJsonOrLines(decidedSchema, decidedLineSchema), ...problemResponse},
    },
    handler: async (request, reply) => {
      const key = getApiKey(request, {mustWrite: true});
      const {body, ip: address} = request;
      if (!wantsLines(request))
        return await turns.take(key.apiKeyId, () => decideOverHttp(pool, key, {body, address}));
      return await places.take(key.apiKeyId, reply, async (disconnected) => {
        const deps = {
          pool,
          turns,
          stop: stopping.signal,
          explain: (error: unknown) => explain(error, request),
        };
        await sendLines(reply, decideInBatches(deps, key, {body, address}), {gone: disconnected});
        return reply;
      });
    },
  });
}

function addUndoRoute(
  instance: FastifyInstance,
  {writes: {pool, turns}}: PoolsWithTurns,
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
      response: {200: describeJsonOrLines(undoneSchema, undoneLineSchema), ...problemResponse},
    },
    handler: async (request, reply) => {
      const key = getApiKey(request, {mustWrite: true});
      const {body, ip: address} = request;
      if (!wantsLines(request))
        return await turns.take(key.apiKeyId, () => undoOverHttp(pool, key, {body, address}));
      return await places.take(key.apiKeyId, reply, async (disconnected) => {
        const deps = {pool, turns, explain: (error: unknown) => explain(error, request)};
        await sendLines(reply, undoInLines(deps, key, {body, address}), {gone: disconnected});
        return reply;
      });
    },
  });
}
