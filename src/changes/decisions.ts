// A person's decisions about changes. Functions of the warehouse carry them out, and can be called
// in SQL as well. This module shows beforehand whether a decision on a change is possible. For many
// changes it previews the result, with the reasons of those that cannot be decided. The functions
// have the last word: a test compares the two for every state.

import {isId} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {writeNumbers} from '../rows/number-set.ts';
import {
  type Change,
  type ChangeFilter,
  listFilterValues,
  matchesFilterSql,
  needsPersonSql,
} from './change.ts';
import {type ChangeState, nameState} from './states.ts';

export const verbs = ['hold', 'release', 'retry', 'cancel', 'accept', 'resolve'] as const;

export type Verb = (typeof verbs)[number];

/** A decision that needs only the number of its change. */
export type PlainVerb = Exclude<Verb, 'resolve'>;

/** A decision about a change. */
export interface DecisionRequest {
  readonly verb: Verb;
  /**
   * The reason of `cancel`; the decision of `resolve`: `service`, `warehouse`, `resend`, or the
   * number of a record.
   */
  readonly argument?: string | null;
}

/** The result of a decision about one of several changes. */
export interface DecidedChange {
  readonly changeId: string;
  /** Null if it was refused. */
  readonly state: ChangeState | null;
  /** Why it was refused, in the words of the warehouse. */
  readonly refusal: string | null;
}

export type Side = 'service' | 'warehouse';

/**
 * Decides one change.
 * @returns its state
 * @throws {pg.DatabaseError} no change has that number, or it cannot be decided this way: the
 *   message names its state
 */
export async function decideChange(
  db: Queryable,
  changeId: string,
  {verb, argument = null}: DecisionRequest,
): Promise<ChangeState> {
  const hasArgument = verb === 'cancel' || verb === 'resolve';
  return await readState(
    db,
    `SELECT sync.${verb}_change($1${hasArgument ? ', $2' : ''}) AS state`,
    hasArgument ? [changeId, argument] : [changeId],
  );
}

/**
 * Decides a conflict field by field.
 * @param sides - for each field that both sides changed, the side whose value counts
 * @throws {pg.DatabaseError} as `decideChange`; also if a field is left out, or if fields of one
 *   group are decided differently
 */
export async function resolveFields(
  db: Queryable,
  changeId: string,
  sides: Readonly<Record<string, Side>>,
): Promise<ChangeState> {
  return await readState(db, 'SELECT sync.resolve_fields($1, $2) AS state', [
    changeId,
    JSON.stringify(sides),
  ]);
}

/**
 * Makes the same decision on many changes, each separately: one that cannot be decided this way
 * does not block the others.
 */
export async function decideChanges(
  db: Queryable,
  changeIds: readonly string[],
  {verb, argument = null}: DecisionRequest,
): Promise<DecidedChange[]> {
  const {rows} = await db.query<DecidedChange>(
    `SELECT change_id AS "changeId", state, refusal FROM sync.decide_changes($1, $2, $3)`,
    [changeIds, verb, argument],
  );
  return rows;
}

/** The most changes that are decided or taken back at once. */
export const maxDecidedAtOnce = 10_000;

/** How many changes one statement decides, so that it ends long before its deadline. */
const changesPerStatement = 1_000;

/**
 * Makes the same decision on many changes, each separately. `cancel` begins with the latest change.
 * @param changeIds - ascending
 * @returns ascending
 */
export async function decideMany(
  db: Queryable,
  changeIds: readonly string[],
  deciding: DecisionRequest,
): Promise<DecidedChange[]> {
  const ids = deciding.verb === 'cancel' ? changeIds.toReversed() : changeIds;
  const decided: DecidedChange[] = [];
  for (let start = 0; start < ids.length; start += changesPerStatement)
    decided.push(
      ...(await decideChanges(db, ids.slice(start, start + changesPerStatement), deciding)),
    );
  return decided.toSorted((one, other) => Number(BigInt(one.changeId) - BigInt(other.changeId)));
}

