// Names of the records that changes are about, for people: a person knows "Kaja Thornholt", not
// row 4711.

import type {Queryable} from '../postgres/database.ts';
import {nameTable} from '../rows/table-sql.ts';
import {allWrites} from '../streams/all.ts';
import type {Change} from './change.ts';

type Row = Pick<Change, 'table' | 'rowId'>;

/** The tables of which a change can be made, and whose rows have a name. */
const named = allWrites.flatMap(({table}) =>
  table.columns.some(({name}) => name === 'name') ? [table] : [],
);

/** Names by `table/rowId`; a row without a name, or that is not held any more, is left out. */
export type RecordNames = ReadonlyMap<string, string>;

export function findName(names: RecordNames, {table, rowId}: Row): string | null {
  return names.get(`${table}/${rowId}`) ?? null;
}

/** Reads the names of rows, in one statement; none where there is nothing to look for. */
export async function readRecordNames(db: Queryable, rows: readonly Row[]): Promise<RecordNames> {
  const wanted = named.flatMap((table) => {
    const ids = rows.filter((row) => row.table === table.name).map(({rowId}) => rowId);
    return ids.length === 0 ? [] : [{table, ids}];
  });
  if (wanted.length === 0) return new Map();
  const {rows: found} = await db.query<{place: string; name: string}>(
    wanted
      .map(
        ({table}, at) =>
          `SELECT '${table.name}/' || row_id AS place, left(name, 200) AS name
             FROM ${nameTable(table)} WHERE row_id = ANY ($${at + 1}::bigint[]) AND name <> ''`,
      )
      .join(' UNION ALL '),
    wanted.map(({ids}) => ids),
  );
  return new Map(found.map(({place, name}) => [place, name]));
}

/** What a change is called: `Kaja Thornholt: phone number`. Its fields are names of columns. */
export function titleChange(
  name: string,
  {operation, fields}: Pick<Change, 'operation'> & {readonly fields: readonly string[]},
): string {
  const most = 3;
  if (operation !== 'update') return `${name}: ${operation}`;
  const words = fields.slice(0, most).map((field) => field.replaceAll('_', ' '));
  const more = fields.length > most ? ` and ${fields.length - most} more` : '';
  return `${name}: ${words.join(', ')}${more}`;
}

/** The titles of changes by their numbers; one whose record has no name is left out. */
export async function readChangeTitles(
  db: Queryable,
  changeIds: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  if (changeIds.length === 0) return {};
  const {rows: changes} = await db.query<Row & Pick<Change, 'changeId' | 'operation' | 'fields'>>(
    `SELECT change_id AS "changeId", table_name AS "table", row_id AS "rowId", operation, fields
       FROM sync.changes WHERE change_id = ANY ($1::bigint[])`,
    [changeIds],
  );
  const names = await readRecordNames(db, changes);
  return Object.fromEntries(
    changes.flatMap((change) => {
      const name = findName(names, change);
      const told = {operation: change.operation, fields: Object.keys(change.fields)};
      return name === null ? [] : [[change.changeId, titleChange(name, told)]];
    }),
  );
}
