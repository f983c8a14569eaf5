import type {Account} from '../accounts/accounts.ts';
import {RecordError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {type Nesting, readParentNumbers} from '../rows/held-numbers.ts';
import {allWrites, findWrites} from '../streams/all.ts';
import type {Change} from './change.ts';
import {maskChange} from './change-words.ts';
import {composeRequest, parentInPath, type Subject} from './compose-request.ts';

/** The request that would be sent for a change, byte for byte but for passwords. */
export interface PlannedRequest {
  readonly changeId: string;
  readonly method: string;
  /** With `…` for a number that the service has not given yet. */
  readonly path: string;
  /** Null of a request without a document. */
  readonly body: string | null;
}

/** The reason why nothing can be sent. */
export interface Unplannable {
  readonly changeId: string;
  readonly problem: string;
}

/** The tables whose records hang on those of others. */
export const nestings: readonly Nesting[] = allWrites.flatMap(({table, parent}) =>
  parent === null
    ? []
    : [{table: table.name, parent: parent.table, numberColumn: parent.numberColumn}],
);

/**
 * The requests for changes, in their order. An update is sent without the fields that the service
 * holds already: these are known once the record is read, just before the sending.
 */
export async function planRequests(
  db: Queryable,
  changes: readonly Change[],
  accounts: readonly Account[],
): Promise<(PlannedRequest | Unplannable)[]> {
  const ids = changes.map(({changeId}) => changeId);
  const parentNumbers = await readParentNumbers(db, ids, nestings);
  const zones = new Map(accounts.map(({accountId, timeZone}) => [accountId, timeZone]));
  return changes.map((change) =>
    planRequest(change, {
      parentNumber: parentNumbers.get(change.changeId) ?? null,
      timeZone: zones.get(change.accountId) ?? 'UTC',
    }),
  );
}

function planRequest(
  change: Change,
  {parentNumber, timeZone}: {readonly parentNumber: string | null; readonly timeZone: string},
): PlannedRequest | Unplannable {
  const {changeId} = change;
  const {fields} = maskChange(change);
  try {
    const writes = findWrites(change.table);
    const subject = subjectOf(change, parentInPath(writes, change.operation), parentNumber);
    const {method, path, body} = composeRequest(writes, subject, {fields, timeZone});
    return {changeId, method, path, body: body ?? null};
  } catch (error) {
    if (error instanceof RecordError) return {changeId, problem: error.message};
    throw error;
  }
}

/** The subject of a request; a number that the service has not given yet is null. */
function subjectOf(
  {operation, number}: Change,
  parentTable: ReturnType<typeof parentInPath>,
  parentNumber: string | null,
): Subject<string | null> {
  const parent = parentTable === null ? null : {table: parentTable.table, number: parentNumber};
  return operation === 'create' ? {operation, parent} : {operation, number, parent};
}
