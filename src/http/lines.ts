// The many items of one request, each with its own answer. They are done batch by batch: each
// batch in a separate transaction, alone or beside another one. Batches of changes that are made
// side by side have no record in common: lines that may share one stay in one batch, in their
// order. Changes of one kind, each of another row, are made in few statements. The answers are
// sent with one JSON document per line, as soon as they are ready. The next batches begin when
// the reader has taken the lines of those before, so at most one step is done ahead of its
// answers.

import {once} from 'node:events';
import {PassThrough} from 'node:stream';
import {finished} from 'node:stream/promises';
import type {FastifyReply, FastifyRequest} from 'fastify';
import type pg from 'pg';
import type {z} from 'zod';
import type {ApiResult} from '../accounts/access.ts';
import {defaultSystem} from '../core/names.ts';
import {setLink} from '../rows/links.ts';
import {findWrites} from '../streams/all.ts';
import type {Writes} from '../streams/stream.ts';
import {readCreates, readLatestChanges} from './answers.ts';
import type {ChangeRequest, Reference} from './change-request.ts';
import type {AccountKey, Turns} from './keys.ts';
import {explainRefusal, HttpProblem, linesType} from './problem.ts';
import {
  applyTransactionSettings,
  buildParentColumn,
  type ChangeScope,
  readKnownValues,
} from './write-changes.ts';
import {
  deleteRows,
  findNamedRows,
  insertRows,
  type NamedRow,
  readWantedValues,
  updateRows,
} from './write-rows.ts';

/** One answer at the end, or lines as they are made, if the Accept header requests them. */
export function describeJsonOrLines(jsonSchema: z.ZodType, lineSchema: z.ZodType) {
  return {
    description: 'All of it in one; or line by line, for Accept: application/x-ndjson.',
    content: {'application/json': {schema: jsonSchema}, [linesType]: {schema: lineSchema}},
  };
}

/** Bytes that wait for the socket before the sender waits as well. */
const maxBufferedBytes = 65_536;

/** A reader that accepts nothing for this long is disconnected. */
const defaultPatienceMs = 30_000;

/** Whether the Accept header of a request accepts lines. */
export function wantsLines({headers}: FastifyRequest): boolean {
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((range) => range.toLowerCase().replace(/\s/g, ''));
  return accepted.some(
    (range) => range.split(';', 1)[0] === linesType && !/;q=0(?:\.0*)?(?:;|$)/.test(range),
  );
}

interface SendOptions {
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
  readonly patienceMs?: number;
}

/**
 * Sends the items of `batches`, one line for each. It requests the next batch when the reader has
 * taken so much of those before that little is left waiting. It resolves when all is sent, or the
 * client disconnects or accepts nothing for `patienceMs`.
 * @throws the error of the first batch: nothing is sent yet
 */
export async function sendLines(
  reply: FastifyReply,
  batches: AsyncGenerator<readonly unknown[], void, void>,
  {gone: disconnected, patienceMs = defaultPatienceMs}: SendOptions,
): Promise<void> {
  const firstBatch = (await batches.next()).value ?? undefined;
  const output = new PassThrough({highWaterMark: maxBufferedBytes});
  // A reader that disconnects ends the answer, and that is not an error.
  output.on('error', () => {});
  // A server that stops while lines are sent waits for the connection. The headers are sent by
  // then, so they always say that the connection closes.
  reply.header('connection', 'close').type(linesType).send(output);
  const waitUntilRead = (waitFor: (options: {signal: AbortSignal}) => Promise<unknown>) =>
    waitFor({signal: AbortSignal.any([disconnected, AbortSignal.timeout(patienceMs)])}).then(
      () => true,
      () => false,
    );
  try {
    for (let batch = firstBatch; batch !== undefined && !disconnected.aborted; ) {
      const text = batch.map((item) => `${JSON.stringify(item)}\n`).join('');
      if (
        !output.write(text) &&
        !(await waitUntilRead((options) => once(output, 'drain', options)))
      )
        return;
      batch = disconnected.aborted ? undefined : ((await batches.next()).value ?? undefined);
    }
    output.end();
    await waitUntilRead((options) => finished(reply.raw, options));
  } finally {
    await batches.return();
    if (!reply.raw.writableFinished) reply.raw.destroy();
  }
}

export interface BatchDeps {
  /** Each batch takes its own turn, so a slow reader keeps none. */
  readonly turns: Turns;
  /** Aborts when the server stops. */
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => HttpProblem;
}

