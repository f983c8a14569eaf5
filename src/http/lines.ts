// Does many items of one request batch by batch: each batch in a separate transaction, alone or
// beside another one. The next batches begin when the reader has taken the lines of those before,
// so at most one step is done ahead of its answers. This file also sends answers with one JSON
// document per line, as soon as they are ready. And it makes changes of one kind, each of another
// row, in few statements.

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
import type {ChangeRequest, Reference} from './change-request.ts';
import type {AccountKey, Turns} from './keys.ts';
import {explainRefusal, HttpProblem, linesType} from './problem.ts';
import {readCreates, readLatestChanges} from './read-change.ts';
import {columnOfParent, readSaid, type Scope, setUp} from './write-changes.ts';
import {
  deleteRows,
  findNamedRows,
  insertRows,
  type NamedRow,
  readWishes,
  updateRows,
} from './write-rows.ts';

/** One answer at the end, or lines as they are made, if the Accept header requests them. */
export function jsonOrLines(whole: z.ZodType, line: z.ZodType) {
  return {
    description: 'All of it in one; or line by line, for Accept: application/x-ndjson.',
    content: {'application/json': {schema: whole}, [linesType]: {schema: line}},
  };
}

/** Bytes that wait for the socket before the sender waits as well. */
const mostWaiting = 65_536;

/** A reader that accepts nothing for this long is disconnected. */
const usualPatienceMs = 30_000;

/** Whether the Accept header of a request accepts lines. */
export function wantsLines({headers}: FastifyRequest): boolean {
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((range) => range.toLowerCase().replace(/\s/g, ''));
  return accepted.some(
    (range) => range.split(';', 1)[0] === linesType && !/;q=0(?:\.0*)?(?:;|$)/.test(range),
  );
}

