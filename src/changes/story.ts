// Gathers everything that is shown of one change, and what a person can do about it. That is the
// facts, and its values side by side: before it, wanted, in the row now, and at the service when it
// was last read.

import pg from 'pg';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {type Cause, causeNumbers, UsageError} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {describePruned} from '../retention/retention.ts';
import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import {readParentNumbers} from '../rows/held-rows.ts';
import {allStreams, findWrites} from '../streams/all.ts';
import {
  type Attempt,
  type Change,
  type FieldConflict,
  readAttempts,
  readChange,
  readWaiting,
} from './change.ts';
import {judgeDecision, type PlainVerb, readDecidable, verbs} from './decisions.ts';
import type {SavedAlteration} from './move-changes.ts';
import {
  type ConflictDecision,
  findNextStep,
  listConflictingFields,
  listDecisions,
  type NextStep,
  readCircumstances,
} from './next-step.ts';
import {nestings, type PlannedRequest, planRequests, type Unplannable} from './request.ts';

/** All facts about a change. */
export interface ChangeStory {
  readonly change: Change;
  /** Name of the account. */
  readonly account: string;
  /** ISO 8601, by the database's clock. */
  readonly now: string;
  /** The change it waits for. */
  readonly blocker: Change | null;
  /** The changes that wait for it: how many, and the first of them. */
  readonly waiting: {readonly count: number; readonly first: readonly string[]};
  readonly attempts: readonly Attempt[];
  readonly conflicts: readonly FieldConflict[];
  /** The service's alterations, and who has looked at them. */
  readonly alterations: readonly SavedAlteration[];
  readonly next: NextStep | null;
  /** The request that would be sent; null if none is to be sent any more, or one was already. */
  readonly request: PlannedRequest | Unplannable | null;
  /** The number of the page with cause and fix; null if nothing has to be fixed. */
  readonly docs: string | null;
}

export interface ChangeInFull extends ChangeStory {
  readonly sides: readonly FieldSides[];
  /**
   * The record at the service that the change belongs to: for a note its customer or job. Null
   * while that record has no number.
   */
  readonly record: {readonly stream: string; readonly number: string} | null;
  /** The decisions that are possible. */
  readonly verbs: readonly PlainVerb[];
  readonly decisions: readonly ConflictDecision[];
  /** The fields to be decided; fields of one group are together. */
  readonly conflictingGroups: readonly (readonly string[])[];
}

/** @throws {UsageError} no change has that number */
export async function readStory(db: Queryable, id: string): Promise<ChangeStory> {
  const change = await findChange(db, id);
  const accounts = await listAccounts(db);
  const circumstances = (await readCircumstances(db, [change], accounts)).get(change.changeId);
  if (circumstances === undefined)
    throw new TypeError(`change ${id}: every change has its circumstances`);
  const {account, blocker, conflicts, alterations, now} = circumstances;
  return {
    change,
    account: account.name,
    now,
    blocker,
    waiting: await readWaiting(db, change.changeId),
    attempts: await readAttempts(db, change.changeId),
    conflicts,
    alterations,
    next: findNextStep(change, circumstances),
    request: await planRequest(db, change, accounts),
    docs: findChangeDocs(change),
  };
}

/** @throws {UsageError} no change has that number */
export async function findChange(db: Queryable, id: string): Promise<Change> {
  const change = isId(id) ? await readChange(db, id) : null;
  if (change !== null) return change;
  const pruned = await describePruned(db, 'settled_changes');
  throw new UsageError(`no change "${id}"; fieldmirror changes list shows what there is${pruned}`);
}

async function planRequest(db: Queryable, change: Change, accounts: readonly Account[]) {
  if (change.state !== 'pending' && change.state !== 'held') return null;
  const [request] = await planRequests(db, [change], accounts);
  return request ?? null;
}

/** @returns null if no change of these accounts has that number */
export async function readChangeInFull(
  db: Queryable,
  changeId: string,
  accounts: readonly Account[],
): Promise<ChangeInFull | null> {
  const accountIds = accounts.map((account) => account.accountId);
  const [decidable] = await readDecidable(db, [changeId], accountIds);
  if (decidable === undefined) return null;
  const story = await readStory(db, changeId);
  const {change, conflicts} = story;
  const row = await readChangedRow(db, change, listFields(story));
  return {
    ...story,
    sides: compareSides({...story, row}),
    record: await findRecord(db, change),
    verbs: verbs
      .filter((verb) => verb !== 'resolve')
      .filter((verb) => judgeDecision(decidable, {verb}) === null),
    decisions:
      decidable.state === 'conflict' && !decidable.isTaken ? listDecisions(change, conflicts) : [],
    conflictingGroups: groupConflictingFields(story),
  };
}

async function findRecord(db: Queryable, change: Change): Promise<ChangeInFull['record']> {
  const {stream, table} = findWrites(change.table);
  const isOwn = allStreams.some(
    (candidate) => candidate.name === stream && candidate.table.name === table.name,
  );
  const number = isOwn
    ? change.number
    : ((await readParentNumbers(db, [change.changeId], nestings)).get(change.changeId) ?? null);
  return number === null ? null : {stream, number};
}

function groupConflictingFields({change, conflicts}: ChangeStory): string[][] {
  const {writable} = findWrites(change.table).table;
  const conflictingFields = listConflictingFields(conflicts);
  const findUnit = (field: string) => writable.find(({name}) => name === field)?.group ?? field;
  return [...Map.groupBy(conflictingFields, findUnit).values()];
}

/**
 * Reads the current row of a change, with its values as texts, as changes store them.
 * @param fields - the fields to read; `employee_ids` means the employees assigned to a job
 * @returns null if the row no longer exists
 */
