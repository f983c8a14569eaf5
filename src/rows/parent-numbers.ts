import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';

/** A table whose records hang on those of another. */
export interface Nesting {
  readonly table: string;
  readonly parent: string;
  /** Of both tables: the column with the number of the parent. */
  readonly numberColumn: string;
}

/**
 * Reads the numbers of the customers and jobs that changed records hang on.
 * @returns change to number; absent where the record hangs on none, or the service has given none
 *   yet
 */
export async function readParentNumbers(
  db: Queryable,
  changeIds: readonly string[],
  nestings: readonly Nesting[],
): Promise<ReadonlyMap<string, string>> {
  const numbers = nestings.map(numberSql).join(' ');
  const {rows} = await db.query<{changeId: string; number: string | null}>(
    `SELECT change_id AS "changeId", CASE table_name ${numbers} END AS number
       FROM sync.changes AS change WHERE change_id = ANY ($1)`,
    [changeIds],
  );
  return new Map(
    rows.flatMap(({changeId, number}) => (number === null ? [] : [[changeId, number]])),
  );
}

function numberSql({table, parent, numberColumn}: Nesting): string {
  const column = pg.escapeIdentifier(numberColumn);
  return `
    WHEN ${pg.escapeLiteral(table)} THEN (
      SELECT coalesce(parent.${column}, held.${column})
        FROM warehouse.${pg.escapeIdentifier(table)} AS held
        LEFT JOIN warehouse.${pg.escapeIdentifier(parent)} AS parent
               ON parent.row_id = coalesce(change.parent_row_id, held.parent_row_id)
       WHERE held.row_id = change.row_id)`;
}
