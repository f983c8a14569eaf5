// The service's record that a change is about; for a note, the job that it hangs on. Pure.

import type {FieldRecord} from '../api/xml-document.ts';
import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import type {RowSet} from '../streams/record-rows.ts';
import type {Writes} from '../streams/stream.ts';
import type {Row} from '../streams/table.ts';
import type {ChangeFacts} from './facts.ts';

type Place = Pick<ChangeFacts, 'writes' | 'stream'>;

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