interface BatchedWork<Item, Line> {
  /**
   * The batches of each step, which are done side by side. Each batch has few items, so that its
   * rows are locked only for a moment. The first step has one batch: if that fails, nothing was
   * done.
   */
  readonly steps: Iterable<readonly (readonly Item[])[]>;
  /**
   * Whether the request has had a turn before: then its first batch waits as well, however many
   * others wait.
   */
  readonly isPart?: boolean;
  /** Does one batch in a separate transaction. @returns its lines */
  readonly work: (batch: readonly Item[]) => Promise<Line[]>;
}

/** Batches of one size; the last one has the rest. */
export function* splitBySize<Item>(items: readonly Item[], size: number) {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/**
 * Yields the lines of each step when it is done.
 * @returns the body of the problem of a batch that failed, which ends the work; null if all were
 *   done
 * @throws the error of the first batch: nothing was done
 */
export async function* runInBatches<Item, Line>(
  {turns, stop, explain}: BatchDeps,
  apiKeyId: string,
  {steps, work, isPart = false}: BatchedWork<Item, Line>,
): AsyncGenerator<Line[], HttpProblem['body'] | null, void> {
  let isFirst = true;
  for (const batches of steps) {
    const options = {isPart: isPart || !isFirst};
    const outcomes = await Promise.allSettled(
      batches.map(async (batch) => {
        if (stop.aborted) throw createStoppingProblem();
        return await turns.take(apiKeyId, () => work(batch), options);
      }),
    );
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (isFirst && failure !== undefined) throw failure.reason;
    const lines = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : [],
    );
    if (lines.length > 0) yield lines;
    if (failure !== undefined) return explainRest(explain(failure.reason));
    isFirst = false;
  }
  return null;
}

const restHint =
  'Send the same again later: what was done stays done, and the rest is left as it was.';

/** The hint of a single request would say that nothing was done, or name an Idempotency-Key. */
function explainRest({body}: HttpProblem): HttpProblem['body'] {
  return body.status === 503 ? {...body, hint: restHint} : body;
}

function createStoppingProblem(): HttpProblem {
  return new HttpProblem(503, 'stopping', {detail: 'the server stops', hint: restHint});
}

/** A line of a request for changes: a change, or what is wrong with the line. */
interface RequestLine {
  readonly request: ChangeRequest | HttpProblem;
}

/**
 * Splits the first lines into parts that may be made side by side.
 * @param partSize - lines of one part
 * @returns one or two parts, none of them empty: together they are the first lines, and each part
 *   keeps their order
 */
export function splitIntoIndependentParts<AnyLine extends RequestLine>(
  lines: readonly AnyLine[],
  partSize: number,
): AnyLine[][] {
  for (let count = Math.min(lines.length, 2 * partSize); count > partSize; ) {
    const [firstPart, secondPart] = halve(lines.slice(0, count));
    if (secondPart.length <= partSize) return [firstPart, secondPart];
    count -= secondPart.length - partSize;
  }
  return [lines.slice(0, partSize)];
}

/** Groups fill the first half in their order, so that lines of one kind stay next to each other. */
function halve<AnyLine extends RequestLine>(
  lines: readonly AnyLine[],
): readonly [AnyLine[], AnyLine[]] {
  const firstHalf = new Set<number>();
  for (const group of groupLines(lines))
    if (firstHalf.size + group.length <= lines.length / 2)
      for (const index of group) firstHalf.add(index);
  return [
    lines.filter((_, index) => firstHalf.has(index)),
    lines.filter((_, index) => !firstHalf.has(index)),
  ];
}

/** The places of lines that have a record in common, in order of the first line of each group. */
function groupLines(lines: readonly RequestLine[]): (readonly number[])[] {
  const groups = new Map<string, {readonly places: number[]; readonly names: string[]}>();
  for (const [index, ownNames] of listNames(lines).entries()) {
    const sharedGroups = [...new Set(ownNames.flatMap((name) => groups.get(name) ?? []))];
    const names = [...new Set([...sharedGroups.flatMap((group) => group.names), ...ownNames])];
    const mergedGroup = {names, places: [...sharedGroups.flatMap(({places}) => places), index]};
    for (const name of names) groups.set(name, mergedGroup);
  }
  return [...new Set(groups.values())].map(({places}) => places);
}

/**
 * For each line, the names of the records that it may have in common with others. Several lines may
 * read one parent at the same time: a parent counts only if a line writes it.
 */
