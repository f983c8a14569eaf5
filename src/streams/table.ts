// A table of the warehouse as data: its columns, their use in writing back, and the forms of its
// rows before they are written.

/** How a column is stored: `nested` is an element that contains others, as jsonb. */
export type ColumnType =
  | 'text'
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'instant'
  | 'nested';

/** One column with values that the service sent. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Whether its field can be written back, and under which conditions; if absent, it cannot. */
  readonly writable?: true | WriteTerms;
  /** One sentence for the person who sees the column in a BI tool. */
  readonly comment: string;
}

/**
 * The conditions under which a field is written back. By default: any value, by create and update,
 * independently of other fields.
 */
interface WriteTerms {
  readonly onCreate?: false;
  readonly onUpdate?: false;
  /** Fields of one group are written together. */
  readonly group?: string;
  /** The service refuses a record without the field, or with a blank one. */
  readonly isRequired?: true;
  /** The smallest number that the service accepts. */
  readonly minimum?: number;
}

/** The operations that a change can make on a record. */
export const changeOperations = ['create', 'update', 'delete'] as const;

export type ChangeOperation = (typeof changeOperations)[number];

/** How a field's value is written: by the type of its column; without a column, as ids. */
export type WriteKind = 'text' | 'integer' | 'decimal' | 'boolean' | 'instant' | 'ids';

/** A field of a table that can be written back, with all its conditions. */
export interface WriteRule {
  readonly name: string;
  readonly kind: WriteKind;
  readonly onCreate: boolean;
  readonly onUpdate: boolean;
  readonly group: string | null;
  readonly isRequired: boolean;
  readonly minimum: number | null;
}

/** A field that can be written back and is not a column of its table. */
interface WriteOnlyField {
  readonly name: string;
  readonly kind: 'ids';
  readonly terms: WriteTerms;
}

/** The columns by whose content a person finds rows. */
export interface Searched {
  /** Texts that are found by their words: names, e-mail addresses. */
  readonly words: readonly string[];
  /** Phone numbers: found by their last digits, however they are written. */
  readonly phones?: readonly string[];
}

/** The part of a table that its stream's file defines; the rest is the same for every table. */
export interface Definition {
  readonly comment: string;
  /** The columns that identify a row within an account. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /**
   * Columns by which rows are looked up, besides the key: above all a child's parent. The account
   * is always the first column of the index.
   */
  readonly indexes?: readonly (readonly string[])[];
  /** If absent, its rows are found only by their numbers and keys. */
  readonly searched?: Searched;
  readonly writeOnly?: readonly WriteOnlyField[];
}

/** A table of current rows: the columns of the service in a fixed order, and our own columns. */
export interface MirrorTable {
  readonly name: string;
  readonly comment: string;
  /** The columns that identify a row within an account. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  readonly indexes: readonly (readonly string[])[];
  readonly searched: Searched | null;
  /** The fields that can be written back, in the order of the columns. */
  readonly writable: readonly WriteRule[];
}

/** Our own columns in every warehouse table, and their comments for the reader. */
export const ownColumns: Readonly<Record<string, string>> = {
  row_id: 'Number of the row in this warehouse, from its first moment on; it never changes.',
  account_id:
    'The account at the service that the row belongs to: sync.accounts; ' +
    'if there is only one account, it is the default.',
  external_key: 'Key of the same thing in your own system, such as an ERP; unique per account.',
  extra: 'Fields that the service sent and no column takes, under their own names.',
  _hash:
    'Hash of what the row means; equal hashes need no write. Null in a row the service has not ' +
    'sent.',
  _first_seen_at: 'When the row came into this warehouse.',
  _changed_at: 'When the row last changed in this warehouse.',
  _deleted_at: 'When the record was found to be deleted at the service; null while it exists.',
  _sweep_id: 'The sweep that last wrote the row: sync.sweeps; null when somebody else wrote it.',
  _page: 'The page of that sweep that had the record; null if it was requested by its number.',
  parent_row_id:
    'Of a row written here: row_id of its customer or job, which need not have a number yet.',
  _change_id:
    'The change whose result last wrote the row: sync.changes; null when a sweep or somebody did.',
  _pending: 'True while a change made here is on its way to the service; null otherwise.',
};

/** A table whose rows exist only in a parent, and the column that names it. */
export interface OwnedTable {
  readonly table: MirrorTable;
  readonly parentColumn: string;
}

/**
 * Declares one warehouse table. Key columns may be null: a row authored here has no number until
 * the service gives it one, and nulls are distinct in its unique constraint.
 * @throws {TypeError} the definition contradicts itself: a key or index without its column, a key
 *   that is no whole number, a name used twice, a writable column of a type that no request can
 *   hold
 */