interface Sending {
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
  {gone, patienceMs = usualPatienceMs}: Sending,
): Promise<void> {
  const first = (await batches.next()).value ?? undefined;
  const lines = new PassThrough({highWaterMark: mostWaiting});
  // A reader that disconnects ends the answer, and that is not an error.
  lines.on('error', () => {});
  // A server that stops while lines are sent waits for the connection. The headers are sent by
  // then, so they always say that the connection closes.
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

export interface BatchDeps {
  /** Each batch takes its own turn, so a slow reader keeps none. */
  readonly turns: Turns;
  /** Aborts when the server stops. */
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => HttpProblem;
}

interface Batches<Item, Line> {
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
export function* inSizes<Item>(items: readonly Item[], size: number) {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/**
 * Yields the lines of each step when it is done.
 * @returns the problem of a batch that failed, which ends the work; null if all were done
 * @throws the error of the first batch: nothing was done
 */
export async function* inBatches<Item, Line>(
  {turns, stop, explain}: BatchDeps,
  apiKeyId: string,
  {steps, work, isPart = false}: Batches<Item, Line>,
): AsyncGenerator<Line[], HttpProblem | null, void> {
  let isFirst = true;
  for (const batches of steps) {
    const options = {isPart: isPart || !isFirst};
    const ended = await Promise.allSettled(
      batches.map(async (batch) => {
        if (stop.aborted) throw stopped();
        return await turns.take(apiKeyId, () => work(batch), options);
      }),
    );
    const failed = ended.find((one) => one.status === 'rejected');
    if (isFirst && failed !== undefined) throw failed.reason;
    const lines = ended.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (lines.length > 0) yield lines;
    if (failed !== undefined) return explain(failed.reason);
    isFirst = false;
  }
  return null;
}

function stopped(): HttpProblem {
  return new HttpProblem(503, 'stopping', {
    detail: 'the server stops',
    hint: 'Send the same again later: what was done stays done, and the rest is left as it was.',
  });
}

/**
 * One of several changes that are made together: its place among them, and the row that it names.
 */
interface Resolved {
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
  const found = await findNamedRows(client, writes, {
    ...{key, lock: 'UPDATE', references: requests.map(referenceOf)},
  });
  const all = requests.map((request, place) => ({request, place, found: found[place] ?? null}));
  const once = withoutRepeated(all);
  const made = new Array<ApiResult | null>(once.length).fill(null);
  const isWritten = ({request: {operation}, found: row}: Resolved) =>
    row !== null && !row.isDeleted && operation !== 'create';
  const updates = once.filter((one) => isWritten(one) && one.request.operation !== 'delete');
  const deletes = once.filter((one) => isWritten(one) && one.request.operation === 'delete');
  const creates = once.filter(
    ({request: {operation}, found: row}) =>
      row === null && (operation === 'create' || operation === 'upsert'),
  );
  await prepareAll(client, [...updates, ...deletes], {first, scope});
  try {
    for (const [one, result] of [
      ...(await updateTogether(client, updates, {writes, scope})),
      ...(await deleteTogether(client, deletes, writes)),
      ...(await createTogether(client, creates, {writes, scope})),
    ])
      made[one.place] = result;
    return made;
  } catch (error) {
    throw explainRefusal(error, '');
  }
}

function referenceOf({number, row_id, external_key}: ChangeRequest): Reference {
  return {number, row_id, external_key: external_key ?? undefined};
}

/** The changes before the first one whose row or key an earlier one has named. */
function withoutRepeated(all: readonly Resolved[]): Resolved[] {
  const named = new Set<string>();
  const end = all.findIndex(({request, found}) => {
    const name = found === null ? JSON.stringify(referenceOf(request)) : found.rowId;
    const isRepeated = named.has(name);
    named.add(name);
    return isRepeated;
  });
  return all.slice(0, end === -1 ? all.length : end);
}

type Together = readonly [Resolved, ApiResult][];

interface TogetherScope {
  readonly writes: Writes;
  readonly scope: Scope;
}

/**
 * Prepares the transaction for changes of several rows, as for one: the values that were read of
 * each row are given by its row_id.
 * @throws {HttpProblem} `seen` is not a cursor, or is no longer kept
 */
async function prepareAll(
  client: pg.ClientBase,
  all: readonly Resolved[],
  {first, scope}: {readonly first: ChangeRequest; readonly scope: Scope},
): Promise<void> {
  const said = all.flatMap(({request, found}) => {
    const read = readSaid(request, scope);
    return read === null || found === null ? [] : [[found.rowId, read] as const];
  });
  const text = said.length === 0 ? '' : JSON.stringify(Object.fromEntries(said));
  await setUp(client, first, {scope, said: text});
}

async function updateTogether(
  client: pg.ClientBase,
  all: readonly Resolved[],
  {writes, scope}: TogetherScope,
): Promise<Together> {
  const rows = all.map(({request, found}) => ({
    rowId: found?.rowId ?? '',
    values: readWishes(request, scope).values,
  }));
  const changeIds = await updateRows(client, writes, rows);
  return all.map((one) => toWritten(one, changeIds, 'update'));
}

async function deleteTogether(
  client: pg.ClientBase,
  all: readonly Resolved[],
  writes: Writes,
): Promise<Together> {
  const rowIds = all.flatMap(({found}) => found?.rowId ?? []);
  await deleteRows(client, writes, rowIds);
  const changeIds = await readLatestChanges(client, writes.table.name, rowIds);
  return all.map((one) => toWritten(one, changeIds, 'delete'));
}

function toWritten(
  one: Resolved,
  changeIds: ReadonlyMap<string, string>,
  operation: 'update' | 'delete',
): [Resolved, ApiResult] {
  const {rowId: row_id = '', number = null, externalKey: external_key = null} = one.found ?? {};
  const changeId = changeIds.get(row_id);
  const {table} = one.request;
  if (changeId !== undefined) return [one, {change_id: changeId}];
  return [one, {unchanged: {state: 'unchanged', table, row_id, operation, number, external_key}}];
}

/** Makes the creates, but for those whose parent does not exist. */
async function createTogether(
  client: pg.ClientBase,
  all: readonly Resolved[],
  {writes, scope}: TogetherScope,
): Promise<Together> {
  const {accountId, system} = scope.key;
  const {parent, table} = writes;
  const references = all.map(({request}) => request.parent ?? {});
  const parents =
    parent === null || all.length === 0
      ? []
      : await findNamedRows(client, findWrites(parent.table), {
          ...{key: scope.key, lock: 'SHARE', references},
        });
  const rows = all.flatMap((one, at) => {
    const {external_key = null} = one.request;
    const found = parents[at] ?? null;
    if (one.request.parent !== undefined && found === null) return [];
    const row = {
      account_id: accountId,
      ...(system === defaultSystem ? {external_key} : {}),
      ...columnOfParent(writes, found),
      ...readWishes(one.request, scope).values,
    };
    return [{one, row}];
  });
  const made: [Resolved, ApiResult][] = [];
  for (const some of Map.groupBy(rows, ({row}) => Object.keys(row).join()).values()) {
    const rowIds = await insertRows(
      client,
      writes,
      some.map(({row}) => row),
    );
    if (system !== defaultSystem)
      for (const [at, {one}] of some.entries())
        await setLink(
          client,
          {table: table.name, rowId: rowIds[at] ?? '', system},
          one.request.external_key ?? null,
        );
    const changeIds = await readCreates(client, table.name, rowIds);
    for (const [at, {one}] of some.entries()) made.push([one, {change_id: changeIds[at] ?? ''}]);
  }
  return made;
}
