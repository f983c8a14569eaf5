// What hangs on a record, and what it hangs on: the children of its own stream, and records of
// others that point at it.

import type {Queryable} from '../postgres/database.ts';
import {type Part, readNamed, readParts} from '../rows/parts.ts';
import {allStreams, findStream} from '../streams/all.ts';
import {ownedTablesOf, type Stream, type StreamName} from '../streams/stream.ts';
import type {MirrorTable} from '../streams/table.ts';
import type {Version} from './record-versions.ts';

/** A part at the moment that is looked at, and how it differs from now. */
export interface ToldPart extends Part {
  readonly since: string;
  /** Null where it is the same now, or now is looked at. */
  readonly differs: 'changed since' | 'deleted since' | null;
}

/** The parts of one kind. */
export interface ToldParts {
  readonly table: string;
  /** The stream that has a page for each of them; null for mere parts. */
  readonly stream: StreamName | null;
  /** The field by which their pages are known. */
  readonly key: string;
  readonly columns: readonly string[];
  readonly rows: readonly ToldPart[];
  /** How many there are now that were not there at the moment. */
  readonly laterCount: number;
  readonly hasMore: boolean;
}

/** A record that this one points at. */
export interface PointedAt {
  readonly stream: StreamName;
  readonly number: string;
  readonly name: string | null;
}

/** Parts of one kind that a page shows. */
const most = 50;

/** The fields of a part that tell it from others; the rest is in the warehouse. */
const shown: Readonly<Record<string, readonly string[]>> = {
  customers: ['customer_number', 'name', 'phone_number'],
  jobs: ['job_number', 'name', 'status', 'scheduled_on', 'total'],
  tasks: ['id', 'name', 'scheduled_at', 'completed'],
  contacts: ['name', 'title', 'phone_number', 'email_address'],
  customer_notes: ['note', 'created_at'],
  job_employees: ['employee_number', 'name'],
  job_charges: ['description', 'quantity', 'price_per_unit', 'total'],
  time_entries: ['employee_id', 'started_on', 'ended_on', 'number_of_hours', 'note'],
  job_notes: ['note', 'public', 'created_at'],
};

interface Kind {
  readonly table: MirrorTable;
  /** The column that points at the record, and the record's field that it holds. */
  readonly column: string;
  readonly field: string;
}

/**
 * Records of other streams, and of the same, that point at a record by a column that has an index.
 */
const pointing: Readonly<Record<StreamName, readonly (readonly [StreamName, string, string])[]>> = {
  customers: [
    ['jobs', 'customer_number', 'customer_number'],
    ['customers', 'parent_id', 'id'],
  ],
  jobs: [['tasks', 'job_id', 'id']],
  employees: [],
  tasks: [],
};

const pointedAt: Readonly<Record<StreamName, readonly (readonly [StreamName, string, string])[]>> =
  {
    customers: [['customers', 'id', 'parent_id']],
    jobs: [['customers', 'customer_number', 'customer_number']],
    employees: [],
    tasks: [
      ['jobs', 'id', 'job_id'],
      ['customers', 'id', 'customer_id'],
      ['employees', 'id', 'employee_id'],
    ],
  };

/**
 * Everything that hangs on a record, kind by kind; kinds of which there is nothing are left out.
 */
export async function readRecordParts(
  db: Queryable,
  stream: Stream,
  record: {
    readonly accountId: string;
    readonly fields: Version['fields'];
    readonly at: string | null;
  },
): Promise<ToldParts[]> {
  const kinds = kindsOf(stream).flatMap((kind) => {
    const value = record.fields.get(kind.field);
    return typeof value === 'string' ? [{...kind, value}] : [];
  });
  const told = await Promise.all(kinds.map((kind) => readKind(db, kind, record)));
  return told.filter(({rows, laterCount}) => rows.length > 0 || laterCount > 0);
}

async function readKind(
  db: Queryable,
  {table, column, value}: Kind & {readonly value: string},
  {accountId, at}: {readonly accountId: string; readonly at: string | null},
): Promise<ToldParts> {
  const columns = shown[table.name] ?? [];
  const asked = {accountId, column, value, columns, limit: most + 1};
  const now = await readParts(db, table, {...asked, at: null});
  const then = at === null ? now : await readParts(db, table, {...asked, at});
  const nowOf = new Map(now.map((part) => [part.rowId, part]));
  const stream = allStreams.find((candidate) => candidate.table.name === table.name);
  const known = new Set(then.map(({rowId}) => rowId));
  return {
    table: table.name,
    stream: stream?.name ?? null,
    key: stream?.key ?? '',
    columns,
    rows: then
      .slice(0, most)
      .map((part) => ({...part, differs: compare(part, nowOf.get(part.rowId))})),
    laterCount: now.filter(({rowId, isDeleted}) => !known.has(rowId) && !isDeleted).length,
    hasMore: now.length > most,
  };
}

function compare(then: Part, now: Part | undefined): ToldPart['differs'] {
  if (now === undefined || now.since === then.since) return null;
  return now.isDeleted ? 'deleted since' : 'changed since';
}

function kindsOf(stream: Stream): Kind[] {
  const owned = ownedTablesOf(stream).map(({table, parentColumn}) => ({
    table,
    column: parentColumn,
    field: stream.key,
  }));
  const others = pointing[stream.name].map(([name, column, field]) => ({
    table: findStream(name).table,
    column,
    field,
  }));
  return [...owned, ...others];
}

/** The records that a record points at. */
export async function readPointedAt(
  db: Queryable,
  stream: Stream,
  {accountId, fields}: {readonly accountId: string; readonly fields: Version['fields']},
): Promise<PointedAt[]> {
  const found = pointedAt[stream.name].map(async ([name, column, field]) => {
    const value = fields.get(field);
    if (typeof value !== 'string') return [];
    const {table, key} = findStream(name);
    const record = await readNamed(db, table, {accountId, column, value, key});
    if (record === null || record.number === null) return [];
    return [{stream: name, number: record.number, name: record.name}];
  });
  return (await Promise.all(found)).flat();
}