export function mirrorTable(name: string, definition: Definition): MirrorTable {
  const {comment, key, columns, indexes = [], searched = null, writeOnly = []} = definition;
  checkDefinition(name, definition);
  const writable = [
    ...columns.flatMap((column) => listRules(name, column)),
    ...writeOnly.map(({terms, ...field}) => toRule(field, terms)),
  ];
  return {name, comment, key, columns, indexes, searched, writable};
}

function listRules(table: string, {name, type, writable}: Column): WriteRule[] {
  if (writable === undefined) return [];
  if (type === 'float' || type === 'nested')
    throw new TypeError(`table ${table}: column "${name}" is ${type}, which no request can hold`);
  return [toRule({name, kind: type}, writable === true ? {} : writable)];
}

function toRule(field: Pick<WriteRule, 'name' | 'kind'>, terms: WriteTerms): WriteRule {
  const {
    onCreate = true,
    onUpdate = true,
    group = null,
    isRequired = false,
    minimum = null,
  } = terms;
  return {...field, onCreate, onUpdate, group, isRequired, minimum};
}

function checkDefinition(name: string, definition: Definition): void {
  const {key, columns, indexes = [], searched} = definition;
  const names = columns.map((column) => column.name);
  const duplicate = names.find(
    (column, index) => names.indexOf(column) !== index || Object.hasOwn(ownColumns, column),
  );
  if (duplicate !== undefined)
    throw new TypeError(`table ${name}: the name "${duplicate}" is taken already`);
  const missing = [key, ...indexes].flat().find((column) => !names.includes(column));
  if (missing !== undefined)
    throw new TypeError(`table ${name}: no column "${missing}" for its key or index`);
  const searchedNames = [...(searched?.words ?? []), ...(searched?.phones ?? [])];
  const unsuitable = searchedNames.find(
    (searchedName) =>
      !columns.some((column) => column.name === searchedName && column.type === 'text'),
  );
  if (unsuitable !== undefined)
    throw new TypeError(`table ${name}: "${unsuitable}" is searched, and no text column`);
  if (key.length === 0) throw new TypeError(`table ${name}: it needs a key`);
  const invalidKey = columns.find(
    (column) => key.includes(column.name) && column.type !== 'integer',
  );
  if (invalidKey !== undefined)
    throw new TypeError(`table ${name}: its key "${invalidKey.name}" is no whole number`);
}

/** The origin of a table's rows: the history needs it to know which records an edit makes stale. */
export interface Origin {
  /** Streams whose records embed the rows; none when the rows are the records themselves. */
  readonly embeddedIn: readonly string[];
  /** The column that names the embedding record; null if many records share a row. */
  readonly parentColumn: string | null;
}

/** The handling of an author's INSERT, UPDATE and DELETE. */
export interface Capture {
  /** The column with the number that the service assigns. */
  readonly key: string;
  /** The service's operations on the records of this table; none when empty. */
  readonly operations: readonly ChangeOperation[];
  readonly parent: {readonly table: string; readonly numberColumn: string} | null;
  /** The next step for an author whose statement is refused. */
  readonly hint: string;
}

/** A warehouse table with everything that the database needs to know about it. */
export interface WarehouseTable extends MirrorTable {
  readonly origin: Origin;
  readonly capture: Capture;
  /** Columns that may identify a person, or how to reach them. */
  readonly personal: readonly string[];
}

/**
 * One row to be written to the warehouse: text or null for every column of its table, as the
 * service sent it.
 */
export interface Row {
  /** The values of the table's key columns, joined by a comma. */
  readonly key: string;
  /** Aligned with the table's columns; null if the service sent nil, or nothing. */
  readonly values: readonly (string | null)[];
  /** The fields without a column: a JSON object as text, keys sorted. */
  readonly attributes: string;
  /**
   * Sixteen bytes of SHA-256 over the row's meaning, as 32 hex digits: equal hashes need no write.
   */
  readonly hash: string;
}

/**
 * The values of a stored row, as text in the order of its table's columns; instants as ISO 8601.
 */
export interface HeldValues {
  readonly values: readonly (string | null)[];
  readonly attributes: string;
}

/** One row in the format of COPY. */
export interface EncodedRow {
  /** The values of the table's key columns, in order. */
  readonly key: readonly string[];
  readonly hash: string;
  /**
   * Columns, attributes, hash and page as a line for COPY, in UTF-8; account, sweep and change are
   * put before it.
   */
  readonly line: Buffer;
  /**
   * Fills in, with the stored values, the fields that its document may omit. Absent if the document
   * is complete.
   */
  readonly recall?: (storedValues: HeldValues) => EncodedRow;
}
