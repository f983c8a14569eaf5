// What the service holds of the record that a change is about: of a note, what the job that it hangs on says.

import {readOne} from '../../api/reader.ts';
import type {FieldRecord} from '../../api/record.ts';
import {type Gone, isGone} from '../../api/verdict.ts';
import {RecordError} from '../../errors.ts';
import {type RowSet, readRows} from '../../streams/rows.ts';
import type {Writes} from '../../streams/writes.ts';
import type {ChangeValue, ChangeValues} from '../../warehouse/change.ts';
import type {Row} from '../../warehouse/row.ts';
import {includeOf, pathOf} from '../query.ts';
import type {PushRun} from './push-run.ts';

/** A record as the service holds it. */
export interface Truth extends RowSet {
  /** When it was asked for, by the clock of this process: of two readings of one record the later knows better. */
  readonly askedAt: number;
}

/** Reads the record of a change's stream by its number. @throws {RecordError} it came, and cannot be taken */
export async function readTruth(run: PushRun, number: string): Promise<Truth | Gone> {
  const askedAt = performance.now();
  const {stream, account, signal} = run;
  const path = pathOf(stream, number);
  const answer = await account.api.transport.read({
    path,
    query: includeOf(stream),
    signal,
    urgency: 'write-back',
  });
  if (isGone(answer)) return answer;
  const thing = `GET ${path} at ${account.api.transport.host}`;
  const record: FieldRecord = readOne(answer.body, stream, {thing, contentType: answer.contentType});
  const truth = readRows(stream, record, account);
  if (truth.number !== number)
    throw new RecordError(`${thing}: expected ${stream.item} ${number}, got ${truth.number}`);
  return {...truth, askedAt};
}

/** One row of a change's table, as the service holds it. */
export interface TrueRow {
  readonly number: string;
  /** Of every column, and the employees of a job. */
  readonly values: ChangeValues;
}

/** The rows of a change's table in the truth: the record itself, or what hangs on it. */
export function listTrueRows(run: Pick<PushRun, 'writes' | 'stream'>, truth: RowSet): TrueRow[] {
  const {writes, stream} = run;
  if (stream.table === writes.table)
    return [{number: truth.number, values: valuesOf(writes, truth.row, truth)}];
  const child = stream.children.find(({table}) => table === writes.table);
  const held = truth.children.find(({element}) => element === child?.element);
  return (held?.rows ?? []).map((row) => {
    const values = valuesOf(writes, row);
    return {number: String(values[writes.key]), values};
  });
}

/** The row of one record; null where it is not there. */
export function findTrueRow(
  run: Pick<PushRun, 'writes' | 'stream'>,
  truth: RowSet,
  number: string,
): TrueRow | null {
  return listTrueRows(run, truth).find((row) => row.number === number) ?? null;
}

function valuesOf({table}: Writes, row: Row, truth?: RowSet): ChangeValues {
  const values: Record<string, ChangeValue> = {};
  for (const [at, {name}] of table.columns.entries()) values[name] = row.values[at] ?? null;
  const assigned = truth?.children.find(({element}) => element === 'employees');
  if (assigned !== undefined)
    values.employee_ids = assigned.rows.map(({key}) => key.split(',')[1] ?? '').sort();
  return values;
}
