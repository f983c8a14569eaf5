// The HTTP API writes as every author does: with plain SQL on the warehouse. The triggers make the
// changes, or refuse. For one change, this file finds the rows that it names, runs its statements,
// and reads the change that the triggers made.

import {createHash} from 'node:crypto';
import type pg from 'pg';
import {
  type ApiRequest,
  type ApiResult,
  claimApiRequest,
  saveApiResults,
} from '../accounts/access.ts';
import {defaultSystem} from '../core/names.ts';
import {ackFeed} from '../feed/feed.ts';
import {inTransaction} from '../postgres/database.ts';
import {setLink} from '../rows/links.ts';
import {findWrites} from '../streams/all.ts';
import type {Writes} from '../streams/stream.ts';
import {type Result, unchangedSchema} from './answers.ts';
import {type ChangeRequest, givesUpKey, type Reference, setsKey} from './change-request.ts';
import type {AccountKey} from './keys.ts';
import {explainCursor, explainRefusal, HttpProblem} from './problem.ts';
import {answerChanges, readLastChange, readLatestChanges} from './read-change.ts';
import {
  assignEmployees,
  deleteRows,
  findRow,
  insertRows,
  type NamedRow,
  readWishes,
  updateRow,
  type Values,
} from './write-rows.ts';

/** A request as it came in. */
interface ChangesRequest {
  readonly key: AccountKey;
  /** One, or an array. */
  readonly body: ChangeRequest | readonly ChangeRequest[];
  /** The name of the transaction; null for none. */
  readonly batch: string | null;
  /** A cursor that becomes the place of the key in the feed; null: the place stays as it is. */
  readonly ack: string | null;
  /**
   * The caller's own name for the request: if the same request comes again, it has no further
   * effect.
   */
  readonly idempotencyKey: string | null;
}

/**
 * Makes all changes of a request, or none, in one transaction. If the same request came before
 * under the same idempotency key, the answer has the changes made then.
 * @returns the results in the order of the request; each change as it is now
 * @throws {HttpProblem} a change is refused, or the key was used for another request
 */
export async function writeChanges(
  pool: pg.Pool,
  {key, body, batch, ack, idempotencyKey}: ChangesRequest,
): Promise<{readonly results: readonly Result[]; readonly isReplay: boolean}> {
  return await inTransaction(pool, async (client) => {
    await writeAs(client, key, batch);
    const {accountId} = key;
    const request =
      idempotencyKey === null ? null : {accountId, idempotencyKey, bodyHash: hashBody(body)};
    const before = request === null ? null : await findBefore(client, request);
    const results = before ?? (await writeAll(client, {key, body}));
    if (request !== null && before === null) await saveApiResults(client, request, results);
    if (ack !== null && before === null) await storePlace(client, key, ack);
    return {results: await readResults(client, key, results), isReplay: before !== null};
  });
}

/**
 * Makes the key the author of the transaction, whichever author used the connection before. The
 * triggers of its rows keep their query plans: planning again for each row took a tenth to a fifth
 * of the time.
 * @param batch - the name of the transaction; null for none
 */
export async function writeAs(
  client: pg.ClientBase,
  {name}: AccountKey,
  batch: string | null,
): Promise<void> {
  await client.query(
    `SELECT set_config('fieldmirror.writer', '', true), set_config('application_name', $1, true),
            set_config('fieldmirror.batch', $2, true),
            set_config('plan_cache_mode', 'force_generic_plan', true)`,
    [`http: ${name}`, batch ?? ''],
  );
}

async function storePlace(
  client: pg.ClientBase,
  {accountId, name}: AccountKey,
  cursor: string,
): Promise<void> {
  const place = {accountId, reader: `http: ${name}`, cursor, state: null};
  await ackFeed(client, place).catch((error: unknown) => {
    throw explainCursor(error, 'ack');
  });
}

async function findBefore(
  client: pg.ClientBase,
  request: ApiRequest,
): Promise<readonly ApiResult[] | null> {
  const before = await claimApiRequest(client, request);
  if (before === null || before.isSameBody) return before?.results ?? null;
  throw new HttpProblem(422, 'key-reused', {
    detail: 'Idempotency-Key: it was used for another request',
    hint:
      'Give each request a separate key; repeat a request with the key and the body that it ' +
      'had.',
    errors: [
      {in: 'header', at: 'Idempotency-Key', expected: 'a new key, or the same body as before'},
    ],
  });
}

async function writeAll(
  client: pg.ClientBase,
  {key, body}: Pick<ChangesRequest, 'key' | 'body'>,
): Promise<readonly ApiResult[]> {
  const earlier: Made[] = [];
  const requests = isArray(body) ? body : [body];
  for (const [index, request] of requests.entries())
    earlier.push(
      await writeChange(client, request, {key, at: isArray(body) ? `/${index}` : '', earlier}),
    );
  return earlier.map(({result}) => result);
}

/**
 * The changes as they are when the transaction ends: a transaction that writes too much holds them.
 */
