// Helpers that the definitions of tables share: types of columns, and comments for readers of the
// database.

import {type SQL, sql} from 'drizzle-orm';
import {bigint, customType, type PgTable, timestamp} from 'drizzle-orm/pg-core';

/**
 * Bytes. The hash of a record is sixteen bytes of SHA-256: enough to distinguish two contents, at
 * half the width in every row.
 */
export const bytea = customType<{data: Buffer}>({dataType: () => 'bytea'});

/** A moment, as Postgres writes it. */
export const instant = () => timestamp({withTimezone: true, mode: 'string'});

/** A number that may be larger than JavaScript counts exactly, so it is read as text. */
export const bigNumber = () => bigint({mode: 'bigint'}).$type<string>();

/** The values that a column may have, for the IN of its check. */
export function listed(values: readonly string[]): SQL {
  return sql.raw(values.map((value) => `'${value}'`).join(', '));
}

/** A long condition of a check from its parts: it is stored in one line. */
export function inOneLine(...parts: readonly SQL[]): SQL {
  return sql.join([...parts], sql` `);
}

/** A table, and the comments on it and on each of its columns for its reader. */
export interface CommentedTable {
  readonly drizzle: PgTable;
  readonly comment: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** Pairs a table with its comments; the compiler checks that every column has one. */
export function commentTable<T extends PgTable>(
  drizzle: T,
  comment: string,
  columns: Readonly<Record<keyof T['_']['columns'], string>>,
): CommentedTable {
  return {drizzle, comment, columns};
}

/** The description of one thing in the database, for its reader. */
export interface Comment {
  readonly kind: 'SCHEMA' | 'TABLE' | 'VIEW' | 'FUNCTION' | 'COLUMN';
  /** Its name, the schema first; for a column: the schema, the table or view, and the column. */
  readonly name: readonly string[];
  /** Types of a function's arguments, as Postgres writes them; of anything else empty. */
  readonly argumentTypes?: string;
  readonly text: string;
}
