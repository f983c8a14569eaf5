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
import {
  type Result,
  readApiChanges,
  readLastChange,
  readLatestChanges,
  unchangedSchema,
} from './answers.ts';
import {type ChangeRequest, onlyRemovesKey, type Reference, setsKey} from './change-request.ts';
import type {AccountKey} from './keys.ts';
import {explainCursor, explainRefusal, HttpProblem} from './problem.ts';
import {
  assignEmployees,
  deleteRows,
  findRow,
  insertRows,
  type NamedRow,
  readWantedValues,
  updateRow,
  type WrittenValues,
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
    await setAuthor(client, key, batch);
    const {accountId, system} = key;
    const request =
      idempotencyKey === null
        ? null
        : {accountId, system, idempotencyKey, bodyHash: hashRequestBody(body)};
    const earlierResults = request === null ? null : await findEarlierResults(client, request);
    const results = earlierResults ?? (await writeAll(client, {key, body}));
    if (request !== null && earlierResults === null) await saveApiResults(client, request, results);
    if (ack !== null && earlierResults === null) await storeFeedPlace(client, key, ack);
    return {results: await readResults(client, key, results), isReplay: earlierResults !== null};
  });
}

/**
 * Makes the key the author of the transaction, whichever author used the connection before. The
 * triggers of its rows keep their query plans: planning again for each row took a tenth to a fifth
 * of the time.
 * @param batch - the name of the transaction; null for none
 */