/** The facts that show whether a decision on a change is possible. */
export interface DecidableChange
  extends Pick<
    Change,
    'changeId' | 'accountId' | 'table' | 'operation' | 'state' | 'reason' | 'heldFor'
  > {
  /** A worker has it. */
  readonly isTaken: boolean;
  /** A later change of the same record came after it. */
  readonly isOvertaken: boolean;
  /** The service altered a value of it, and no person has accepted that. */
  readonly isAltered: boolean;
  /** Both sides changed a field, and no person has decided. */
  readonly isFought: boolean;
}

const decidableColumns = `change_id AS "changeId", account_id AS "accountId", table_name AS "table",
  operation, state, reason, held_for AS "heldFor",
  coalesce(lease_until > now(), false) AS "isTaken",
  state = 'rejected' AND EXISTS (
    SELECT FROM sync.changes AS later
     WHERE later.row_id = change.row_id AND later.table_name = change.table_name
       AND later.change_id > change.change_id AND later.state <> 'cancelled'
       AND later.waits_for IS NULL) AS "isOvertaken",
  state = 'done' AND EXISTS (SELECT FROM sync.alterations
    WHERE alterations.change_id = change.change_id AND accepted_at IS NULL) AS "isAltered",
  state = 'conflict' AND EXISTS (SELECT FROM sync.conflicts
    WHERE conflicts.change_id = change.change_id AND winner IS NULL) AS "isFought"`;

/** Reads changes by their numbers, ascending. @param accountIds - only changes of these accounts */
export async function readDecidable(
  db: Queryable,
  changeIds: readonly string[],
  accountIds: readonly string[],
): Promise<DecidableChange[]> {
  const {rows} = await db.query<DecidableChange>(
    `SELECT ${decidableColumns} FROM sync.changes AS change
      WHERE change_id = ANY ($1) AND account_id = ANY ($2) ORDER BY change_id`,
    [changeIds, accountIds],
  );
  return rows;
}

/**
 * Lists the changes that match a filter, without settled ones that need no decision; the oldest
 * first.
 */
export async function listDecidable(
  db: Queryable,
  filter: ChangeFilter,
  limit: number,
): Promise<DecidableChange[]> {
  const {rows} = await db.query<DecidableChange>(
    `WITH ${needsPersonSql}
     SELECT ${decidableColumns} FROM sync.changes AS change
      WHERE ${matchesFilterSql}
        AND change_id IN (SELECT change_id FROM sync.changes WHERE account_id = ANY ($1) AND is_open
                           UNION ALL SELECT change_id FROM sync.changes
                                      WHERE account_id = ANY ($1) AND state = 'rejected'
                           UNION ALL SELECT change_id FROM sync.alterations
                                      WHERE account_id = ANY ($1) AND accepted_at IS NULL)
      ORDER BY change_id LIMIT $10`,
    [...listFilterValues(filter), limit],
  );
  return rows;
}

/**
 * Lists the numbers of the changes that match a filter and may have left something to take back.
 * Changes that take others back are left out.
 */
export async function listUndoable(
  db: Queryable,
  filter: ChangeFilter,
  limit: number,
): Promise<string[]> {
  const {rows} = await db.query<{changeId: string}>(
    `WITH ${needsPersonSql}
     SELECT change_id AS "changeId" FROM sync.changes
      WHERE ${matchesFilterSql} AND state NOT IN ('rejected', 'cancelled') AND undoes IS NULL
      ORDER BY change_id LIMIT $10`,
    [...listFilterValues(filter), limit],
  );
  return rows.map(({changeId}) => changeId);
}

interface Rule {
  readonly states: readonly ChangeState[];
  /** The end of the warehouse's sentence, after `to`: `hold it`. */
  readonly aim: string;
}