async function readChangedRow(
  db: Queryable,
  {table, rowId, number, accountId}: Pick<Change, 'table' | 'rowId' | 'number' | 'accountId'>,
  fields: readonly string[],
): Promise<ChangeValues | null> {
  const {rows} = await db.query<{values: ChangeValues; employeeIds: string[] | null}>(
    `SELECT (SELECT coalesce(jsonb_object_agg(name, to_jsonb(held)->>name), '{}')
               FROM unnest($2::text[]) AS name WHERE to_jsonb(held) ? name) AS values,
            CASE WHEN 'employee_ids' = ANY ($2) THEN ARRAY(
              SELECT employee_id::text FROM warehouse.job_employees
               WHERE account_id = $4 AND (parent_row_id = $1 OR job_number = $3)
                 AND _deleted_at IS NULL ORDER BY employee_id) END AS "employeeIds"
       FROM warehouse.${pg.escapeIdentifier(table)} AS held WHERE row_id = $1`,
    [rowId, fields, number, accountId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return row.employeeIds === null ? row.values : {...row.values, employee_ids: row.employeeIds};
}

/** One field of a change. A value that is not known is left out; null is an empty one. */
export interface FieldSides {
  readonly field: string;
  readonly base?: ChangeValue;
  readonly wanted?: ChangeValue;
  readonly row?: ChangeValue;
  readonly service?: ChangeValue;
  /** How the service's value is known, or why it counts; null if there is nothing to add. */
  readonly note: string | null;
  /** Both sides changed it, and no person has decided. */
  readonly isFought: boolean;
}

interface ComparedFacts {
  readonly change: Pick<Change, 'fields' | 'base' | 'state' | 'result'>;
  readonly conflicts: readonly FieldConflict[];
  readonly alterations: readonly SavedAlteration[];
  /** The current row; null if it no longer exists. */
  readonly row: ChangeValues | null;
}

/** The fields that are wanted, and those that both sides changed. */
function listFields({change, conflicts}: Pick<ComparedFacts, 'change' | 'conflicts'>): string[] {
  return [...new Set([...Object.keys(change.fields), ...conflicts.map(({field}) => field)])];
}

/** Compares the sides of a change: each field appears once. */
export function compareSides(facts: ComparedFacts): FieldSides[] {
  return listFields(facts).map((field) => {
    const {change, row} = facts;
    const conflict = facts.conflicts.findLast((candidate) => candidate.field === field);
    return {
      field,
      ...pickValue('base', change.base, field),
      ...pickValue('wanted', change.fields, field),
      ...(row === null ? {} : pickValue('row', row, field)),
      ...serviceSideOf(field, facts),
      isFought: conflict !== undefined && conflict.winner === null,
    };
  });
}

function pickValue<Side extends string>(side: Side, values: ChangeValues, field: string) {
  const value = values[field];
  return value === undefined ? {} : ({[side]: value} as {readonly [Name in Side]: ChangeValue});
}

/** The service's value of a field, as far as it is known, and how it is known. */
export function serviceSideOf(
  field: string,
  {change, conflicts, alterations}: Omit<ComparedFacts, 'row'>,
): Pick<FieldSides, 'service' | 'note'> {
  const altered = alterations.findLast((candidate) => candidate.field === field);
  const serviceValue = altered?.got ?? change.result?.altered?.[field]?.got;
  if (serviceValue !== undefined)
    return {service: serviceValue, note: describeAlteration(altered?.acceptedBy ?? null)};
  const tidied = change.result?.tidied?.[field];
  if (tidied !== undefined) return {service: tidied.got, note: 'says the same'};
  const conflict = conflicts.findLast((candidate) => candidate.field === field);
  const wanted = change.fields[field];
  const isSent = change.state === 'done' && wanted !== undefined && conflict?.winner !== 'service';
  const sentNote = change.result?.unsent?.includes(field) === true ? 'held already' : 'as sent';
  if (conflict !== undefined)
    return isSent
      ? {service: wanted, note: `${sentNote}: ${describeConflict(conflict)}`}
      : {service: conflict.serviceValue, note: describeConflict(conflict)};
  return isSent ? {service: wanted, note: sentNote} : {note: null};
}

function describeAlteration(acceptedBy: string | null): string {
  return acceptedBy === null
    ? 'altered by the service'
    : `altered by the service, accepted by ${acceptedBy}`;
}

function describeConflict({rule, winner, decidedBy}: FieldConflict): string {
  return winner === null
    ? `rule ${rule}: no one has decided yet`
    : `the ${winner}'s value counts, decided by ${decidedBy}`;
}

type ChangeStatus = Pick<Change, 'state' | 'result'> &
  Partial<Pick<Change, 'heldFor' | 'failures'>>;

/**
 * The page with cause and fix, `A11` for a change in conflict: that of the alert that reports the
 * same if it lasts. Null if nothing has to be fixed.
 */
export function findChangeDocs(change: ChangeStatus): string | null {
  const cause = findCause(change);
  return cause === undefined ? null : causeNumbers[cause];
}

function findCause({state, result, heldFor = null, failures = 0}: ChangeStatus): Cause | undefined {
  switch (state) {
    case 'conflict':
      return 'change-conflict';
    case 'rejected':
      return 'change-rejected';
    case 'in_doubt':
      return 'change-in-doubt';
    case 'done':
      return result?.altered === undefined ? undefined : 'change-altered';
    case 'held':
      return heldFor === null ? undefined : 'change-altered';
    case 'pending':
      return failures > 0 ? 'change-failing' : undefined;
    default:
      return undefined;
  }
}
