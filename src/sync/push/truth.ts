// What the service holds of the record that a change is about: of a note, what the job that it hangs on says.

import {readOne} from '../../api/reader.ts';
import type {FieldRecord} from '../../api/record.ts';
import {type Gone, isGone} from '../../api/verdict.ts';
import {RecordError, RetryableError} from '../../errors.ts';
import {type RowSet, readRows} from '../../streams/rows.ts';
import {listUnsaid} from '../../streams/unsaid.ts';
import type {Writes} from '../../streams/writes.ts';
import type {ChangeValue, ChangeValues} from '../../warehouse/change.ts';
import type {Row} from '../../warehouse/row.ts';
import {embedCustomer, embedMissing} from '../embed-missing.ts';
import {includeOf, pathOf} from '../query.ts';
import type {PushRun} from './push-run.ts';

/** A record as the service holds it, as far as it says. */
export interface Truth extends RowSet {
  readonly record: FieldRecord;
  /** Columns of the record's own row of which nothing was said: unknown, not empty. */
  readonly unsaid: ReadonlySet<string>;
  /** When it was asked for, by the clock of this process: of two readings of one record the later knows better. */
  readonly askedAt: number;
  /** The `Date` header of the answer: the service's clock, which may be any way off ours. */
  readonly dateHeader: string | null;
}

/**
 * Reads the record of a change's stream by its number, and what the change is about where the record leaves it out.
 * @throws {RecordError} it came, and cannot be taken
 * @throws {RetryableError} of what hangs on it nothing is told anywhere: nobody can say what became of the change
 */
export async function readTruth(run: PushRun, number: string): Promise<Truth | Gone> {
  const askedAt = performance.now();
  const {deps, change, stream, account, signal} = run;
  const path = pathOf(stream, number);
  const call = {signal, urgency: 'write-back'} as const;
  const answer = await account.api.transport.read({path, query: includeOf(stream), ...call});
  if (isGone(answer)) return answer;
  const thing = `GET ${path} at ${account.api.transport.host}`;
  const shown = readOne(answer.body, stream, {thing, contentType: answer.contentType});
  const {accountId} = change;
  const hanging = elementOf(run);
  const wanted = [
    ...(hanging === null ? [] : [hanging]),
    ...('employee_ids' in change.fields ? ['employees'] : []),
  ];
  const place = {pool: deps.pool, accountId, account, stream, call};
  const record = await embedMissing(place, await embedCustomer(place, shown), wanted);
  const truth = readRows(stream, record, account);
  if (truth.number !== number)
    throw new RecordError(`${thing}: expected ${stream.item} ${number}, got ${truth.number}`);
  if (hanging !== null && !truth.children.some(({element}) => element === hanging))
    throw new RetryableError(
      `${thing}: expected its ${hanging}, got the record without, and no list told them`,
    );
  return {...truth, record, unsaid: listUnsaid(stream, record), askedAt, dateHeader: answer.dateHeader};
}

/** The element of a record that holds what the change is about; null where it is about the record itself. */
function elementOf({writes, stream}: Pick<PushRun, 'writes' | 'stream'>): string | null {
  if (stream.table === writes.table) return null;
  return stream.children.find(({table}) => table === writes.table)?.element ?? null;
}

/** One row of a change's table, as the service holds it. */
export interface TrueRow {
  readonly number: string;
  /** Of every column that was told, and the employees of a job. */
  readonly values: ChangeValues;
}

/** The rows of a change's table in the truth: the record itself, or what hangs on it. */
export function listTrueRows(
  run: Pick<PushRun, 'writes' | 'stream'>,
  truth: RowSet & Partial<Pick<Truth, 'unsaid'>>,
): TrueRow[] {
  const {writes, stream} = run;
  if (stream.table === writes.table)
    return [{number: truth.number, values: valuesOf(writes, truth.row, truth)}];
  const held = truth.children.find(({element}) => element === elementOf(run));
  return (held?.rows ?? []).map((row) => {
    const values = valuesOf(writes, row);
    return {number: String(values[writes.key]), values};
  });
}

/** The row of one record; null where it is not there. */
export function findTrueRow(
  run: Pick<PushRun, 'writes' | 'stream'>,
  truth: Parameters<typeof listTrueRows>[1],
  number: string,
): TrueRow | null {
  return listTrueRows(run, truth).find((row) => row.number === number) ?? null;
}

function valuesOf({table}: Writes, row: Row, truth?: RowSet & Partial<Pick<Truth, 'unsaid'>>): ChangeValues {
  const values: Record<string, ChangeValue> = {};
  for (const [at, {name}] of table.columns.entries()) {
    const value = row.values[at] ?? null;
    if (value !== null || truth?.unsaid?.has(name) !== true) values[name] = value;
  }
  const assigned = truth?.children.find(({element}) => element === 'employees');
  if (assigned !== undefined)
    values.employee_ids = assigned.rows.map(({key}) => key.split(',')[1] ?? '').sort();
  return values;
}
