// A decision on a change, and the facts that it is based on. The facts are the change, its rules,
// and the service's record that the change is about (for a note, the job that it belongs to).
// Further facts are the columns that the change altered: those that differ between the readings of
// its record before and after the request. If somebody else changed a column earlier, both readings
// show that.
// The result of a step is a request to send or a decision on the change. Both are values: nothing
// has been done yet. Further down: how a change ends as done, its sent values compared with the
// service's, and how long an unfinished change waits. All functions are pure.

import type {FieldRecord} from '../api/xml-document.ts';
import type {FieldRule} from '../changes/authored-rows.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {AttemptEnd, Narrowed, SavedConflict} from '../changes/move-changes.ts';
import type {Subject} from '../changes/request.ts';
import type {AccessError} from '../core/errors.ts';
import {
  type ChangeResult,
  type ChangeValue,
  type ChangeValues,
  isSameMeaning,
  isSameValue,
} from '../rows/change-values.ts';
import type {RowSet} from '../streams/record-rows.ts';
import type {Stream, Writes} from '../streams/stream.ts';
import type {Row} from '../streams/table.ts';

/** A request that has ended, with the outcome to store. */
export interface EndedAttempt {
  readonly attemptId: string;
  readonly end: AttemptEnd;
}

/** A request to send, and the reading that it is based on. */
export interface SendPlan {
  readonly what: 'send';
  readonly subject: Subject;
  readonly fields: ChangeValues;
  /** The change's fields and base from now on, if the merge altered them; null if they stay. */
  readonly narrowed: Narrowed | null;
  readonly conflicts: readonly SavedConflict[];
  /** Wanted fields that the service holds already. */
  readonly unsent: readonly string[];
  /**
   * The record before the request, to restore the row if the request is refused; null if nothing
   * was read.
   */
  readonly before: Remote | null;
}

/** The change is done. */
export interface Done {
  readonly what: 'done';
  readonly number: string;
  /** Null if the record no longer exists. */
  readonly remote: Remote | null;
  /** The service's present values of the row itself. */
  readonly values: ChangeValues;
  /** The record itself no longer exists, though its parent may. */
  readonly isGone: boolean;
  /** By the database's clock, before the service's record was requested. */
  readonly since: string;
  readonly made: ModifiedColumns | null;
  readonly result: ChangeResult | null;
  readonly conflicts: readonly SavedConflict[];
  readonly attempt: EndedAttempt | null;
}

/** The service refused the change. */
export interface Rejected {
  readonly what: 'reject';
  readonly message: string;
  /** The record whose values the row gets back; null if nothing was read. */
  readonly remote: Remote | null;
  readonly attempt: EndedAttempt | null;
}

/** A person must decide the change. */
export interface LeftToPerson {
  readonly what: 'conflict';
  readonly reason: string;
  readonly conflicts: readonly SavedConflict[];
  readonly result: ChangeResult | null;
  readonly attempt: EndedAttempt | null;
}

/** It is unknown whether the request took effect: that is checked after a while. */
export interface InDoubt {
  readonly what: 'doubt';
  readonly reason: string;
  readonly delayMs: number;
  /** The record's number, if the answer contained it. */
  readonly number: string | null;
  /** The effect of the change was looked for, and not found. */
  readonly isCheck: boolean;
  readonly attempt: EndedAttempt | null;
}

/** Nothing was written; the change is sent after a while. */
export interface Postponed {
  readonly what: 'postpone';
  readonly reason: string;
  readonly delayMs: number;
  readonly isFailure: boolean;
  readonly attempt: EndedAttempt | null;
  /** The error of a refused token, thrown once the decision is written; else null. */
  readonly refusal: AccessError | null;
}

/**
 * The change contains a kind of value that the service altered. It waits until a person has checked
 * that.
 */
interface HeldBack {
  readonly what: 'hold';
  readonly kind: string;
  readonly reason: string;
}

/** The request never arrived: the change is sent once more. */
interface Resent {
  readonly what: 'resend';
  readonly reason: string;
}

/** The decision on a change. */
export type Decision = Done | Rejected | LeftToPerson | InDoubt | Postponed | HeldBack | Resent;

export type Plan = SendPlan | Decision;

/** Plans to send a change that needs no reading: a create, or a delete. */
export function sendUnread(subject: Subject, fields: ChangeValues): SendPlan {
  return {what: 'send', subject, fields, narrowed: null, conflicts: [], unsent: [], before: null};
}

