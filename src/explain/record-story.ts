// The whole story of a record at a moment: its values with their origins, every version, its parts,
// and the records that it points at. The same story without personal data.

import {listOpenChanges, type OpenChange} from '../changes/change.ts';
import type {Queryable} from '../postgres/database.ts';
import {type RowPart, readNamed, readParts} from '../rows/find-rows.ts';
import {listPromoted} from '../star/fields.ts';
import {allStreams, findStream, isPersonal} from '../streams/all.ts';
import {listOwnedTables, type Stream, type StreamName} from '../streams/stream.ts';
import type {ColumnType, MirrorTable} from '../streams/table.ts';
import {type FieldStory, type FoundRecord, type RowEvent, readRowEvents} from './explain-record.ts';
import {
  fieldColumns,
  findOrigin,
  type NumberAnswer,
  readDeletions,
  type Version,
  type Writer,
} from './record-versions.ts';

/** One value of a record, and its origin. */
export interface ExplainedValue {
  readonly field: string;
  readonly value: unknown;
  /**
   * The type of its column; null if the value is stored in `extra`, as text or in its nested form.
   */
  readonly type: ColumnType | null;
  /** The name under which it is a column of mart; null if it was given none. */
  readonly promotedAs: string | null;
  readonly since: string;
  readonly writer: Writer;
  /** The value now, if a past moment is shown and the value differs; otherwise absent. */
  readonly now?: unknown;
}

/** A version as an event: what happened to the record, and the moment at which it can be shown. */
export interface ExplainedVersion extends RowEvent {
  /** Counted from the oldest, from 1. */
  readonly event: number;
}

/** Instants are ISO 8601 in UTC. */
export interface RecordStory {
  readonly stream: string;
  readonly account: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly externalKey: string | null;
  readonly name: string | null;
  /** The past moment that is shown; null: now. */
  readonly at: string | null;
  /** False if there was no row at that moment. */
  readonly isThere: boolean;
  /** Since when it is marked deleted; null if it was not at that moment. */
  readonly deletedSince: string | null;
  /** The answer of the service because of which it was marked deleted. */
  readonly evidence: NumberAnswer | null;
  /**
   * When its row was removed from the warehouse; null if it is there, or a past moment is shown.
   */
  readonly removedAt: string | null;
  /**
   * Values with a column or a name in mart; of empty ones only the names are kept, in
   * `emptyFields`.
   */
  readonly values: readonly ExplainedValue[];
  readonly emptyFields: readonly string[];
  /** Values that no column stores. */
  readonly attributes: readonly ExplainedValue[];
  readonly wanted: readonly OpenChange[];
  readonly pointedAt: readonly PointedAt[];
  readonly parts: readonly ExplainedParts[];
  /**
   * The version that is shown, counted from the oldest, from 1; and when each version began, the
   * oldest first.
   */
  readonly version: number;
  readonly moments: readonly string[];
  /** The newest first. */
  readonly events: readonly ExplainedVersion[];
  /** The position of the next older events; null if there are none. */
  readonly olderFrom: number | null;
}

/** Events that a page shows. */
const eventsAtOnce = 20;

/**
 * Reads the story of a record that was found.
 * @param options.at - ISO 8601 in UTC; null: now
 * @param options.skipped - newer events that are left out
 */
export async function readRecordStory(
  db: Queryable,
  record: FoundRecord,
  options: {readonly at: string | null; readonly skipped: number},
): Promise<RecordStory> {
  const {stream, account, number, versions} = record;
  const [newest] = versions;
  const {accountId} = account;
  const moment = findMoment(versions, options.at);
  const fields = moment.versions?.[0].fields ?? new Map<string, unknown>();
  const recordFields = {accountId, fields};
  const [deletions, openChanges, promoted, parts, pointedAt] = await Promise.all([
    number === null ? [] : readDeletions(db, {accountId, stream: stream.name, number}),
    listOpenChanges(db, {table: stream.table.name, rowId: newest.rowId}),
    listPromoted(db, {accountId, tableName: stream.table.name}),
    readRecordParts(db, stream, {...recordFields, at: options.at}),
    readPointedAt(db, stream, recordFields),
  ]);
  return {
    stream: stream.name,
    account: account.name,
    number,
    rowId: newest.rowId,
    at: options.at,
    externalKey: readText(fields, 'external_key'),
    name: readText(fields, 'name'),
    isThere: moment.versions !== null,
    ...readDeletion(moment.versions, deletions),
    removedAt: options.at === null ? newest.validTo : null,
    ...readValues(record, {versions: moment.versions, promoted}),
    wanted: options.at === null ? openChanges : [],
    pointedAt,
    parts,
    version: moment.version,
    moments: versions.map(({validFrom}) => validFrom).toReversed(),
    ...cutEvents(readRowEvents(versions, deletions), options.skipped),
  };
}