export async function readResults(
  client: pg.ClientBase,
  key: AccountKey,
  results: readonly ApiResult[],
): Promise<readonly Result[]> {
  await client.query('SET CONSTRAINTS sync.hold_large IMMEDIATE');
  const ids = results.flatMap((result) => ('change_id' in result ? [result.change_id] : []));
  const changes = await answerChanges(client, key, ids);
  return results.map((result) => {
    if (!('change_id' in result)) return unchangedSchema.parse(result.unchanged);
    const change = changes.get(result.change_id);
    if (change === undefined) throw new Error(`change ${result.change_id}: it no longer exists`);
    return change;
  });
}

/**
 * The hash of the parsed body, not of its bytes: a request stays the same if only blanks or the
 * order of names differ.
 */
function hashBody(body: ChangesRequest['body']): Buffer {
  return createHash('sha256').update(JSON.stringify(body)).digest();
}

function isArray(body: ChangesRequest['body']): body is readonly ChangeRequest[] {
  return Array.isArray(body);
}

/** The result of an earlier change of the same request: a later one may hang on its row. */
interface Made {
  readonly table: string;
  /** Null if the change made no row. */
  readonly createdRowId: string | null;
  readonly result: ApiResult;
}

export interface Scope {
  readonly key: AccountKey;
  /** JSON pointer to the change in the body. */
  readonly at: string;
  readonly earlier: readonly Made[];
}

/**
 * Writes one change in the caller's transaction.
 * @throws {HttpProblem} the row or its parent does not exist, or a trigger refuses
 */
export async function writeChange(
  client: pg.ClientBase,
  asked: ChangeRequest,
  scope: Scope,
): Promise<Made> {
  const {request, found} = await readUpsert(client, asked, scope);
  const {table, operation} = request;
  await prepare(client, request, scope);
  try {
    const row =
      operation === 'create'
        ? await create(client, request, scope)
        : await change(client, request, {...scope, found});
    const changeId =
      (await readLastChange(client)) ??
      // If the row is deleted before it was sent, its create is cancelled, and nothing is left to
      // send.
      (operation === 'delete'
        ? ((await readLatestChanges(client, table, [row.rowId])).get(row.rowId) ?? null)
        : null);
    const {rowId: row_id, number, externalKey: external_key} = row;
    const unchanged = {state: 'unchanged', table, row_id, operation, number, external_key};
    return {
      table,
      createdRowId: operation === 'create' ? row.rowId : null,
      result: changeId === null ? {unchanged} : {change_id: changeId},
    };
  } catch (error) {
    throw explainRefusal(error, scope.at);
  }
}

/**
 * The value of `fieldmirror.mode` for a change: a request can hold more than its key does, never
 * less.
 */
function modeOf(hold: boolean, {holdsDeletes}: AccountKey): string {
  if (hold) return 'hold';
  return holdsDeletes ? 'hold-deletes' : '';
}

/**
 * Prepares the transaction for one change. Settings state whether it is held and what its author
 * had read, as for any author.
 * @throws {HttpProblem} `seen` is not a cursor, or is no longer kept
 */
async function prepare(client: pg.ClientBase, request: ChangeRequest, scope: Scope): Promise<void> {
  const said = readSaid(request, scope);
  await setUp(client, request, {scope, said: said === null ? '' : JSON.stringify(said)});
}

/** The values that the author reports as read; null if it reports none. */
export function readSaid({table, was}: ChangeRequest, scope: Scope): object | null {
  if (was === undefined) return null;
  const {values, employeeIds} = readWishes({table, fields: was}, {...scope, member: 'was'});
  return {...values, ...(employeeIds === null ? {} : {employee_ids: employeeIds})};
}

/** @param said - the value of fieldmirror.was: JSON by field, or by row_id and field */
export async function setUp(
  client: pg.ClientBase,
  {hold = false, seen = ''}: ChangeRequest,
  {scope, said}: {readonly scope: Scope; readonly said: string},
): Promise<void> {
  try {
    await client.query(
      `SELECT set_config('fieldmirror.last_change', '', true),
        set_config('fieldmirror.mode', $1, true), set_config('fieldmirror.seen', $2, true),
        set_config('fieldmirror.was', $3, true)`,
      [modeOf(hold, scope.key), seen, said],
    );
    if (seen !== '') await client.query('SELECT sync.seen_position()');
  } catch (error) {
    throw explainCursor(error, `${scope.at}/seen`);
  }
}

/** Turns an upsert into an update if a row, `found`, has its key, and otherwise into a create. */
async function readUpsert(
  client: pg.ClientBase,
  request: ChangeRequest,
  {key}: Scope,
): Promise<{readonly request: ChangeRequest; readonly found: NamedRow | null}> {
  const {operation, table, external_key} = request;
  if (operation !== 'upsert') return {request, found: null};
  const reference = {external_key: external_key ?? undefined};
  const found = await findRow(client, findWrites(table), {key, reference, lock: 'UPDATE'});
  return {request: {...request, operation: found === null ? 'create' : 'update'}, found};
}

