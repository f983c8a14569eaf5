/** How a column is kept: `nested` is an element with others inside, as jsonb. */
export type ColumnType = 'text' | 'integer' | 'decimal' | 'float' | 'boolean' | 'instant' | 'nested';

/** One column that holds what the service sent. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** One sentence for the person who meets the column in a BI tool. */
  readonly comment: string;
}

/** A field of a table that can be written back. */
export interface WriteRule {
  readonly name: string;
  readonly kind: 'text' | 'integer' | 'decimal' | 'boolean' | 'instant' | 'ids' | 'secret';
  readonly onCreate: boolean;
  readonly onUpdate: boolean;
  /** Fields of one group move as one. */
  readonly group: string | null;
  /** True where the service takes no record without it, or with a blank one. */
  readonly isRequired?: boolean;
  /** The smallest number that the service takes. */
  readonly minimum?: number;
}

/** What a stream's file says of a table; the rest is the same for every table. */
export interface Definition {
  readonly comment: string;
  /** What one row is known by within an account. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /** Columns that rows are looked up by, beside the key: a child's parent above all. The account always leads. */
  readonly indexes?: readonly (readonly string[])[];
  /** What of it can be written back; nothing when absent. */
  readonly writable?: readonly WriteRule[];
}

/** A table of current rows: the columns of the service in a fixed order, our own beside them. */
export interface MirrorTable {
  readonly name: string;
  readonly comment: string;
  /** What one row is known by within an account. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  readonly indexes: readonly (readonly string[])[];
  readonly writable: readonly WriteRule[];
}

/** The columns that every warehouse table has of our own, and what a reader should know of them. */
export const ownColumns: Readonly<Record<string, string>> = {
  row_id: 'Number of the row in this warehouse, from its first moment on; it never changes.',
  account_id:
    'The account at the service that the row belongs to: sync.accounts; where there is only one, it is the default.',
  external_key: 'Key of the same thing in your own system, such as an ERP; unique per account.',
  attributes: 'Fields that the service sent and no column takes, under their own names.',
  _hash: 'Hash of what the row means; equal hashes need no write. Null in a row the service has not sent.',
  _first_seen_at: 'When the row came into this warehouse.',
  _changed_at: 'When the row last changed in this warehouse.',
  _deleted_at: 'When the row was found to be gone at the service; null while it lives.',
  _sweep_id: 'The sweep that last wrote the row: sync.sweeps; null when somebody else wrote it.',
  _page: 'The page of that sweep on which the record stood; null when it was asked for by its number.',
  parent_row_id: 'Of a row written here: row_id of its customer or job, which need not have a number yet.',
  _change_id: 'The change whose result last wrote the row: sync.changes; null when a sweep or somebody did.',
  _pending: 'True while a change made here is on its way to the service; null otherwise.',
};

/** A field that a create and an update may bear. */
export function writable(
  name: string,
  kind: WriteRule['kind'] = 'text',
  group: string | null = null,
): WriteRule {
  return {name, kind, onCreate: true, onUpdate: true, group};
}

/** A field without which the service takes no record. */
export function required(name: string, kind: WriteRule['kind'] = 'text'): WriteRule {
  return {...writable(name, kind), isRequired: true};
}

/**
 * Declares one warehouse table. Key columns may be null: a row authored here has no number until the service gives
 * it one, and nulls are distinct in its unique constraint.
 * @throws {TypeError} a definition that contradicts itself: a key or index without its column, a name used twice
 */
export function mirrorTable(name: string, definition: Definition): MirrorTable {
  const {comment, key, columns, indexes = [], writable = []} = definition;
  checkDefinition(name, definition);
  return {name, comment, key, columns, indexes, writable};
}

function checkDefinition(name: string, {key, columns, indexes = []}: Definition): void {
  const names = columns.map((column) => column.name);
  const twice = names.find((column, at) => names.indexOf(column) !== at || Object.hasOwn(ownColumns, column));
  if (twice !== undefined) throw new TypeError(`table ${name}: the name "${twice}" is taken already`);
  const missing = [key, ...indexes].flat().find((column) => !names.includes(column));
  if (missing !== undefined)
    throw new TypeError(`table ${name}: no column "${missing}" for its key or index`);
  if (key.length === 0) throw new TypeError(`table ${name}: it needs a key`);
}