function readDeletion(
  versions: readonly [Version, ...Version[]] | null,
  deletions: readonly NumberAnswer[],
): Pick<RecordStory, 'deletedSince' | 'evidence'> {
  if (versions?.[0].isDeleted !== true) return {deletedSince: null, evidence: null};
  const deletion = readRowEvents(versions, deletions).findLast(({what}) => what === 'deleted');
  return {
    deletedSince: deletion?.at ?? versions[0].validFrom,
    evidence: deletion?.evidence ?? null,
  };
}

function readValues(
  {stream, versions: [newest]}: FoundRecord,
  {
    versions,
    promoted,
  }: {
    readonly versions: readonly [Version, ...Version[]] | null;
    readonly promoted: ReadonlyMap<string, string>;
  },
): Pick<RecordStory, 'values' | 'emptyFields' | 'attributes'> {
  if (versions === null) return {values: [], emptyFields: [], attributes: []};
  const {fields} = versions[0];
  const types = new Map(stream.table.columns.map(({name, type}) => [name, type]));
  const columns = fieldColumns(stream.table);
  const explainValue = (field: string): ExplainedValue => {
    const {value, from, writer} = findOrigin(versions, field);
    const now = newest.fields.get(field) ?? null;
    const isDifferent = newest !== versions[0] && JSON.stringify(now) !== JSON.stringify(value);
    const type = types.get(field) ?? (field === 'external_key' ? 'text' : null);
    const promotedAs = promoted.get(field) ?? null;
    return {field, value, type, promotedAs, since: from, writer, ...(isDifferent ? {now} : {})};
  };
  const namedValues = [...columns, ...promoted.keys()].map(explainValue);
  const isEmpty = (explained: ExplainedValue) =>
    (explained.value === null || explained.value === '') && !('now' in explained);
  const otherFields = [...new Set([...fields.keys(), ...newest.fields.keys()])].filter(
    (field) => !columns.includes(field) && !promoted.has(field),
  );
  return {
    values: namedValues.filter((explained) => !isEmpty(explained)),
    emptyFields: namedValues.filter(isEmpty).map(({field}) => field),
    attributes: otherFields.map(explainValue).filter((explained) => !isEmpty(explained)),
  };
}

function cutEvents(
  events: readonly RowEvent[],
  skipped: number,
): Pick<RecordStory, 'events' | 'olderFrom'> {
  const newestFirst = events.map((event, index) => ({...event, event: index + 1})).toReversed();
  const next = skipped + eventsAtOnce;
  return {
    events: newestFirst.slice(skipped, next),
    olderFrom: next < newestFirst.length ? next : null,
  };
}

function readText(fields: Version['fields'], name: string): string | null {
  const value = fields.get(name);
  return typeof value === 'string' ? value : null;
}

type Versions = readonly [Version, ...Version[]];

/** The moment at which a record is shown. */
interface Moment {
  /** ISO 8601, UTC; null: now. */
  readonly at: string | null;
  /** The version that held then, counted from the oldest, from 1; 0 if there was no row. */
  readonly version: number;
  /** That version and the older ones, the newest first; null if there was no row. */
  readonly versions: Versions | null;
}

/**
 * The state of a record at a moment.
 * @param versions - the newest first
 * @param at - ISO 8601 in UTC; null: now, with a removed row in its last state
 */
export function findMoment(versions: Versions, at: string | null): Moment {
  if (at === null) return {at, version: versions.length, versions};
  const index = versions.findIndex(({validFrom}) => !isAfter(validFrom, at));
  const [newest, ...older] = index === -1 ? [] : versions.slice(index);
  if (newest === undefined || (newest.validTo !== null && !isAfter(newest.validTo, at)))
    return {at, version: 0, versions: null};
  return {at, version: versions.length - index, versions: [newest, ...older]};
}

