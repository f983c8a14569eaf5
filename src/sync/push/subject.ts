import {readColumn} from '../../warehouse/authored-rows.ts';
import type {PushRun} from './push-run.ts';
import type {Subject} from './request.ts';

/** What a change is about, as paths know it. */
export async function subjectOf({deps, change, writes}: PushRun): Promise<Subject> {
  const {operation, number, rowId, parentRowId} = change;
  const {parent, isNested, table} = writes;
  if (parent === null || !(isNested || operation === 'create'))
    return {operation, number, parentNumber: null};
  const column = parent.numberColumn;
  const place =
    parentRowId === null
      ? {table: table.name, column, rowId}
      : {table: parent.table, column, rowId: parentRowId};
  return {operation, number, parentNumber: await readColumn(deps.pool, place)};
}

/** The number of the record that tells what became of the change; null while nobody knows it. */
export function truthNumberOf({writes}: Pick<PushRun, 'writes'>, subject: Subject): string | null {
  return writes.isNested ? subject.parentNumber : subject.number;
}
