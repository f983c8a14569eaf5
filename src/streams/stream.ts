// A stream as data: its list, its records with their parts, how they are written back, and the
// windows of its list.
// A window is the part of a list that a filter lets through: fresh data between full sweeps. Its
// name is a word that the specification defines as a filter's value (`next_week`), or the filter
// itself (`scheduled=next_week`). Several filters are written as in a query string:
// `scheduled=next_week&employee_number=3`. One window has one name, so that two sweeps of the same
// target never run at once. One window of every stream has no filter: the whole list, read once.

import type {TimeShape} from '../api/value-types.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {isId} from '../core/text.ts';
import type {ChangeOperation, MirrorTable, OwnedTable} from './table.ts';

export type StreamName = 'customers' | 'jobs' | 'employees' | 'tasks';

type Query = Readonly<Record<string, string>>;

/** The values of a filter: one of some words, the number of a record, or a text. */
type Filter = readonly string[] | 'number' | 'text';

/** One kind of object at the service: its list, its key, the tables of its parts. */
export interface Stream {
  readonly name: StreamName;
  /** The list, relative to the account's base address. */
  readonly path: string;
  /** Name of the list's root element, and of one record in it. */
  readonly list: string;
  readonly item: string;
  /** The field that identifies a record in paths. */
  readonly key: string;
  readonly isPaged: boolean;
  /** Whether the list can return single fields, by `only`. */
  readonly takesOnly: boolean;
  /** True if the account counts its records from 1; false if all accounts share one sequence. */
  readonly isCountedPerAccount: boolean;
  /** False if a record may leave its list, but is never deleted. */
  readonly isDeletable: boolean;
  /** True if the service can merge two records into one. */
  readonly isMergeable: boolean;
  /** Related data to request with every record. */
  readonly include: readonly string[];
  /**
   * The shortest list, with its filter, that contains a record of the customer with a number. Null
   * if lists embed no more than the answer for a single record.
   */
  readonly listedAt:
    | ((customerNumber: string) => {readonly path: string; readonly query: Query})
    | null;
  readonly table: MirrorTable;
  readonly children: readonly Child[];
  /** Elements that other records contain in full, so they are read there. */
  readonly ignored: readonly string[];
  /** Columns filled from a record embedded in this one: column to [element, field in it]. */
  readonly derived: Readonly<Record<string, readonly [string, string]>>;
  /** The filters of its list, in the order that a window's name uses. */
  readonly filters: Readonly<Record<string, Filter>>;
  /** Windows that the schedules of every account sweep, by name. */
  readonly windows: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Records embedded in a record of a stream, stored in a separate table. */
export interface Child {
  /** Name of the element that contains them. */
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
   * True if they are records of the stream itself, such as the sub-customers inside a customer. The
   * list contains most of them in full, too: here they only add records that appear nowhere else,
   * and change none.
   */
  readonly isOfStream?: boolean;
  /** True if a path below the record lists them: /jobs/7/notes.xml. */
  readonly hasPath?: boolean;
}

/** The column of an owned child's table that names its parent. @throws {TypeError} none does */
export function findParentColumn({table, parentColumns}: Child): string {
  const [column] = Object.keys(parentColumns);
  if (column === undefined)
    throw new TypeError(`${table.name}: owned by a parent, but no column names it`);
  return column;
}

/** The tables of children that exist only in records of a stream. */
export function listOwnedTables({children}: Stream): OwnedTable[] {
  return children
    .filter(({isOwned}) => isOwned)
    .map((child) => ({table: child.table, parentColumn: findParentColumn(child)}));
}

/** The subject of a writing request: the root element of its document. */
export type Resource =
  | 'customer'
  | 'job'
  | 'job_charge'
  | 'employee'
  | 'time_entry'
  | 'task'
  | 'note';

/**
 * How one warehouse table is written back. The table itself names the fields. Nothing here goes
 * beyond the specification, so that a change that the service cannot make is refused when it is
 * requested. all.ts lists all writes.
 */
export interface Writes {
  readonly table: MirrorTable;
  /** Root element of its documents. */
  readonly resource: Resource;
  /**
   * The stream whose record is read to check the result of a write: its own, or that of its parent.
   */
  readonly stream: StreamName;
  readonly operations: readonly ChangeOperation[];
  /** The next step for an author who requests another operation. */
  readonly hint?: string;
  /** The column that identifies a record in paths. */
  readonly key: string;
  /** The parent of a new record: `/customers/7/jobs.xml`. */
  readonly parent: {readonly table: 'customers' | 'jobs'; readonly numberColumn: string} | null;
  /** The list that new ones are posted to, relative to the parent or to the account: `notes`. */
  readonly list: string;
  /** Whether paths to one record contain the parent, too: `/jobs/7/notes/12.xml`. */
  readonly isNested: boolean;
  /** How its documents write a time; null if they have none. */
  readonly timeShape: TimeShape | null;
}

/**
 * The spans of time by which lists of jobs and tasks can be filtered. @see docs/service.md
 * "Filters"
 */
export const spans: Filter = [
  ...['today', 'tomorrow', 'yesterday'],
  ...['this_week', 'next_week', 'last_week'],
  ...['this_month', 'next_month', 'last_month'],
];

/**
 * The window that lets everything through. It takes one pass, a full sweep two or more: it reads an
 * unfiltered list again at half the requests, and proves nothing.
 */
export const wholeList = 'whole_list';

/** The query of a window. */
export type Window = Readonly<Record<string, string>>;

/** The windows of a stream that a word names. */
export function listWindows({
  windows,
  filters,
}: Pick<Stream, 'windows' | 'filters'>): Record<string, Window> {
  const namedWindows = Object.entries(filters).flatMap(([filter, values]) =>
    typeof values === 'string' || values.includes('true')
      ? []
      : values.map((value) => [value, {[filter]: value}] as const),
  );
  return {...Object.fromEntries(namedWindows), ...windows};
}

/**
 * The query of a window's name, as stored in sync.schedules and sync.sweeps.
 * @throws {UsageError} the stream has no such window, no such filter, or the filter does not accept
 *   the value
 */
export function readWindow(stream: Stream, name: string): Window {
  return toWindow(
    stream,
    name.split('&').map((term) => decodeURIComponent(term.replaceAll('+', ' '))),
  );
}

/**
 * The only name of a window.
 * @param terms - words, and filters as `name=value`
 * @throws {UsageError} as `readWindow`
 */
export function nameWindow(stream: Stream, terms: readonly string[]): string {
  const window = toWindow(stream, terms);
  const query = Object.keys(stream.filters).flatMap((filter): [string, string][] => {
    const value = window[filter];
    return value === undefined ? [] : [[filter, value]];
  });
  const [first, ...otherFilters] = query;
  if (first === undefined) return wholeList;
  const windowEntries = Object.entries(listWindows(stream));
  const name = windowEntries.find(([, {[first[0]]: value}]) => value === first[1])?.[0];
  if (name !== undefined && otherFilters.length === 0) return name;
  return new URLSearchParams(query).toString();
}

function toWindow(stream: Stream, terms: readonly string[]): Window {
  const window: Record<string, string> = {};
  for (const [filter, value] of terms.flatMap((term) => Object.entries(readTerm(stream, term)))) {
    const existingValue = window[filter];
    if (existingValue !== undefined && existingValue !== value)
      throw new UsageError(
        `${stream.name}, filter ${filter}: expected it once, ` +
          `got ${JSON.stringify(existingValue)} and ${JSON.stringify(value)}`,
      );
    window[filter] = value;
  }
  return window;
}

function readTerm(stream: Stream, term: string): Window {
  const equalsIndex = term.indexOf('=');
  if (equalsIndex !== -1)
    return readFilter(stream, {
      name: term.slice(0, equalsIndex),
      value: term.slice(equalsIndex + 1),
    });
  if (term === wholeList) return {};
  const windows = listWindows(stream);
  if (Object.hasOwn(windows, term)) return windows[term] ?? {};
  const names = [...Object.keys(windows), wholeList];
  const filters = Object.keys(stream.filters);
  const choice = `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`;
  const hint =
    filters.length > 0 ? `; its filters are ${filters.join(', ')}: --filter ${filters[0]}=…` : '';
  throw new UsageError(
    `${stream.name} has no window ${JSON.stringify(term)}${nearest(term, names)}; ${choice}${hint}`,
  );
}

function readFilter(
  {name: stream, filters}: Stream,
  {name, value}: {readonly name: string; readonly value: string},
): Window {
  const names = Object.keys(filters);
  const accepted = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (accepted === undefined) {
    const available = names.length > 0 ? `there are ${names.join(', ')}` : 'it has none';
    throw new UsageError(
      `${stream} has no filter ${JSON.stringify(name)}${nearest(name, names)}; ${available}`,
    );
  }
  const got = `got ${JSON.stringify(value)}`;
  const subject = `${stream}, filter ${name}`;
  if (typeof accepted !== 'string' && !accepted.includes(value))
    throw new UsageError(
      `${subject}: expected one of ${accepted.join(', ')}, ${got}${nearest(value, accepted)}`,
    );
  if (accepted === 'number' && !isId(value))
    throw new UsageError(`${subject}: expected a number, ${got}`);
  if (value === '') throw new UsageError(`${subject}: expected a text, got none`);
  return {[name]: value};
}
