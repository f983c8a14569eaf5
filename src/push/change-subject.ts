import {
  type KnownSubject,
  type Parent,
  parentInPath,
  type Subject,
} from '../changes/compose-request.ts';
import {readParentNumbers} from '../rows/held-numbers.ts';
import {readMadeAgoMs} from '../rows/recent-writes.ts';
import type {Writes} from '../streams/stream.ts';
import type {PushRun} from './push-run.ts';

/** The subject of a change, as paths know it; null while one of its numbers is unknown. */
export async function readSubject(run: PushRun): Promise<Subject | null> {
  const {operation, number} = run.change;
  const place = parentInPath(run.writes, operation);
  const parent = place === null ? null : await readParent(run, place);
  if (place !== null && parent === null) return null;
  if (operation === 'create') return {operation, parent};
  return number === null ? null : {operation, number, parent};
}

async function readParent(
  {deps, change, writes}: PushRun,
  {table: parent, numberColumn}: NonNullable<Writes['parent']>,
): Promise<Parent | null> {
  const {changeId} = change;
  const nesting = {table: writes.table.name, parent, numberColumn};
  const number = (await readParentNumbers(deps.pool, [changeId], [nesting])).get(changeId);
  return number === undefined ? null : {table: parent, number};
}

/** The number of the record that shows the change's fate: its own, or that of its parent. */
export function remoteNumberOf({number, parent}: KnownSubject): string {
  return parent?.number ?? number;
}

/**
 * How long ago the record that shows the change's fate was made here, in milliseconds; null where
 * that is no short while. A reading that does not find it may be older than its creation.
 */
export async function readMadeAgo(
  {deps, change, writes}: PushRun,
  subject: KnownSubject,
): Promise<number | null> {
  const {accountId} = change;
  const table = subject.parent?.table ?? writes.table.name;
  const number = remoteNumberOf(subject);
  return (
    (await readMadeAgoMs(deps.pool, {accountId, table, numbers: [number]})).get(number) ?? null
  );
}

/**
 * The number of the record that shows what a create has made; null where the number of its parent
 * is unknown.
 */
export function remoteNumberOfCreated(
  {writes}: Pick<PushRun, 'writes'>,
  subject: Subject | null,
  created: string,
): string | null {
  return writes.isNested ? (subject?.parent?.number ?? null) : created;
}