async function create(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: Scope,
): Promise<NamedRow> {
  const writes = findWrites(request.table);
  const {accountId, system} = scope.key;
  const {table, external_key: key = null} = request;
  const {values, employeeIds} = readWishes(request, scope);
  const row = {
    account_id: accountId,
    ...(system === defaultSystem ? {external_key: key} : {}),
    ...(await findParent(client, writes, {request, scope})),
    ...values,
  };
  const [rowId = ''] = await insertRows(client, writes, [row]);
  if (key !== null && system !== defaultSystem) await setLink(client, {table, rowId, system}, key);
  const made = {rowId, number: null, externalKey: key, isDeleted: false};
  if (employeeIds !== null) await assignEmployees(client, made, {accountId, employeeIds});
  return made;
}

/** @param scope.found - the row, locked; null: this function finds and locks it */
async function change(
  client: pg.ClientBase,
  request: ChangeRequest,
  {found, ...scope}: Scope & {readonly found: NamedRow | null},
): Promise<NamedRow> {
  const writes = findWrites(request.table);
  const {accountId, system} = scope.key;
  const {external_key: key = null, number, row_id} = request;
  const sets = setsKey(request);
  const reference = {number, row_id, external_key: sets ? undefined : (key ?? undefined)};
  const row = found ?? (await findRow(client, writes, {key: scope.key, reference, lock: 'UPDATE'}));
  if (row === null || (row.isDeleted && !givesUpKey(request)))
    throw refuseUnknown({...request, ...reference}, scope, row);
  const {rowId} = row;
  if (request.operation === 'delete') {
    await deleteRows(client, writes, [rowId]);
    return row;
  }
  if (sets) await setLink(client, {table: request.table, rowId, system}, key);
  const {values, employeeIds} = readWishes(request, scope);
  await updateRow(client, writes, {rowId, values});
  if (employeeIds !== null) await assignEmployees(client, row, {accountId, employeeIds});
  return sets ? {...row, externalKey: key} : row;
}

/** The column that names the parent: by its number if it has one, otherwise by its row. */
export function columnOfParent({parent}: Writes, found: NamedRow | null): Values {
  if (parent === null || found === null) return {};
  return found.number === null
    ? {parent_row_id: found.rowId}
    : {[parent.numberColumn]: found.number};
}

async function findParent(
  client: pg.ClientBase,
  writes: Writes,
  {request, scope}: {readonly request: ChangeRequest; readonly scope: Scope},
): Promise<Values> {
  const {parent} = writes;
  if (parent === null || request.parent === undefined) return {};
  const {index, ...named} = request.parent;
  const place = `${scope.at}/parent`;
  const reference: Reference =
    index === undefined
      ? named
      : {row_id: findMade(scope.earlier, {index, table: parent.table, place})};
  const found = await findRow(client, findWrites(parent.table), {
    key: scope.key,
    reference,
    lock: 'SHARE',
  });
  if (found !== null) return columnOfParent(writes, found);
  throw new HttpProblem(422, 'refused', {
    detail: `parent: none of the ${parent.table} of this account is meant by it`,
    hint: `GET /v1/${parent.table} lists them.`,
    errors: [{in: 'body', at: place, expected: `one of the ${parent.table}`, got: describe(named)}],
  });
}

function findMade(
  earlier: readonly Made[],
  {index, table, place}: {readonly index: number; readonly table: string; readonly place: string},
): string {
  const made = earlier[index];
  if (made?.table === table && made.createdRowId !== null) return made.createdRowId;
  throw new HttpProblem(422, 'refused', {
    detail: `parent: change ${index} of this array does not create one of the ${table}`,
    hint: 'A parent comes before what hangs on it.',
    errors: [
      {
        in: 'body',
        at: `${place}/index`,
        expected: `the index of an earlier create of ${table}`,
        got: `${index}`,
      },
    ],
  });
}

function refuseUnknown(
  {table, ...named}: Reference & Pick<ChangeRequest, 'table'>,
  {at}: Scope,
  row: NamedRow | null,
): HttpProblem {
  const list = `GET /v1/${table}${row === null ? '' : '?deleted=true'} lists them.`;
  const free = ` An update of row_id ${row?.rowId} with external_key null frees its key.`;
  return new HttpProblem(404, 'not-found', {
    detail:
      row === null
        ? `${table}: there is no ${describe(named)}`
        : `${table}: ${describe(named)} is deleted`,
    hint: row === null || row.externalKey === null ? list : `${list}${free}`,
    errors: [{in: 'body', at, expected: 'a live row of this account', got: describe(named)}],
  });
}

function describe({number, row_id, external_key}: Reference): string {
  if (number !== undefined) return `number ${number}`;
  return row_id === undefined ? `external_key ${JSON.stringify(external_key)}` : `row_id ${row_id}`;
}