/** Leaves the change to a person. */
export function createConflict(
  reason: string,
  details: Partial<Omit<LeftToPerson, 'what' | 'reason'>> = {},
): LeftToPerson {
  return {what: 'conflict', reason, conflicts: [], result: null, attempt: null, ...details};
}

/** Leaves the change to a person, because an edit does not create its missing record again. */
export function leaveMissing(
  answerText: string,
  attempt: EndedAttempt | null = null,
): LeftToPerson {
  return createConflict(`the record no longer exists at the service (${answerText})`, {attempt});
}

/** Sends the change after a while; it has not failed. */
export function postpone(reason: string, delayMs: number): Postponed {
  return {what: 'postpone', reason, delayMs, isFailure: false, attempt: null, refusal: null};
}

/** The facts of a change that is done. */
interface FinishedFacts {
  readonly number: string;
  /** Null if the record no longer exists. */
  readonly remote: Remote | null;
  /** By the database's clock, before the service's record was requested. */
  readonly since: string;
  /** The values sent, to compare with the service's. */
  readonly sent: ChangeValues;
  readonly made?: ModifiedColumns | null;
  readonly unsent?: readonly string[];
  readonly conflicts?: readonly SavedConflict[];
  readonly attempt?: EndedAttempt | null;
}

/** Ends a change as done, with the service's present values. */
export function finish(
  facts: Pick<ChangeFacts, 'writes' | 'stream' | 'rules'>,
  {
    number,
    remote,
    since,
    sent,
    made = null,
    unsent = [],
    conflicts = [],
    attempt = null,
  }: FinishedFacts,
): Done {
  const row = remote === null ? null : findRemoteRow(facts, remote, number);
  const values = row?.values ?? {};
  const result = compareResult(facts, {sent, unsent}, values);
  return {
    what: 'done',
    number,
    remote,
    values,
    isGone: row === null,
    since,
    made,
    result,
    conflicts,
    attempt,
  };
}

function compareResult(
  {rules}: Pick<ChangeFacts, 'rules'>,
  {sent, unsent}: {readonly sent: ChangeValues; readonly unsent: readonly string[]},
  got: ChangeValues,
): ChangeResult | null {
  const differences = Object.entries(sent).flatMap(([field, value]) => {
    const kind = rules.get(field)?.kind ?? 'text';
    const received = got[field];
    if (received === undefined || isSameValue(kind, value, received)) return [];
    return [
      {
        field,
        isTidied: isSameMeaning({field, kind}, value, received),
        values: {sent: value, got: received},
      },
    ];
  });
  const pickDifferences = (isTidied: boolean) =>
    Object.fromEntries(
      differences.flatMap((difference) =>
        difference.isTidied === isTidied ? [[difference.field, difference.values]] : [],
      ),
    );
  const altered = pickDifferences(false);
  const tidied = pickDifferences(true);
  const result = {
    ...(Object.keys(altered).length === 0 ? {} : {altered}),
    ...(Object.keys(tidied).length === 0 ? {} : {tidied}),
    ...(unsent.length === 0 ? {} : {unsent}),
  };
  return Object.keys(result).length === 0 ? null : result;
}

/** The decision that keeps a change from being sent now; null when nothing does. */
export function decideWait(facts: ChangeFacts): Decision | null {
  const {change, settle} = facts;
  const stoppedKind = findStoppedKind(facts, change.fields);
  if (stoppedKind !== undefined) return holdStoppedKind(stoppedKind);
  const waitMs = settle.arrivalLimitMs - (change.sentAgainAgoMs ?? Number.POSITIVE_INFINITY);
  if (waitMs <= 0) return null;
  // A lost request of an earlier change may still arrive. It would undo a request that is sent
  // before then.
  return postpone(
    'a request of an earlier change of this record was lost, and may still arrive',
    waitMs,
  );
}

/**
 * Holds a change, because the service altered such a value and no person has checked that yet: it
 * might alter another one, too.
 */
function holdStoppedKind(kind: string): Decision {
  const reason =
    `the service altered the value sent (${kind}): a person checks that first (fieldmirror ` +
    'changes list --state altered)';
  return {what: 'hold', kind, reason};
}

/**
 * Decides on a change whose path needs an unknown number. The parent of a new record will get one;
 * a lost number stays lost.
 */
