import pg from 'pg';
import type {MirrorTable} from '../streams/table.ts';
import {columnsOf} from './answers.ts';

export interface RowsQuery {
  readonly accountId: string;
  readonly afterRowId: string;
  readonly limit: number;
  readonly showsDeleted: boolean;
  /** ISO with an offset. */
  readonly changedSince: string | null;
}

export type Row = Readonly<Record<string, unknown>> & {readonly row_id: string};

/**
 * The next rows of a table, in order of row_id, which never changes: a row that stands throughout
 * is read once, though others come and go meanwhile.
 */
export async function readRows(
  pool: pg.Pool,
  table: MirrorTable,
  query: RowsQuery,
): Promise<Row[]> {
  const {accountId, afterRowId, limit, showsDeleted, changedSince} = query;
  const {rows} = await pool.query<Row>(
    `SELECT ${columnsOf(table).map(pg.escapeIdentifier).join(', ')} FROM warehouse.${pg.escapeIdentifier(table.name)}
      WHERE account_id = $1 AND row_id > $2 AND ($4 OR _deleted_at IS NULL)
        AND ($5::timestamptz IS NULL OR _changed_at >= $5)
      ORDER BY row_id LIMIT $3`,
    [accountId, afterRowId, limit, showsDeleted, changedSince],
  );
  return rows;
}
