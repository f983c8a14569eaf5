import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/nearest.ts';
import {customers, customerWrites} from './customers.ts';
import {employees, employeeWrites} from './employees.ts';
import {jobChargeWrites} from './job-charges.ts';
import {jobs, jobWrites} from './jobs.ts';
import type {MirrorTable} from './mirror-table.ts';
import {customerNoteWrites, jobNoteWrites} from './notes.ts';
import type {Stream} from './stream.ts';
import {tasks, taskWrites} from './tasks.ts';
import {timeEntryWrites} from './time-entries.ts';
import type {Writes} from './writes.ts';

/** Every stream, in the order to sweep them: a stream that others point at comes before them. */
export const allStreams: readonly Stream[] = [employees, customers, jobs, tasks];

/** The stream of a name, as the program or a person gives it. @throws {UsageError} there is none */
export function findStream(name: string): Stream {
  const stream = allStreams.find((candidate) => candidate.name === name);
  if (stream !== undefined) return stream;
  const known = allStreams.map((candidate) => candidate.name);
  throw new UsageError(
    `no stream ${JSON.stringify(name)}${nearest(name, known)}; there are ${known.join(', ')}`,
  );
}

/**
 * The tables whose rows name records of a stream by their number, and come with other records:
 * witnesses of what a list leaves out. None where numbers are not the account's own.
 */
export function tablesThatName({
  table,
  key,
  isCountedPerAccount,
  children,
}: Stream): readonly MirrorTable[] {
  if (!isCountedPerAccount) return [];
  const tables = allStreams.flatMap((each) => [
    each.table,
    ...each.children.map((child) => child.table),
  ]);
  const own = new Set([
    table,
    ...children.filter(({isOwned}) => isOwned).map((child) => child.table),
  ]);
  return [...new Set(tables)].filter(
    (each) => !own.has(each) && each.columns.some(({name}) => name === key),
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
