import {allStreams, allWrites} from './all.ts';
import {jobEmployees} from './job-employees.ts';
import type {MirrorTable} from './mirror-table.ts';
import {personalColumnsOf} from './personal-columns.ts';
import {parentColumnOf} from './stream.ts';
import type {Capture, Origin, WarehouseTable} from './warehouse-table.ts';

/** An assignment is no record of its own: it is written with its job. */
const assignments: Capture = {
  key: 'job_number',
  operations: ['create', 'delete'],
  parent: {table: 'jobs', numberColumn: 'job_number'},
  hint: 'DELETE the row, and INSERT another.',
};

const unwritable: Capture = {
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
  personal: personalColumnsOf(table),
}));

function findOrigin(table: MirrorTable): Origin {
  const places = allStreams.flatMap((stream) =>
    stream.children
      .filter((child) => child.table === table && child.isOfStream !== true)
      .map((child) => ({stream, child})),
  );
  const owned = places.find(({child}) => child.isOwned);
  return {
    embeddedIn: places.map(({stream}) => stream.name),
    parentColumn: owned === undefined ? null : parentColumnOf(owned.child),
  };
}

function findCapture(table: MirrorTable): Capture {
  if (table === jobEmployees) return assignments;
  const writes = allWrites.find((candidate) => candidate.table === table);
  if (writes === undefined) return unwritable;
  const {key, operations, parent, hint = ''} = writes;
  return {key, operations, parent, hint};
}