const rules: Readonly<Record<Verb, Rule>> = {
  hold: {states: ['pending'], aim: 'hold it'},
  release: {states: ['held'], aim: 'release it'},
  retry: {states: ['pending', 'in_doubt', 'rejected'], aim: 'try it again'},
  cancel: {states: ['held', 'pending', 'conflict', 'rejected'], aim: 'cancel it'},
  accept: {states: ['done'], aim: 'accept what the service made of it'},
  resolve: {states: ['conflict'], aim: 'resolve it'},
};

/**
 * @returns null if the change can be decided this way; else why it cannot, in the words of the
 *   warehouse
 */
export function judgeDecision(change: DecidableChange, deciding: DecisionRequest): string | null {
  const {states, aim} = rules[deciding.verb];
  const {state, isTaken} = change;
  const workerText = isTaken ? ', and a worker has it' : '';
  if (!states.includes(state) || isTaken)
    return `expected ${states.join(' or ')} to ${aim}, got ${state}${workerText}`;
  return judgeDetails(change, deciding);
}

function judgeDetails(change: DecidableChange, {verb, argument}: DecisionRequest): string | null {
  const {reason, isOvertaken, isAltered} = change;
  if (isStopped(change, {verb})) return reason ?? '';
  if (verb === 'retry' && isOvertaken) return 'a later change of the same record has overtaken it';
  if (verb === 'accept' && !isAltered)
    return 'expected one that the service altered, and that no one has accepted yet';
  return verb === 'resolve' ? judgeResolve(change, argument ?? 'nothing') : null;
}

/**
 * Whether the change cannot be released because it is held for a kind of value. The refusal is then
 * the change's reason.
 */
function isStopped({heldFor}: DecidableChange, {verb}: DecisionRequest): boolean {
  return verb === 'release' && heldFor !== null;
}

function judgeResolve({isFought, operation}: DecidableChange, decision: string): string | null {
  if (isFought)
    return decision === 'service' || decision === 'warehouse'
      ? null
      : `expected service or warehouse, got ${decision}`;
  if (decision === 'service') return null;
  if (operation === 'create') {
    if (decision === 'resend' || isId(decision)) return null;
    return (
      'expected service (give it up), the number of the record that it became, or resend, ' +
      `got ${decision}`
    );
  }
  if (operation === 'update') return `expected service (give it up), got ${decision}`;
  return decision === 'resend' ? null : `expected service (give it up), or resend, got ${decision}`;
}

const fewNumbers = 5;

/** Changes that have something in common. */
export interface ChangeGroup {
  /** `update customers, pending`; or why they cannot be decided. */
  readonly what: string;
  /** Whether `what` may quote the service or a person. */
  readonly isQuote: boolean;
  readonly count: number;
  /** The first of their numbers. */
  readonly first: readonly string[];
}

export interface DecisionPreview {
  readonly deciding: DecisionRequest;
  /** The changes that can be decided this way, by kind. */
  readonly can: readonly ChangeGroup[];
  readonly canCount: number;
  /** The others, by the reason. */
  readonly cannot: readonly ChangeGroup[];
  readonly cannotCount: number;
  /** The numbers of those that can, as `readNumbers` reads them. */
  readonly numbers: string;
  /** Whether more changes match than are decided at once. */
  readonly isCut: boolean;
}

/** @param changes - ascending; one more than `maxDecidedAtOnce` if there are more */
export function previewDecision(
  changes: readonly DecidableChange[],
  deciding: DecisionRequest,
): DecisionPreview {
  const judgements = changes
    .slice(0, maxDecidedAtOnce)
    .map((change) => ({change, refusal: judgeDecision(change, deciding)}));
  const decidable = judgements.filter(({refusal}) => refusal === null).map(({change}) => change);
  return {
    deciding,
    can: groupChanges(
      decidable.map(({changeId, operation, table, state}) => ({
        changeId,
        what: `${operation} ${table}, ${nameState(state)}`,
      })),
    ),
    canCount: decidable.length,
    cannot: groupChanges(
      judgements.flatMap(({change, change: {changeId}, refusal}) =>
        refusal === null ? [] : [{changeId, what: refusal, isQuote: isStopped(change, deciding)}],
      ),
    ),
    cannotCount: judgements.length - decidable.length,
    numbers: writeNumbers(decidable.map(({changeId}) => changeId)),
    isCut: changes.length > maxDecidedAtOnce,
  };
}

