import {UsageError} from '../errors.ts';
import type {MirrorTable} from '../warehouse/mirror-table.ts';
import {customers} from './customers.ts';
import {employees} from './employees.ts';
import {jobs} from './jobs.ts';
import type {Stream} from './stream.ts';
import {tasks} from './tasks.ts';

/** Every stream, in the order to sweep them: what others point at comes first. */
export const allStreams: readonly Stream[] = [employees, customers, jobs, tasks];

/** Every warehouse table once: those of the streams and those of their children. */
export const allTables: readonly MirrorTable[] = [
  ...new Set(allStreams.flatMap((stream) => [stream.table, ...stream.children.map((child) => child.table)])),
];

/** The stream of a name. @throws {UsageError} there is none */
export function findStream(name: string): Stream {
  const stream = allStreams.find((candidate) => candidate.name === name);
  if (stream !== undefined) return stream;
  const names = allStreams.map((candidate) => candidate.name).join(', ');
  throw new UsageError(`stream: expected one of ${names}, got ${JSON.stringify(name)}`);
}