export async function setAuthor(
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

async function storeFeedPlace(
  client: pg.ClientBase,
  {accountId, name}: AccountKey,
  cursor: string,
): Promise<void> {
  const place = {accountId, reader: `http: ${name}`, cursor, state: null};
  await ackFeed(client, place).catch((error: unknown) => {
    throw explainCursor(error, 'ack');
  });
}

async function findEarlierResults(
  client: pg.ClientBase,
  request: ApiRequest,
): Promise<readonly ApiResult[] | null> {
  const earlierRequest = await claimApiRequest(client, request);
  if (earlierRequest === null || earlierRequest.isSameBody) return earlierRequest?.results ?? null;
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
  const written: WrittenChange[] = [];
  const requests = isArray(body) ? body : [body];
  for (const [index, request] of requests.entries())
    written.push(
      await writeChange(client, request, {
        key,
        at: isArray(body) ? `/${index}` : '',
        earlier: written,
      }),
    );
  return written.map(({result}) => result);
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
  const changes = await readApiChanges(client, key, ids);
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
function hashRequestBody(body: ChangesRequest['body']): Buffer {
  return createHash('sha256').update(JSON.stringify(body)).digest();
}

function isArray(body: ChangesRequest['body']): body is readonly ChangeRequest[] {
  return Array.isArray(body);
}

/** The result of an earlier change of the same request: a later one may hang on its row. */
interface WrittenChange {
  readonly table: string;
  /** Null if the change made no row. */
  readonly createdRowId: string | null;
  readonly result: ApiResult;
}

export interface ChangeScope {
  readonly key: AccountKey;
  /** JSON pointer to the change in the body. */
  readonly at: string;
  readonly earlier: readonly WrittenChange[];
}

/**
 * Writes one change in the caller's transaction.
 * @throws {HttpProblem} the row or its parent does not exist, or a trigger refuses
 */
export async function writeChange(
  client: pg.ClientBase,
  requestedChange: ChangeRequest,
  scope: ChangeScope,
): Promise<WrittenChange> {
  const {request, found: existingRow} = await resolveUpsert(client, requestedChange, scope);
  const {table, operation} = request;
  await prepareTransaction(client, request, scope);
  try {
    const row =
      operation === 'create'
        ? await createRow(client, request, scope)
        : await changeRow(client, request, {...scope, found: existingRow});
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
function chooseMode(hold: boolean, {holdsDeletes}: AccountKey): string {
  if (hold) return 'hold';
  return holdsDeletes ? 'hold-deletes' : '';
}

/**
 * Prepares the transaction for one change. Settings state whether it is held and what its author
 * had read, as for any author.
 * @throws {HttpProblem} `seen` is not a cursor, or is no longer kept
 */
async function prepareTransaction(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: ChangeScope,
): Promise<void> {
  const knownValues = readKnownValues(request, scope);
  await applyTransactionSettings(client, request, {
    scope,
    said: knownValues === null ? '' : JSON.stringify(knownValues),
  });
}

/** The values that the author reports as read; null if it reports none. */
export function readKnownValues({table, was}: ChangeRequest, scope: ChangeScope): object | null {
  if (was === undefined) return null;
  const {values, employeeIds} = readWantedValues({table, fields: was}, {...scope, member: 'was'});
  return {...values, ...(employeeIds === null ? {} : {employee_ids: employeeIds})};
}

/** @param said - the value of fieldmirror.was: JSON by field, or by row_id and field */
export async function applyTransactionSettings(
  client: pg.ClientBase,
  {hold = false, seen = ''}: ChangeRequest,
  {scope, said: knownValues}: {readonly scope: ChangeScope; readonly said: string},
): Promise<void> {
  try {
    await client.query(
      `SELECT set_config('fieldmirror.last_change', '', true),
        set_config('fieldmirror.mode', $1, true), set_config('fieldmirror.seen', $2, true),
        set_config('fieldmirror.was', $3, true)`,
      [chooseMode(hold, scope.key), seen, knownValues],
    );
    if (seen !== '') await client.query('SELECT sync.seen_position()');
  } catch (error) {
    throw explainCursor(error, `${scope.at}/seen`);
  }
}

/** Turns an upsert into an update if a row, `found`, has its key, and otherwise into a create. */
async function resolveUpsert(
  client: pg.ClientBase,
  request: ChangeRequest,
  {key}: ChangeScope,
): Promise<{readonly request: ChangeRequest; readonly found: NamedRow | null}> {
  const {operation, table, external_key} = request;
  if (operation !== 'upsert') return {request, found: null};
  const reference = {external_key: external_key ?? undefined};
  const existingRow = await findRow(client, findWrites(table), {key, reference, lock: 'UPDATE'});
  return {
    request: {...request, operation: existingRow === null ? 'create' : 'update'},
    found: existingRow,
  };
}

async function createRow(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: ChangeScope,
): Promise<NamedRow> {
  const writes = findWrites(request.table);
  const {accountId, system} = scope.key;
  const {table, external_key: key = null} = request;
  const {values, employeeIds} = readWantedValues(request, scope);
  const row = {
    account_id: accountId,
    ...(system === defaultSystem ? {external_key: key} : {}),
    ...(await findParentColumn(client, writes, {request, scope})),
    ...values,
  };
  const [rowId = ''] = await insertRows(client, writes, [row]);
  if (key !== null && system !== defaultSystem) await setLink(client, {table, rowId, system}, key);
  const newRow = {rowId, number: null, externalKey: key, isDeleted: false};
  if (employeeIds !== null) await assignEmployees(client, newRow, {accountId, employeeIds});
  return newRow;
}

/** @param scope.found - the row, locked; null: this function finds and locks it */
async function changeRow(
  client: pg.ClientBase,
  request: ChangeRequest,
  {found: existingRow, ...scope}: ChangeScope & {readonly found: NamedRow | null},
): Promise<NamedRow> {
  const writes = findWrites(request.table);
  const {accountId, system} = scope.key;
  const {external_key: key = null, number, row_id} = request;
  const isSettingKey = setsKey(request);
  const reference = {number, row_id, external_key: isSettingKey ? undefined : (key ?? undefined)};
  const row =
    existingRow ?? (await findRow(client, writes, {key: scope.key, reference, lock: 'UPDATE'}));
  if (row === null || (row.isDeleted && !onlyRemovesKey(request)))
    throw createUnknownRowProblem({...request, ...reference}, scope, row);
  const {rowId} = row;
  if (request.operation === 'delete') {
    await deleteRows(client, writes, [rowId]);
    return row;
  }
  if (isSettingKey) await setLink(client, {table: request.table, rowId, system}, key);
  const {values, employeeIds} = readWantedValues(request, scope);
  await updateRow(client, writes, {rowId, values});
  if (employeeIds !== null) await assignEmployees(client, row, {accountId, employeeIds});
  return isSettingKey ? {...row, externalKey: key} : row;
}

/** The column that names the parent: by its number if it has one, otherwise by its row. */
export function buildParentColumn({parent}: Writes, parentRow: NamedRow | null): WrittenValues {
  if (parent === null || parentRow === null) return {};
  return parentRow.number === null
    ? {parent_row_id: parentRow.rowId}
    : {[parent.numberColumn]: parentRow.number};
}

async function findParentColumn(
  client: pg.ClientBase,
  writes: Writes,
  {request, scope}: {readonly request: ChangeRequest; readonly scope: ChangeScope},
): Promise<WrittenValues> {
  const {parent} = writes;
  if (parent === null || request.parent === undefined) return {};
  const {index, ...parentReference} = request.parent;
  const pointer = `${scope.at}/parent`;
  const reference: Reference =
    index === undefined
      ? parentReference
      : {row_id: findCreatedRow(scope.earlier, {index, table: parent.table, place: pointer})};
  const parentRow = await findRow(client, findWrites(parent.table), {
    key: scope.key,
    reference,
    lock: 'SHARE',
  });
  if (parentRow !== null) return buildParentColumn(writes, parentRow);
  throw new HttpProblem(422, 'refused', {
    detail: `parent: none of the ${parent.table} of this account is meant by it`,
    hint: `GET /v1/${parent.table} lists them.`,
    errors: [
      {
        in: 'body',
        at: pointer,
        expected: `one of the ${parent.table}`,
        got: describeReference(parentReference),
      },
    ],
  });
}

function findCreatedRow(
  earlier: readonly WrittenChange[],
  {
    index,
    table,
    place: pointer,
  }: {readonly index: number; readonly table: string; readonly place: string},
): string {
  const written = earlier[index];
  if (written?.table === table && written.createdRowId !== null) return written.createdRowId;
  throw new HttpProblem(422, 'refused', {
    detail: `parent: change ${index} of this array does not create one of the ${table}`,
    hint: 'A parent comes before what hangs on it.',
    errors: [
      {
        in: 'body',
        at: `${pointer}/index`,
        expected: `the index of an earlier create of ${table}`,
        got: `${index}`,
      },
    ],
  });
}

function createUnknownRowProblem(
  {table, ...reference}: Reference & Pick<ChangeRequest, 'table'>,
  {at}: ChangeScope,
  row: NamedRow | null,
): HttpProblem {
  const listHint = `GET /v1/${table}${row === null ? '' : '?deleted=true'} lists them.`;
  const freeKeyHint = ` An update of row_id ${row?.rowId} with external_key null frees its key.`;
  return new HttpProblem(404, 'not-found', {
    detail:
      row === null
        ? `${table}: there is no ${describeReference(reference)}`
        : `${table}: ${describeReference(reference)} is deleted`,
    hint: row === null || row.externalKey === null ? listHint : `${listHint}${freeKeyHint}`,
    errors: [
      {in: 'body', at, expected: 'a live row of this account', got: describeReference(reference)},
    ],
  });
}

function describeReference({number, row_id, external_key}: Reference): string {
  if (number !== undefined) return `number ${number}`;
  return row_id === undefined ? `external_key ${JSON.stringify(external_key)}` : `row_id ${row_id}`;
}