/** Groups changes by their `what`; the largest group first. */
export function groupChanges(
  changes: readonly {
    readonly changeId: string;
    readonly what: string;
    readonly isQuote?: boolean;
  }[],
): ChangeGroup[] {
  return [...Map.groupBy(changes, ({what}) => what)]
    .map(([what, group]) => ({
      what,
      isQuote: group.some(({isQuote}) => isQuote === true),
      count: group.length,
      first: group.slice(0, fewNumbers).map(({changeId}) => changeId),
    }))
    .toSorted((one, other) => other.count - one.count);
}

/**
 * If a change was taken back before, its refusal names the earlier undo only if there are at most
 * this many. With more, each refusal would be its own group.
 */
const fewUndos = 3;

interface Refusal {
  readonly changeId: string;
  readonly what: string;
  readonly isQuote: boolean;
}

/**
 * Lists refusals without the number of their change at the front, so that equal ones form one
 * group.
 */
export function listRefusals(
  decided: readonly (Pick<DecidedChange, 'changeId' | 'refusal'> & {
    readonly earlierUndo?: string | null;
    readonly isQuote?: boolean;
  })[],
): Refusal[] {
  const earlierUndos = new Set(decided.flatMap(({earlierUndo}) => earlierUndo ?? []));
  const isFew = earlierUndos.size <= fewUndos;
  return decided.flatMap(({changeId, refusal, earlierUndo = null, isQuote = false}) => {
    if (refusal === null) return [];
    const reason = refusal.replace(`change ${changeId}: `, '');
    const what = isFew || earlierUndo === null ? reason : 'another change takes it back already';
    return [{changeId, what, isQuote}];
  });
}

/** A part of an entry of the audit. */
export interface AuditNote {
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
}

export type ChangesBefore = readonly Pick<DecidableChange, 'changeId' | 'state'>[];

/** @param changes - the changes as they were before */
export function noteDecision(
  changes: ChangesBefore,
  decided: readonly DecidedChange[],
  deciding: DecisionRequest,
): AuditNote {
  return {
    ...noteBefore(changes),
    after: {
      ...deciding,
      decided: groupNumbersByWord(
        decided.flatMap(({changeId, state}) => (state === null ? [] : [{changeId, what: state}])),
      ),
      refused: groupNumbersByWord(listRefusals(decided)),
    },
  };
}

export function noteBefore(changes: ChangesBefore): Pick<AuditNote, 'subject' | 'before'> {
  return {
    subject:
      changes.length === 1
        ? `change ${changes[0]?.changeId}`
        : `${changes.length.toLocaleString('en')} changes`,
    before: groupNumbersByWord(changes.map(({changeId, state}) => ({changeId, what: state}))),
  };
}

/** `{pending: '3-5,9'}` */
export function groupNumbersByWord(
  entries: readonly {readonly changeId: string; readonly what: string}[],
): Record<string, string> {
  const groups = Object.groupBy(entries, ({what}) => what);
  return Object.fromEntries(
    Object.entries(groups).map(([what, group = []]) => [
      what,
      writeNumbers(group.map(({changeId}) => changeId)),
    ]),
  );
}

async function readState(
  db: Queryable,
  call: string,
  values: readonly unknown[],
): Promise<ChangeState> {
  const {rows} = await db.query<{state: ChangeState}>(call, [...values]);
  if (rows[0] === undefined) throw new TypeError('a decision gives the state of its change');
  return rows[0].state;
}
