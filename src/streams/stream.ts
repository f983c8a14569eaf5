// A stream as data: its list, its records with their parts, and how they are written back.

import type {TimeShape} from '../api/time-shapes.ts';
import type {Resource} from '../api/xml-encode.ts';
import type {ChangeOperation, MirrorTable, OwnedTable} from './table.ts';

export type StreamName = 'customers' | 'jobs' | 'employees' | 'tasks';

type Query = Readonly<Record<string, string>>;

/** The values of a filter: one of some words, the number of a record, or a text. */
export type Filter = readonly string[] | 'number' | 'text';

/** One kind of object at the service: its list, its key, the tables of its parts. */
export interface Stream {
  readonly name: StreamName;
  /** The list, relative to the account's base address. */
  readonly path: string;
  /** Name of the list's root element, and of one record in it. */
  readonly list: string;
  readonly item: string;
  /** The field that paths know a record by. */
  readonly key: string;
  readonly isPaged: boolean;
  /** Whether the list can be asked for single fields, by `only`. */
  readonly takesOnly: boolean;
  /**
   * True if the account counts its records from 1; false where all accounts share one sequence.
   */
  readonly isCountedPerAccount: boolean;
  /** False where a record may leave its list, but never goes. */
  readonly isDeletable: boolean;
  /** True where the service makes one record of two. */
  readonly isMergeable: boolean;
  /** Related data to ask for with every record. */
  readonly include: readonly string[];
  /**
   * The shortest list, with its filter, that holds a record of a customer's number; null where
   * lists embed no more than shows.
   */
  readonly listedAt:
    | ((customerNumber: string) => {readonly path: string; readonly query: Query})
    | null;
  readonly table: MirrorTable;
  readonly children: readonly Child[];
  /** Elements that other records bring in full, so they are read there. */
  readonly ignored: readonly string[];
  /** Columns filled from a record embedded in this one: column to [element, field in it]. */
  readonly derived: Readonly<Record<string, readonly [string, string]>>;
  /** The filters of its list, in the order in which a window's name has them. */
  readonly filters: Readonly<Record<string, Filter>>;
  /** Windows that come round by themselves, by name. */
  readonly windows: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Records embedded in a record of a stream, kept in a table of their own. */
export interface Child {
  /** Name of the element that holds them. */
  readonly element: string;
  /** Name of one of them when the element is a list; null for a single embedded record. */
  readonly item: string | null;
  readonly table: MirrorTable;
  /** Columns filled from the surrounding record: column of the child to field of the record. */
  readonly parentColumns: Readonly<Record<string, string>>;
  /** Columns whose field has another name: column to field. */
  readonly renamed?: Readonly<Record<string, string>>;
  /**
   * True for a mere link to a record of another stream: fields without a column are left to that
   * stream.
   */
  readonly isLink?: boolean;
  /**
   * True if they exist only in their parent and vanish from its list; false for look-ups that
   * many records share.
   */
  readonly isOwned: boolean;
  /**
   * True if they are records of the stream itself, such as the sub-customers inside a customer.
   * The list brings most of them as well, in full: here they only make known records that stand
   * nowhere else, and change none.
   */
  readonly isOfStream?: boolean;
  /** True if a path below the record lists them: /jobs/7/notes.xml. */
  readonly hasPath?: boolean;
}

/** The column of an owned child's table that names its parent. @throws {TypeError} none does */
export function parentColumnOf({table, parentColumns}: Child): string {
  const [column] = Object.keys(parentColumns);
  if (column === undefined)
    throw new TypeError(`${table.name}: owned by a parent, but no column names it`);
  return column;
}

/** The tables of children that exist only in records of a stream. */
export function ownedTablesOf({children}: Stream): OwnedTable[] {
  return children
    .filter(({isOwned}) => isOwned)
    .map((child) => ({table: child.table, parentColumn: parentColumnOf(child)}));
}

/**
 * How one warehouse table is written back. The table itself names the fields. Nothing here goes
 * beyond the specification, so that a change that the service cannot make is refused when it is
 * asked for. all.ts lists them.
 */
export interface Writes {
  readonly table: MirrorTable;
  /** Root element of its documents. */
  readonly resource: Resource;
  /**
   * The stream whose record is read to learn the fate of a write: its own, or that of its parent.
   */
  readonly stream: StreamName;
  readonly operations: readonly ChangeOperation[];
  /** The next step of an author who asks for another operation. */
  readonly hint?: string;
  /** The column by which paths know a record. */
  readonly key: string;
  /** The parent of a new record: `/customers/7/jobs.xml`. */
  readonly parent: {readonly table: 'customers' | 'jobs'; readonly numberColumn: string} | null;
  /** The list that new ones are posted to, relative to the parent or to the account: `notes`. */
  readonly list: string;
  /** Whether paths to one record go by the parent, too: `/jobs/7/notes/12.xml`. */
  readonly isNested: boolean;
  /** How its documents write a time; null if they have none. */
  readonly timeShape: TimeShape | null;
}
