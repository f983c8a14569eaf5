// What every decision rests on: the change, its rules, and the service's record that it is about
// (for a note, the job that it hangs on); and what the service made of a change: the columns that
// differ between the readings of its record before and after the request. What somebody else did
// before is in both. Pure.

import type {FieldRecord} from '../api/xml-document.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {FieldRule} from '../changes/write-rules.ts';
import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import type {RowSet} from '../streams/record-rows.ts';
import type {Stream, Writes} from '../streams/stream.ts';
import type {Row} from '../streams/table.ts';

/**
 * The facts of a change before any request. Every decision rests on them and on the service's
 * answers.
 */
export interface ChangeFacts {
  readonly change: ClaimedChange;
  readonly writes: Writes;
  /** The stream whose record shows the change's fate: its own, or its parent's. */
  readonly stream: Stream;
  /** The rules of the change's table, by field. */
  readonly rules: ReadonlyMap<string, FieldRule>;
  readonly settle: SettlePolicy;
  /** Just before the change was claimed, by the monotonic clock of this process. */
  readonly claimedMs: number;
  /** Just after the change was claimed, by the same clock. */
  readonly heldMs: number;
  /** How long the change waits if it fails now; drawn at random, once. */
  readonly backOffMs: number;
}

/** How a change in doubt is settled. */
export interface SettlePolicy {
  /** From the doubt to the first look, then from each look to the next; the last delay repeats. */
  readonly lookDelaysMs: readonly number[];
  /**
   * A request without a trace for so long counts as never arrived: longer than the service ever
   * took to commit.
   */
  readonly arrivalLimitMs: number;
}

/** Looks at 2 s, 10 s, 1, 5, 10 and 15 minutes. @see docs/traps.md "Answers that were lost" */
export const defaultSettlePolicy: SettlePolicy = {
  lookDelaysMs: [2_000, 8_000, 50_000, 240_000, 300_000, 300_000],
  arrivalLimitMs: 900_000,
};

/** A record as the service holds it, as far as the service tells. */
export interface Remote extends RowSet {
  readonly record: FieldRecord;
  /** Columns of the record's own row that were left out: unknown, not empty. */
  readonly unsaid: ReadonlySet<string>;
  /**
   * When the record was asked for, by this process's clock: of two readings of one record the later
   * counts.
   */
  readonly askedAt: number;
  /** The `Date` header of the answer: the service's clock, which may be any way off ours. */
  readonly dateHeader: string | null;
}

/** One row of a change's table, as the service holds it. */
export interface RemoteRow {
  readonly number: string;
  /** The values of the columns that were told, and the employees of a job. */
  readonly values: ChangeValues;
}

/** A row as a document of the service showed it. */
export interface ShownRow extends RemoteRow {
  /** The `Date` of that document. */
  readonly dateHeader: string | null;
}

type Place = Pick<ChangeFacts, 'writes' | 'stream'>;

/** A record, of which some columns may be unknown. */
type Told = RowSet & Partial<Pick<Remote, 'unsaid'>>;

/**
 * The element of a record that holds the change's row; null where the change is about the record
 * itself.
 */
export function elementOf({writes, stream}: Place): string | null {
  if (stream.table === writes.table) return null;
  return stream.children.find(({table}) => table === writes.table)?.element ?? null;
}

/**
 * The rows of a change's table in the record of the service: the record itself, or its children.
 */
export function listRemoteRows(place: Place, remote: Told): RemoteRow[] {
  const {writes, stream} = place;
  if (stream.table === writes.table)
    return [{number: remote.number, values: valuesOf(writes, remote.row, remote)}];
  const held = remote.children.find(({element}) => element === elementOf(place));
  return (held?.rows ?? []).map((row) => {
    const values = valuesOf(writes, row);
    return {number: String(values[writes.key]), values};
  });
}

/** The row of one record; null where it is not there. */
export function findRemoteRow(place: Place, remote: Told, number: string): RemoteRow | null {
  return listRemoteRows(place, remote).find((row) => row.number === number) ?? null;
}

function valuesOf({table}: Writes, row: Row, remote?: Told): ChangeValues {
  const values: Record<string, ChangeValue> = {};
  for (const [at, {name}] of table.columns.entries()) {
    const value = row.values[at] ?? null;
    if (value !== null || remote?.unsaid?.has(name) !== true) values[name] = value;
  }
  const assigned = remote?.children.find(({element}) => element === 'employees');
  if (assigned !== undefined)
    values.employee_ids = assigned.rows.map(({key}) => key.split(',')[1] ?? '').sort();
  return values;
}

/**
 * The kind that misread values have in common: a service that reads one date the other way round
 * misreads every date. A text has a kind per field, because an alteration there, such as a length
 * limit, befalls no other field.
 */
export function kindOf(
  {writes, rules}: Pick<ChangeFacts, 'writes' | 'rules'>,
  field: string,
): string {
  const kind = rules.get(field)?.kind ?? 'text';
  return kind === 'text' ? `${writes.table.name}.${field}` : kind;
}

/** The kind of a value among these that is stopped until a person has looked. */
export function findStoppedKind(facts: ChangeFacts, fields: ChangeValues): string | undefined {
  const {stoppedKinds} = facts.change;
  return kindsOf(facts, fields).find((kind) => stoppedKinds.includes(kind));
}

export function kindsOf(
  run: Pick<ChangeFacts, 'writes' | 'rules'>,
  fields: ChangeValues,
): string[] {
  return [...new Set(Object.keys(fields).map((field) => kindOf(run, field)))];
}

/**
 * By table the columns that the request changed; `all` of a create, whose record was read at once.
 * The feed names the change as the cause of these, and of no others: sync.cause_of.
 */
export type Made = Readonly<Record<string, readonly string[]>> | 'all';

/** @param number - of the change's own row: of the record itself, or of a note of it */
export function listMade(place: Place, number: string, before: Remote, after: Remote): Made {
  const {stream, writes} = place;
  const unsaid = new Set([...before.unsaid, ...after.unsaid]);
  const ofRecord = listChanged(stream.table.columns, before.row, after.row);
  const made = {[stream.table.name]: ofRecord.filter((name) => !unsaid.has(name))};
  const element = elementOf(place);
  if (element === null) return made;
  const [was, became] = [before, after].map(({children}) =>
    children.find((child) => child.element === element)?.rows.find(({key}) => key === number),
  );
  if (was === undefined || became === undefined) return made;
  return {...made, [writes.table.name]: listChanged(writes.table.columns, was, became)};
}

function listChanged(
  columns: readonly {readonly name: string}[],
  before: Row,
  after: Row,
): string[] {
  const names = columns.flatMap(({name}, at) =>
    before.values[at] === after.values[at] ? [] : [name],
  );
  return before.attributes === after.attributes ? names : [...names, 'extra'];
}
