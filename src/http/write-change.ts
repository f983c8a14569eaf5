// One change: the rows it names are found, its statements run, and the change that the triggers
// made is looked up.

import type pg from 'pg';
import type {ApiResult} from '../accounts/access.ts';
import {RecordError} from '../core/errors.ts';
import {findWrites} from '../streams/all.ts';
import type {Writes} from '../streams/stream.ts';
import type {AccountKey} from './authentication.ts';
import type {ChangeRequest, Reference} from './change-request.ts';
import {type FoundRow, findRow} from './find-row.ts';
import {readTime} from './local-time.ts';
import {explainRefusal, Problem} from './problem.ts';
import {readLastChange, readLatestChange} from './read-change.ts';
import {assignEmployees, deleteRow, insertRow, updateRow, type Values} from './write-row.ts';

/** The result of an earlier change of the same request: a later one may hang on its row. */
export interface Made {
  readonly table: string;
  /** Null where the change made no row. */
  readonly createdRowId: string | null;
  readonly result: ApiResult;
}

interface Scope {
  readonly key: AccountKey;
  /** JSON pointer to the change in the body. */
  readonly at: string;
  readonly earlier: readonly Made[];
}

/** Wanted values, as they are written: those of the row, and the employees to assign. */
interface Wishes {
  readonly values: Values;
  readonly employeeIds: readonly string[] | null;
}

/**
 * Writes one change in the caller's transaction.
 * @throws {Problem} the row or its parent is not there, or a trigger refuses
 */
export async function writeChange(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: Scope,
): Promise<Made> {
  const {table, operation, hold = false} = request;
  await client.query(
    `SELECT set_config('fieldmirror.mode', $1, true), set_config('fieldmirror.last_change', '', true)`,
    [hold ? 'hold' : ''],
  );
  try {
    const row =
      operation === 'create'
        ? await create(client, request, scope)
        : await change(client, request, scope);
    const changeId =
      (await readLastChange(client)) ??
      // The row is deleted before it was sent: its create is cancelled, and nothing is left to
      // send.
      (operation === 'delete' ? await readLatestChange(client, table, row.rowId) : null);
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

async function create(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: Scope,
): Promise<FoundRow> {
  const writes = findWrites(request.table);
  const {accountId} = scope.key;
  const {values, employeeIds} = readWishes(request, scope);
  const row = {
    account_id: accountId,
    ...(request.external_key === undefined ? {} : {external_key: request.external_key}),
    ...(await findParent(client, writes, {request, scope})),
    ...values,
  };
  const rowId = await insertRow(client, writes, row);
  const made = {rowId, number: null, externalKey: request.external_key ?? null, isDeleted: false};
  if (employeeIds !== null) await assignEmployees(client, made, {accountId, employeeIds});
  return made;
}

async function change(
  client: pg.ClientBase,
  request: ChangeRequest,
  scope: Scope,
): Promise<FoundRow> {
  const writes = findWrites(request.table);
  const {accountId} = scope.key;
  const row = await findRow(client, writes, {accountId, reference: request, lock: 'UPDATE'});
  if (row === null || row.isDeleted) throw refuseUnknown(request, scope, row !== null);
  if (request.operation === 'delete') {
    await deleteRow(client, writes, row.rowId);
    return row;
  }
  const {values, employeeIds} = readWishes(request, scope);
  await updateRow(client, writes, {rowId: row.rowId, values});
  if (employeeIds !== null) await assignEmployees(client, row, {accountId, employeeIds});
  return row;
}

/** @throws {Problem} a local time that the account's clock skips */
function readWishes({table, fields = {}}: ChangeRequest, {key, at}: Scope): Wishes {
  const instants = new Set(
    findWrites(table)
      .table.writable.filter(({kind}) => kind === 'instant')
      .map(({name}) => name),
  );
  const values: Record<string, string | boolean | null> = {};
  let employeeIds: readonly string[] | null = null;
  for (const [name, wanted] of Object.entries(fields)) {
    if (typeof wanted === 'object' && wanted !== null) employeeIds = wanted;
    else if (typeof wanted === 'string' && instants.has(name))
      values[name] = readLocalTime(wanted, {timeZone: key.timeZone, place: `${at}/fields/${name}`});
    else if (wanted !== undefined) values[name] = wanted;
  }
  return {values, employeeIds};
}

function readLocalTime(
  text: string,
  {timeZone, place}: {readonly timeZone: string; readonly place: string},
): string {
  try {
    return readTime(text, timeZone);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const [, expected = error.message] = /expected (.*)/.exec(error.message) ?? [];
    throw new Problem(422, 'refused', {
      detail: error.message,
      hint: 'Give another time, or one with its offset.',
      errors: [{in: 'body', at: place, expected, got: text}],
    });
  }
}

/** The column that names the parent: its number where it has one, else its row. */
async function findParent(
  client: pg.ClientBase,
  {parent}: Writes,
  {request, scope}: {readonly request: ChangeRequest; readonly scope: Scope},
): Promise<Values> {
  if (parent === null || request.parent === undefined) return {};
  const {index, ...named} = request.parent;
  const place = `${scope.at}/parent`;
  const reference: Reference =
    index === undefined
      ? named
      : {row_id: findMade(scope.earlier, {index, table: parent.table, place})};
  const found = await findRow(client, findWrites(parent.table), {
    accountId: scope.key.accountId,
    reference,
    lock: 'SHARE',
  });
  if (found !== null) {
    return found.number === null
      ? {parent_row_id: found.rowId}
      : {[parent.numberColumn]: found.number};
  }
  throw new Problem(422, 'refused', {
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
  throw new Problem(422, 'refused', {
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

function refuseUnknown(request: ChangeRequest, {at}: Scope, isDeleted: boolean): Problem {
  const {table} = request;
  return new Problem(404, 'not-found', {
    detail: isDeleted
      ? `${table}: ${describe(request)} is deleted`
      : `${table}: there is no ${describe(request)}`,
    hint: `GET /v1/${table}${isDeleted ? '?deleted=true' : ''} lists them.`,
    errors: [{in: 'body', at, expected: 'a live row of this account', got: describe(request)}],
  });
}

function describe({number, row_id, external_key}: Reference): string {
  if (number !== undefined) return `number ${number}`;
  return row_id === undefined ? `external_key ${JSON.stringify(external_key)}` : `row_id ${row_id}`;
}
