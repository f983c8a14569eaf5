// A reading of the service may be older than a change of ours that it has confirmed: its reads may
// lag behind its writes. Such a row stays as it is, and its record is read again.

import {decodeCopyRow} from '../postgres/copy-text.ts';
import type {Held, ProbedRows} from '../rows/load.ts';
import {showsReplaced} from '../rows/shows-replaced.ts';
import type {MirrorTable} from '../streams/mirror-table.ts';
import type {EncodedRow} from '../streams/row.ts';

/** Rows that were probed, of which the older ones count as fresher here. */
export interface SortedOut {
  readonly probed: ProbedRows;
  readonly older: readonly EncodedRow[];
}

/**
 * Finds the rows that show what a change of ours has replaced a short while ago, or that one has
 * deleted.
 */
export function sortOutOlder(probed: ProbedRows): SortedOut {
  if (probed.insertsOnly === true) return {probed, older: []};
  const older: EncodedRow[] = [];
  const found = probed.found.map((held) => {
    const row = probed.rows[held.at];
    if (row === undefined || held.isFresher || !isOlder(probed.table, row, held)) return held;
    older.push(row);
    return {...held, isFresher: true};
  });
  return older.length === 0 ? {probed, older} : {probed: {...probed, found}, older};
}

function isOlder(
  table: MirrorTable,
  row: EncodedRow,
  {isDeletedLately, recent, values}: Held,
): boolean {
  if (isDeletedLately) return true;
  if (recent === null || recent.length === 0) return false;
  const {recall} = row;
  const whole =
    recall === undefined || values === null
      ? row
      : recall({values: values.slice(0, -1), attributes: values.at(-1) ?? '{}'});
  const shown = decodeCopyRow(whole.line.toString());
  const columns = table.columns.map(({name}, at) => [name, shown[at] ?? null] as const);
  const kinds = new Map(table.writable.map(({name, kind}) => [name, kind]));
  return showsReplaced(recent, Object.fromEntries(columns), (name) => kinds.get(name) ?? 'text');
}
