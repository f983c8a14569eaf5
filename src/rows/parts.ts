// Rows that hang on a record, as they are and as they were: its children, and records that point at
// it.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable} from '../streams/table.ts';
import {findColumn, nameTable} from './table-sql.ts';

/** One version of a row that hangs on another. Instants are ISO 8601 in UTC. */
export interface Part {
  readonly rowId: string;
  /** When this version began. */
  readonly since: string;
  readonly isDeleted: boolean;
  /**
   * The sweep that wrote it, or the change, or somebody's edit; null where it was another, or is
   * not known.
   */
  readonly sweepId: string | null;
  readonly changeId: string | null;
  readonly writtenBy: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Read extends Omit<Part, 'fields'>, Record<string, unknown> {}

/**
 * The rows in which a column has a value, the newest first, those that are deleted last.
 * @param asked.at - the versions of that moment, of rows that were not deleted then; null: those
 *   that hold now. A row that
 *   has left the warehouse is not among them: rows of the service never do
 * @param asked.columns - those that are read
 */
export async function readParts(
  db: Queryable,
  table: MirrorTable,
  asked: {
    readonly accountId: string;
    readonly column: string;
    readonly value: string;
    readonly columns: readonly string[];
    readonly at: string | null;
    readonly limit: number;
  },
): Promise<Part[]> {
  const {accountId, column, value, columns, at, limit} = asked;
  for (const name of [column, ...columns]) findColumn(table, name);
  const {rows} = await db.query<Read>(partsSql(table, column, columns), [
    accountId,
    value,
    at,
    limit,
  ]);
  return rows.map(({rowId, since, isDeleted, sweepId, changeId, writtenBy, ...row}) => ({
    ...{rowId, since, isDeleted, sweepId, changeId, writtenBy},
    fields: Object.fromEntries(columns.map((name) => [name, row[`field_${name}`]])),
  }));
}

/** The moment comes to each row by its number: an index of the past leads with that. */
function partsSql(table: MirrorTable, column: string, columns: readonly string[]): string {
  const fields = columns.map(
    (name) => `version.${pg.escapeIdentifier(name)} AS ${pg.escapeIdentifier(`field_${name}`)}`,
  );
  return `
    SELECT version.row_id AS "rowId", version.valid_from AS since, version._deleted_at IS NOT NULL AS "isDeleted",
           version._sweep_id AS "sweepId", version._change_id AS "changeId", version.written_by AS "writtenBy", ${fields.join(', ')}
      FROM (SELECT row_id, _deleted_at IS NOT NULL AS is_deleted FROM ${nameTable(table)}
             WHERE account_id = $1 AND ${pg.escapeIdentifier(column)} = $2
             ORDER BY is_deleted, row_id DESC LIMIT $4) AS child
     CROSS JOIN LATERAL (
           SELECT * FROM history.${pg.escapeIdentifier(table.name)} AS held
            WHERE held.row_id = child.row_id AND held.valid_from <= coalesce($3::timestamptz, 'infinity')
              AND (held.valid_to IS NULL OR held.valid_to > $3::timestamptz) OFFSET 0) AS version
     WHERE $3::timestamptz IS NULL OR version._deleted_at IS NULL
     ORDER BY child.is_deleted, child.row_id DESC`;
}

/** The number and the name of the record that another one points at; null where it is not held. */
export async function readNamed(
  db: Queryable,
  table: MirrorTable,
  asked: {
    readonly accountId: string;
    readonly column: string;
    readonly value: string;
    readonly key: string;
  },
): Promise<{readonly number: string | null; readonly name: string | null} | null> {
  const {accountId, column, value, key} = asked;
  for (const name of [column, key]) findColumn(table, name);
  const {rows} = await db.query<{number: string | null; name: string | null}>(
    `SELECT ${pg.escapeIdentifier(key)} AS number, left(name, 200) AS name FROM ${nameTable(table)}
      WHERE account_id = $1 AND ${pg.escapeIdentifier(column)} = $2 ORDER BY _deleted_at NULLS FIRST LIMIT 1`,
    [accountId, value],
  );
  return rows[0] ?? null;
}
