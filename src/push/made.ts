// What the service made of a change: the columns that differ between the readings of its record
// before and after the request. What somebody else did before is in both. Pure.

import type {Row} from '../streams/table.ts';
import {type ChangeFacts, elementOf, type Remote} from './facts.ts';

/**
 * By table the columns that the request changed; `all` of a create, whose record was read at once.
 * The feed names the change as the cause of these, and of no others: sync.cause_of.
 */
export type Made = Readonly<Record<string, readonly string[]>> | 'all';

type Place = Pick<ChangeFacts, 'writes' | 'stream'>;

/** @param number - of the change's own row: of the record itself, or of a note of it */
export function listMade(place: Place, number: string, before: Remote, after: Remote): Made {
  const {stream, writes} = place;
  const unsaid = new Set([...before.unsaid, ...after.unsaid]);
  const ofRecord = listChanged(stream.table.columns, before.row, after.row);
  const made = {[stream.table.name]: ofRecord.filter((name) => !unsaid.has(name))};
  const element = elementOf(place);
  if (element === null) return made;
  const [was, became] = [before, after].map(({children}) =>
    children.find((child) => child.element === element)?.rows.find(({key}) => key === number),
  );
  if (was === undefined || became === undefined) return made;
  return {...made, [writes.table.name]: listChanged(writes.table.columns, was, became)};
}

function listChanged(
  columns: readonly {readonly name: string}[],
  before: Row,
  after: Row,
): string[] {
  const names = columns.flatMap(({name}, at) =>
    before.values[at] === after.values[at] ? [] : [name],
  );
  return before.attributes === after.attributes ? names : [...names, 'extra'];
}
