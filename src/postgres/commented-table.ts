import type {PgTable} from 'drizzle-orm/pg-core';

/** A table, and the comments on it and on each of its columns for its reader. */
export interface CommentedTable {
  readonly drizzle: PgTable;
  readonly comment: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** Pairs a table with its comments; the compiler sees that no column goes without one. */
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
  /** Its name, the schema first; a column's is that of its table or view and its own. */
  readonly name: readonly string[];
  /** Types of a function's arguments, as Postgres writes them; of anything else empty. */
  readonly argumentTypes?: string;
  readonly text: string;
}