export function decideWithoutNumber(facts: ChangeFacts): Decision {
  const {change, writes} = facts;
  const parent = `its ${writes.parent?.table ?? 'parent'}`;
  if (change.operation !== 'create')
    return createConflict('the number of its record is no longer known');
  if (change.state === 'in_doubt')
    return createConflict(`the number of ${parent} is no longer known`);
  return tryLater(facts, {reason: `${parent} has no number yet`});
}

/**
 * How long a change waits after a failure: its back-off, and at least as long as the service
 * requested.
 */
function failureDelayMs(backOffMs: number, retryAfterMs: number | null): number {
  return Math.max(backOffMs, retryAfterMs ?? 0);
}

/** Nothing was written, and the same request may succeed later. */
export function tryLater(
  {backOffMs}: Pick<ChangeFacts, 'backOffMs'>,
  failure: {
    readonly reason: string;
    readonly retryAfterMs?: number | null;
    readonly attempt?: EndedAttempt | null;
  },
): Postponed {
  const {reason, retryAfterMs = null, attempt = null} = failure;
  const delayMs = failureDelayMs(backOffMs, retryAfterMs);
  return {what: 'postpone', reason, delayMs, isFailure: true, attempt, refusal: null};
}

/**
 * Decides on a change if it is unknown whether its request took effect. That is checked after the
 * delay that the service requests, or else the usual one. The more often an update or delete was
 * sent, the later it is checked.
 */
export function doubt(
  {change, settle}: Pick<ChangeFacts, 'change' | 'settle'>,
  outcome: {
    readonly reason: string;
    readonly attempt: EndedAttempt;
    readonly number?: string | null;
    readonly retryAfterMs?: number | null;
  },
): InDoubt {
  const {reason, attempt, number = null, retryAfterMs = null} = outcome;
  const before = change.operation === 'create' ? 0 : change.sends;
  const {checkDelaysMs} = settle;
  const usualMs = checkDelaysMs[Math.min(before, checkDelaysMs.length - 1)] ?? 0;
  const delayMs = before === 0 ? (retryAfterMs ?? usualMs) : failureDelayMs(usualMs, retryAfterMs);
  return {what: 'doubt', reason, delayMs, number, isCheck: false, attempt};
}

/**
 * The facts of a change before any request. Every decision is based on them and on the service's
 * answers.
 */
export interface ChangeFacts {
  readonly change: ClaimedChange;
  readonly writes: Writes;
  /** The stream whose record shows the outcome of the change: its own, or its parent's. */
  readonly stream: Stream;
  /** The rules of the change's table, by field. */
  readonly rules: ReadonlyMap<string, FieldRule>;
  readonly settle: SettlePolicy;
  /** Just before the change was claimed, by the monotonic clock of this process. */
  readonly claimedMs: number;
  /** Just after the change was claimed, by the same clock. */
  readonly heldMs: number;
  /** How long the change waits if it fails now; a random value, chosen once. */
  readonly backOffMs: number;
}

/** How a change in doubt is settled. */
export interface SettlePolicy {
  /** From the doubt to the first check, then from each to the next; the last delay repeats. */
  readonly checkDelaysMs: readonly number[];
  /**
   * If a request leaves no trace for this long, it counts as never arrived. The service never took
   * so long to commit.
   */
  readonly arrivalLimitMs: number;
}

/** Checks after 2 s, 10 s, 1, 5, 10 and 15 minutes. @see docs/traps.md "Answers that were lost" */
export const defaultSettlePolicy: SettlePolicy = {
  checkDelaysMs: [2_000, 8_000, 50_000, 240_000, 300_000, 300_000],
  arrivalLimitMs: 900_000,
};

/** A record as the service holds it, as far as its answer shows that. */
export interface Remote extends RowSet {
  readonly record: FieldRecord;
  /** Columns of the record's own row that were left out: unknown, not empty. */
  readonly unsaid: ReadonlySet<string>;
  /**
   * When the record was requested, by this process's clock. Of two readings of one record the later
   * counts.
   */
  readonly requestedAt: number;
  /**
   * The `Date` header of the answer: the service's clock, which may differ from ours by any amount.
   */
  readonly dateHeader: string | null;
}

/** One row of a change's table, as the service holds it. */
export interface RemoteRow {
  readonly number: string;
  /** The values of the columns that the answer contained, and the employees of a job. */
  readonly values: ChangeValues;
}

/** A row as a document of the service showed it. */
export interface ShownRow extends RemoteRow {
  /** The `Date` of that document. */
  readonly dateHeader: string | null;
}