function listNames(lines: readonly RequestLine[]): string[][] {
  const requests = lines.map(({request}) => (request instanceof HttpProblem ? null : request));
  const recordsByLine = requests.map((request) => (request === null ? [] : listRecords(request)));
  const allRecords = recordsByLine.flat();
  const referenceKinds = new Map<string, Set<string>>();
  for (const {table, by} of allRecords)
    referenceKinds.set(table, (referenceKinds.get(table) ?? new Set()).add(by));
  // A delete also removes the records that hang on its record, and their lines do not name it.
  const hasDistinctNames =
    referenceKinds.size < 2 || requests.every((request) => request?.operation !== 'delete');
  const toName = ({table, value}: NamedRecord) => {
    if (!hasDistinctNames) return '';
    // A record that one line names by its number may be the one that another names by its key.
    return JSON.stringify(referenceKinds.get(table)?.size === 1 ? [table, value] : [table]);
  };
  const writtenNames = new Set(allRecords.filter(({isWritten}) => isWritten).map(toName));
  return recordsByLine.map((records, index) => {
    const names = records.map(toName).filter((name) => writtenNames.has(name));
    // A line that cannot be read has no record: it is a group alone.
    return names.length > 0 ? names : [`line ${index}`];
  });
}

interface NamedRecord {
  readonly table: string;
  readonly by: string;
  readonly value: string | null;
  /** False for the parent of a new row. */
  readonly isWritten: boolean;
}

function listRecords({table, parent = {}, ...ownReference}: ChangeRequest): NamedRecord[] {
  const parentTable = findWrites(table).parent?.table ?? table;
  return [
    ...listReferences(ownReference).map((reference) => ({...reference, table, isWritten: true})),
    ...listReferences(parent).map((reference) => ({
      ...reference,
      table: parentTable,
      isWritten: false,
    })),
  ];
}

type References = Pick<ChangeRequest, keyof Reference>;

function listReferences({number, row_id, external_key}: References) {
  return Object.entries({number, row_id, external_key}).flatMap(([by, value]) =>
    value === undefined ? [] : [{by, value}],
  );
}

/**
 * One of several changes that are made together: its place among them, and the row that it names.
 */
interface ResolvedChange {
  readonly place: number;
  readonly request: ChangeRequest;
  readonly found: NamedRow | null;
}

/**
 * Makes some changes in few statements, which costs a fraction of making each alone.
 * @param requests - of one table, with one `hold`, one `seen`, all or none with `was`; creates and
 *   upserts have a key, none sets the key of a row or assigns employees
 * @returns the results of the first changes, up to one that names a row for the second time; null
 *   for a change that has to be made alone, such as one of a row that does not exist
 * @throws {HttpProblem} one is refused, without its place: the caller has to roll all of them back
 */
export async function writeTogether(
  client: pg.ClientBase,
  requests: readonly ChangeRequest[],
  key: AccountKey,
): Promise<(ApiResult | null)[]> {
  const [first] = requests;
  if (first === undefined) return [];
  const scope = {key, at: '', earlier: []};
  const writes = findWrites(first.table);
  const foundRows = await findNamedRows(client, writes, {
    key,
    lock: 'UPDATE',
    references: requests.map(toReference),
  });
  const resolved = requests.map((request, index) => ({
    request,
    place: index,
    found: foundRows[index] ?? null,
  }));
  const changes = takeUntilRepeated(resolved);
  const results = new Array<ApiResult | null>(changes.length).fill(null);
  const isWriteOfLiveRow = ({request: {operation}, found: row}: ResolvedChange) =>
    row !== null && !row.isDeleted && operation !== 'create';
  const updates = changes.filter(
    (change) => isWriteOfLiveRow(change) && change.request.operation !== 'delete',
  );
  const deletes = changes.filter(
    (change) => isWriteOfLiveRow(change) && change.request.operation === 'delete',
  );
  const creates = changes.filter(
    ({request: {operation}, found: row}) =>
      row === null && (operation === 'create' || operation === 'upsert'),
  );
  await prepareTogether(client, [...updates, ...deletes], {first, scope});
  try {
    for (const [change, result] of [
      ...(await updateTogether(client, updates, {writes, scope})),
      ...(await deleteTogether(client, deletes, writes)),
      ...(await createTogether(client, creates, {writes, scope})),
    ])
      results[change.place] = result;
    return results;
  } catch (error) {
    throw explainRefusal(error, '');
  }
}

function toReference({number, row_id, external_key}: ChangeRequest): Reference {
  return {number, row_id, external_key: external_key ?? undefined};
}

