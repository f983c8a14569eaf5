import type {ChangeOperation, MirrorTable} from './mirror-table.ts';

/** The origin of a table's rows: its history must know whose records an edit makes stale. */
export interface Origin {
  /** Streams whose records embed the rows; none when the rows are the records themselves. */
  readonly embeddedIn: readonly string[];
  /** The column that names the embedding record; null where many records share a row. */
  readonly parentColumn: string | null;
}

/** The handling of an author's INSERT, UPDATE and DELETE. */
export interface Capture {
  /** The column with the number that the service gives. */
  readonly key: string;
  /** The service's operations on the records of this table; none when empty. */
  readonly operations: readonly ChangeOperation[];
  readonly parent: {readonly table: string; readonly numberColumn: string} | null;
  /** The next step of an author whose statement is refused. */
  readonly hint: string;
}

/** A warehouse table with all that the database has to be told of it. */
export interface WarehouseTable extends MirrorTable {
  readonly origin: Origin;
  readonly capture: Capture;
  /** Columns that may tell who somebody is, or how to reach them. */
  readonly personal: readonly string[];
}
