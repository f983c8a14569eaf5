// Every stream, the writes of its tables, and every warehouse table. Some values are hidden from
// users who may not see personal data. A text may name a person. So all texts are hidden except
// those with only a few possible values, and so is every field without a column.

import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {customerNoteWrites, customers, customerWrites} from './customers.ts';
import {
  jobChargeWrites,
  jobEmployees,
  jobNoteWrites,
  jobs,
  jobWrites,
  timeEntryWrites,
} from './jobs.ts';
import {findParentColumn, type Stream, type Writes} from './stream.ts';
import type {Capture, ColumnType, MirrorTable, Origin, WarehouseTable} from './table.ts';
import {employees, employeeWrites, tasks, taskWrites} from './team.ts';

/** Every stream, in the order to sweep them: a stream that others reference comes before them. */
export const allStreams: readonly Stream[] = [employees, customers, jobs, tasks];

/** The stream with a name that the program or a person gives. @throws {UsageError} there is none */
export function findStream(name: string): Stream {
  const stream = allStreams.find((candidate) => candidate.name === name);
  if (stream !== undefined) return stream;
  const names = allStreams.map((candidate) => candidate.name);
  throw new UsageError(
    `no stream ${JSON.stringify(name)}${nearest(name, names)}; there are ${names.join(', ')}`,
  );
}

/**
 * The tables whose rows name records of a stream by their number, and come with other records: they
 * show records that a list leaves out. None if numbers are not counted per account.
 */
export function listReferencingTables({
  table,
  key,
  isCountedPerAccount,
  children,
}: Stream): readonly MirrorTable[] {
  if (!isCountedPerAccount) return [];
  const tables = allStreams.flatMap((stream) => [
    stream.table,
    ...stream.children.map((child) => child.table),
  ]);
  const ownTables = new Set([
    table,
    ...children.filter(({isOwned}) => isOwned).map((child) => child.table),
  ]);
  return [...new Set(tables)].filter(
    (candidate) => !ownTables.has(candidate) && candidate.columns.some(({name}) => name === key),
  );
}

/** The writes of every table that can be written back. */
export const allWrites: readonly Writes[] = [
  customerWrites,
  customerNoteWrites,
  jobWrites,
  jobNoteWrites,
  timeEntryWrites,
  jobChargeWrites,
  employeeWrites,
  taskWrites,
];

/** The writes of one table. @throws {TypeError} it has none */
export function findWrites(table: string): Writes {
  const writes = allWrites.find((candidate) => candidate.table.name === table);
  if (writes === undefined) throw new TypeError(`${table}: nothing of it can be written back`);
  return writes;
}

/** Texts that describe the state of a record, not a person. */
const plainTexts: ReadonlySet<string> = new Set([
  'status',
  'invoice_status',
  'invoice_terms',
  'estimate_type',
  'estimate_terms',
  'recurring_interval',
  'which_billing_address',
  'origin',
  'delivery_method',
  'noteable_type',
  'external_key',
]);

/** An assignment is not a separate record: it is written with its job. */
const assignmentCapture: Capture = {
  key: 'job_number',
  operations: ['create', 'delete'],
  parent: {table: 'jobs', numberColumn: 'job_number'},
  hint: 'DELETE the row, and INSERT another.',
};

const noCapture: Capture = {
  key: 'id',
  operations: [],
  parent: null,
  hint: 'The service has no way to write it: change it in the service itself.',
};

/** Every warehouse table once: those of the streams and those of their children. */
export const allTables: readonly WarehouseTable[] = [
  ...new Set(
    allStreams.flatMap((stream) => [stream.table, ...stream.children.map((child) => child.table)]),
  ),
].map((table) => ({
  ...table,
  origin: findOrigin(table),
  capture: findCapture(table),
  personal: listPersonalColumns(table),
}));

function findOrigin(table: MirrorTable): Origin {
  const embeddings = allStreams.flatMap((stream) =>
    stream.children
      .filter((child) => child.table === table && child.isOfStream !== true)
      .map((child) => ({stream, child})),
  );
  const ownedEmbedding = embeddings.find(({child}) => child.isOwned);
  return {
    embeddedIn: embeddings.map(({stream}) => stream.name),
    parentColumn: ownedEmbedding === undefined ? null : findParentColumn(ownedEmbedding.child),
  };
}

function findCapture(table: MirrorTable): Capture {
  if (table === jobEmployees) return assignmentCapture;
  const writes = allWrites.find((candidate) => candidate.table === table);
  if (writes === undefined) return noCapture;
  const {key, operations, parent, hint = ''} = writes;
  return {key, operations, parent, hint};
}

/**
 * Whether a value may identify a person, or how to reach them.
 * @param type - undefined if the field has no column
 */
function mayIdentifyPerson(field: string, type: ColumnType | undefined): boolean {
  if (plainTexts.has(field)) return false;
  return type === undefined || type === 'text' || type === 'nested' || type === 'float';
}

/**
 * The columns of a table whose values may identify a person; `extra` contains every field without a
 * column.
 */
function listPersonalColumns(table: MirrorTable): readonly string[] {
  return [
    ...table.columns.filter(({name, type}) => mayIdentifyPerson(name, type)).map(({name}) => name),
    'extra',
  ];
}

/** Whether the values of a field may identify a person, or how to reach them. */
export function isPersonal(table: string, field: string): boolean {
  const columns = allTables.find(({name}) => name === table)?.columns ?? [];
  return mayIdentifyPerson(field, columns.find(({name}) => name === field)?.type);
}