/** The changes before the first one whose row or key an earlier one has named. */
function takeUntilRepeated(changes: readonly ResolvedChange[]): ResolvedChange[] {
  const namedRows = new Set<string>();
  const end = changes.findIndex(({request, found}) => {
    const name = found === null ? JSON.stringify(toReference(request)) : found.rowId;
    const isRepeated = namedRows.has(name);
    namedRows.add(name);
    return isRepeated;
  });
  return changes.slice(0, end === -1 ? changes.length : end);
}

type ChangeResults = readonly [ResolvedChange, ApiResult][];

interface TogetherContext {
  readonly writes: Writes;
  readonly scope: ChangeScope;
}

/**
 * Prepares the transaction for changes of several rows, as for one: the values that were read of
 * each row are given by its row_id.
 * @throws {HttpProblem} `seen` is not a cursor, or is no longer kept
 */
async function prepareTogether(
  client: pg.ClientBase,
  changes: readonly ResolvedChange[],
  {first, scope}: {readonly first: ChangeRequest; readonly scope: ChangeScope},
): Promise<void> {
  const knownValues = changes.flatMap(({request, found}) => {
    const values = readKnownValues(request, scope);
    return values === null || found === null ? [] : [[found.rowId, values] as const];
  });
  const text = knownValues.length === 0 ? '' : JSON.stringify(Object.fromEntries(knownValues));
  await applyTransactionSettings(client, first, {scope, said: text});
}

async function updateTogether(
  client: pg.ClientBase,
  changes: readonly ResolvedChange[],
  {writes, scope}: TogetherContext,
): Promise<ChangeResults> {
  const rows = changes.map(({request, found}) => ({
    rowId: found?.rowId ?? '',
    values: readWantedValues(request, scope).values,
  }));
  const changeIds = await updateRows(client, writes, rows);
  return changes.map((change) => toResult(change, changeIds, 'update'));
}

async function deleteTogether(
  client: pg.ClientBase,
  changes: readonly ResolvedChange[],
  writes: Writes,
): Promise<ChangeResults> {
  const rowIds = changes.flatMap(({found}) => found?.rowId ?? []);
  await deleteRows(client, writes, rowIds);
  const changeIds = await readLatestChanges(client, writes.table.name, rowIds);
  return changes.map((change) => toResult(change, changeIds, 'delete'));
}

function toResult(
  change: ResolvedChange,
  changeIds: ReadonlyMap<string, string>,
  operation: 'update' | 'delete',
): [ResolvedChange, ApiResult] {
  const {rowId: row_id = '', number = null, externalKey: external_key = null} = change.found ?? {};
  const changeId = changeIds.get(row_id);
  const {table} = change.request;
  if (changeId !== undefined) return [change, {change_id: changeId}];
  return [
    change,
    {unchanged: {state: 'unchanged', table, row_id, operation, number, external_key}},
  ];
}

/** Makes the creates, but for those whose parent does not exist. */
async function createTogether(
  client: pg.ClientBase,
  changes: readonly ResolvedChange[],
  {writes, scope}: TogetherContext,
): Promise<ChangeResults> {
  const {accountId, system} = scope.key;
  const {parent, table} = writes;
  const references = changes.map(({request}) => request.parent ?? {});
  const parents =
    parent === null || changes.length === 0
      ? []
      : await findNamedRows(client, findWrites(parent.table), {
          key: scope.key,
          lock: 'SHARE',
          references,
        });
  const rows = changes.flatMap((change, index) => {
    const {external_key = null} = change.request;
    const parentRow = parents[index] ?? null;
    if (change.request.parent !== undefined && parentRow === null) return [];
    const row = {
      account_id: accountId,
      ...(system === defaultSystem ? {external_key} : {}),
      ...buildParentColumn(writes, parentRow),
      ...readWantedValues(change.request, scope).values,
    };
    return [{one: change, row}];
  });
  const results: [ResolvedChange, ApiResult][] = [];
  for (const group of Map.groupBy(rows, ({row}) => Object.keys(row).join()).values()) {
    const rowIds = await insertRows(
      client,
      writes,
      group.map(({row}) => row),
    );
    if (system !== defaultSystem)
      for (const [index, {one: change}] of group.entries())
        await setLink(
          client,
          {table: table.name, rowId: rowIds[index] ?? '', system},
          change.request.external_key ?? null,
        );
    const changeIds = await readCreates(client, table.name, rowIds);
    for (const [index, {one: change}] of group.entries())
      results.push([change, {change_id: changeIds[index] ?? ''}]);
  }
  return results;
}