type RowContext = Pick<ChangeFacts, 'writes' | 'stream'>;

/** A record, of which some columns may be unknown. */
type PartialRecord = RowSet & Partial<Pick<Remote, 'unsaid'>>;

/**
 * The element of a record that holds the change's row; null if the change is about the record
 * itself.
 */
export function findElement({writes, stream}: RowContext): string | null {
  if (stream.table === writes.table) return null;
  return stream.children.find(({table}) => table === writes.table)?.element ?? null;
}

/**
 * The rows of a change's table in the record of the service: the record itself, or its children.
 */
export function listRemoteRows(context: RowContext, remote: PartialRecord): RemoteRow[] {
  const {writes, stream} = context;
  if (stream.table === writes.table)
    return [{number: remote.number, values: readRowValues(writes, remote.row, remote)}];
  const child = remote.children.find(({element}) => element === findElement(context));
  return (child?.rows ?? []).map((row) => {
    const values = readRowValues(writes, row);
    return {number: String(values[writes.key]), values};
  });
}

/** The row of one record; null if it is not there. */
export function findRemoteRow(
  context: RowContext,
  remote: PartialRecord,
  number: string,
): RemoteRow | null {
  return listRemoteRows(context, remote).find((row) => row.number === number) ?? null;
}

function readRowValues({table}: Writes, row: Row, remote?: PartialRecord): ChangeValues {
  const values: Record<string, ChangeValue> = {};
  for (const [index, {name}] of table.columns.entries()) {
    const value = row.values[index] ?? null;
    if (value !== null || remote?.unsaid?.has(name) !== true) values[name] = value;
  }
  const employees = remote?.children.find(({element}) => element === 'employees');
  if (employees !== undefined)
    values.employee_ids = employees.rows.map(({key}) => key.split(',')[1] ?? '').sort();
  return values;
}

/**
 * The kind of a field's values. The service misreads all values of one kind alike: if it reads one
 * date the other way round, it misreads every date. A text has a kind per field, because an
 * alteration there, such as a length limit, affects no other field.
 */
export function identifyKind(
  {writes, rules}: Pick<ChangeFacts, 'writes' | 'rules'>,
  field: string,
): string {
  const kind = rules.get(field)?.kind ?? 'text';
  return kind === 'text' ? `${writes.table.name}.${field}` : kind;
}

/** Finds a kind among these values that is stopped until a person has checked it. */
export function findStoppedKind(facts: ChangeFacts, fields: ChangeValues): string | undefined {
  const {stoppedKinds} = facts.change;
  return identifyKinds(facts, fields).find((kind) => stoppedKinds.includes(kind));
}

export function identifyKinds(
  facts: Pick<ChangeFacts, 'writes' | 'rules'>,
  fields: ChangeValues,
): string[] {
  return [...new Set(Object.keys(fields).map((field) => identifyKind(facts, field)))];
}

/**
 * The columns that the request changed, by table; `all` for a create, whose record was read at
 * once. The feed names the change as the cause of these columns only: sync.cause_of.
 */
export type ModifiedColumns = Readonly<Record<string, readonly string[]>> | 'all';

/** @param number - of the change's own row: of the record itself, or of a note of it */
export function listModifiedColumns(
  context: RowContext,
  number: string,
  before: Remote,
  after: Remote,
): ModifiedColumns {
  const {stream, writes} = context;
  const unknownColumns = new Set([...before.unsaid, ...after.unsaid]);
  const recordColumns = compareColumns(stream.table.columns, before.row, after.row);
  const modifiedColumns = {
    [stream.table.name]: recordColumns.filter((name) => !unknownColumns.has(name)),
  };
  const element = findElement(context);
  const [rowBefore, rowAfter] = [before, after].map(({children}) =>
    children.find((child) => child.element === element)?.rows.find(({key}) => key === number),
  );
  if (rowBefore === undefined || rowAfter === undefined) return modifiedColumns;
  return {
    ...modifiedColumns,
    [writes.table.name]: compareColumns(writes.table.columns, rowBefore, rowAfter),
  };
}

function compareColumns(
  columns: readonly {readonly name: string}[],
  before: Row,
  after: Row,
): string[] {
  const names = columns.flatMap(({name}, index) =>
    before.values[index] === after.values[index] ? [] : [name],
  );
  return before.attributes === after.attributes ? names : [...names, 'extra'];
}