/**
 * The moment when a version began.
 * @param version - counted from the oldest, from 1; beyond the last: null, which is now
 */
export function momentOf(versions: Versions, version: number): string | null {
  if (version >= versions.length) return null;
  return versions.at(-Math.max(1, version))?.validFrom ?? null;
}

/** Instants of Postgres have up to six decimals of a second, and none if they are zero. */
function isAfter(one: string, other: string): boolean {
  return toSortable(one) > toSortable(other);
}

function toSortable(instant: string): string {
  const [whole = '', fraction = ''] = instant.replace(/Z$/, '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}

/** A part at the shown moment, and how it differs from now. */
export interface ExplainedPart extends RowPart {
  readonly since: string;
  /** Null if it is the same now, or if now is shown. */
  readonly differs: 'changed since' | 'deleted since' | null;
}

/** The parts of one kind. */
export interface ExplainedParts {
  readonly table: string;
  /** The stream that has a page for each of them; null for parts without pages. */
  readonly stream: StreamName | null;
  /** The field that identifies their pages. */
  readonly key: string;
  readonly columns: readonly string[];
  readonly rows: readonly ExplainedPart[];
  /** How many exist now that did not exist at the shown moment. */
  readonly laterCount: number;
  readonly hasMore: boolean;
}

/** A record that this one points at. */
interface PointedAt {
  readonly stream: StreamName;
  readonly number: string;
  readonly name: string | null;
}

/** Parts of one kind that a page shows. */
const partsAtOnce = 50;

/** The fields that distinguish a part from others; the rest is in the warehouse. */
const shownColumns: Readonly<Record<string, readonly string[]>> = {
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

interface PartKind {
  readonly table: MirrorTable;
  /** The column that points at the record, and the record's field that it holds. */
  readonly column: string;
  readonly field: string;
}

/**
 * Records of other streams, and of the same, that point at a record by a column that has an index.
 */
const pointingColumns: Readonly<
  Record<StreamName, readonly (readonly [StreamName, string, string])[]>
> = {
  customers: [
    ['jobs', 'customer_number', 'customer_number'],
    ['customers', 'parent_id', 'id'],
  ],
  jobs: [['tasks', 'job_id', 'id']],
  employees: [],
  tasks: [],
};

const pointedAtColumns: Readonly<
  Record<StreamName, readonly (readonly [StreamName, string, string])[]>
> = {
  customers: [['customers', 'id', 'parent_id']],
  jobs: [['customers', 'customer_number', 'customer_number']],
  employees: [],
  tasks: [
    ['jobs', 'id', 'job_id'],
    ['customers', 'id', 'customer_id'],
    ['employees', 'id', 'employee_id'],
  ],
};

/** The parts of a record and the records that point at it, by kind; empty kinds are left out. */
async function readRecordParts(
  db: Queryable,
  stream: Stream,
  record: {
    readonly accountId: string;
    readonly fields: Version['fields'];
    readonly at: string | null;
  },
): Promise<ExplainedParts[]> {
  const kinds = listPartKinds(stream).flatMap((kind) => {
    const value = record.fields.get(kind.field);
    return typeof value === 'string' ? [{...kind, value}] : [];
  });
  const parts = await Promise.all(kinds.map((kind) => readKind(db, kind, record)));
  return parts.filter(({rows, laterCount}) => rows.length > 0 || laterCount > 0);
}

async function readKind(
  db: Queryable,
  {table, column, value}: PartKind & {readonly value: string},
  {accountId, at}: {readonly accountId: string; readonly at: string | null},
): Promise<ExplainedParts> {
  const columns = shownColumns[table.name] ?? [];
  const query = {accountId, column, value, columns, limit: partsAtOnce + 1};
  const partsNow = await readParts(db, table, {...query, at: null});
  const partsThen = at === null ? partsNow : await readParts(db, table, {...query, at});
  const partNowById = new Map(partsNow.map((part) => [part.rowId, part]));
  const stream = allStreams.find((candidate) => candidate.table.name === table.name);
  const rowIdsThen = new Set(partsThen.map(({rowId}) => rowId));
  return {
    table: table.name,
    stream: stream?.name ?? null,
    key: stream?.key ?? '',
    columns,
    rows: partsThen
      .slice(0, partsAtOnce)
      .map((part) => ({...part, differs: comparePart(part, partNowById.get(part.rowId))})),
    laterCount: partsNow.filter(({rowId, isDeleted}) => !rowIdsThen.has(rowId) && !isDeleted)
      .length,
    hasMore: partsNow.length > partsAtOnce,
  };
}

function comparePart(partThen: RowPart, partNow: RowPart | undefined): ExplainedPart['differs'] {
  if (partNow === undefined || partNow.since === partThen.since) return null;
  return partNow.isDeleted ? 'deleted since' : 'changed since';
}

function listPartKinds(stream: Stream): PartKind[] {
  const ownedKinds = listOwnedTables(stream).map(({table, parentColumn}) => ({
    table,
    column: parentColumn,
    field: stream.key,
  }));
  const pointingKinds = pointingColumns[stream.name].map(([name, column, field]) => ({
    table: findStream(name).table,
    column,
    field,
  }));
  return [...ownedKinds, ...pointingKinds];
}

/** The records that a record points at. */
async function readPointedAt(
  db: Queryable,
  stream: Stream,
  {accountId, fields}: {readonly accountId: string; readonly fields: Version['fields']},
): Promise<PointedAt[]> {
  const recordReads = pointedAtColumns[stream.name].map(async ([name, column, field]) => {
    const value = fields.get(field);
    if (typeof value !== 'string') return [];
    const {table, key} = findStream(name);
    const record = await readNamed(db, table, {accountId, column, value, key});
    if (record === null || record.number === null) return [];
    return [{stream: name, number: record.number, name: record.name}];
  });
  return (await Promise.all(recordReads)).flat();
}

/** The story with personal values replaced; empty ones stay empty. */
export function hideRecord(story: RecordStory, hidden: string): RecordStory {
  const hide = createHide(story.stream, hidden);
  const hideValue = (explained: ExplainedValue): ExplainedValue => ({
    ...explained,
    value: hide(explained.field, explained.value),
    ...('now' in explained ? {now: hide(explained.field, explained.now)} : {}),
  });
  return {
    ...story,
    name: story.name === null ? null : hidden,
    values: story.values.map(hideValue),
    attributes: story.attributes.map(hideValue),
    wanted: story.wanted.map((change) => hideChange(change, hide)),
    pointedAt: story.pointedAt.map((record) => ({
      ...record,
      name: record.name === null ? null : hidden,
    })),
    parts: story.parts.map((parts) => {
      const hidePart = createHide(parts.table, hidden);
      const rows = parts.rows.map((row) => ({...row, fields: hideAll(row.fields, hidePart)}));
      return {...parts, rows};
    }),
    events: story.events.map((event) => ({
      ...event,
      changes: event.changes.map(({field, from, to}) => ({
        field,
        from: hide(field, from),
        to: hide(field, to),
      })),
    })),
  };
}

/** The story of a field of a table with personal values replaced. */
export function hideField(story: FieldStory, table: string, hidden: string): FieldStory {
  const hide = createHide(table, hidden);
  const {field, wanted} = story;
  return {
    ...story,
    value: hide(field, story.value),
    earlier: story.earlier.map((run) => ({...run, value: hide(field, run.value)})),
    wanted:
      wanted === null || wanted.lastSaid === undefined || !isPersonal(table, field)
        ? wanted
        : {...wanted, lastSaid: hidden},
  };
}

type Hide = <Value>(field: string, value: Value) => Value | string;

function createHide(table: string, hidden: string): Hide {
  return (field, value) =>
    value === null || value === undefined || value === '' || !isPersonal(table, field)
      ? value
      : hidden;
}

function hideChange(change: OpenChange, hide: Hide): OpenChange {
  return {...change, fields: hideAll(change.fields, hide), base: hideAll(change.base, hide)};
}

function hideAll<Value>(
  fields: Readonly<Record<string, Value>>,
  hide: Hide,
): Readonly<Record<string, Value | string>> {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, hide(field, value)]),
  );
}
