/** The description of one thing in the database, for its reader. */
export interface Comment {
  readonly kind: 'SCHEMA' | 'TABLE' | 'VIEW' | 'FUNCTION' | 'COLUMN';
  /** Its name, the schema first; a column's is that of its table or view and its own. */
  readonly name: readonly string[];
  /** Types of a function's arguments, as Postgres writes them; of anything else empty. */
  readonly argumentTypes?: string;
  readonly text: string;
}
