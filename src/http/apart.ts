// Splits the lines of a request into parts that may be made at the same time, each in a separate
// transaction: no two parts have a record in common. Lines that may share a record stay in one
// part, in their order.

import {findWrites} from '../streams/all.ts';
import type {ChangeRequest} from './change-request.ts';
import {HttpProblem} from './problem.ts';

interface Line {
  readonly request: ChangeRequest | HttpProblem;
}

/**
 * Splits the first lines into parts that may be made side by side.
 * @param most - lines of one part
 * @returns one or two parts, none of them empty: together they are the first lines, and each part
 *   keeps their order
 */
export function splitApart<Of extends Line>(lines: readonly Of[], most: number): Of[][] {
  for (let count = Math.min(lines.length, 2 * most); count > most; ) {
    const [one, other] = halve(lines.slice(0, count));
    if (other.length <= most) return [one, other];
    count -= other.length - most;
  }
  return [lines.slice(0, most)];
}

/** Groups fill the first half in their order, so that lines of one kind stay next to each other. */
function halve<Of extends Line>(lines: readonly Of[]): readonly [Of[], Of[]] {
  const first = new Set<number>();
  for (const group of groupsOf(lines))
    if (first.size + group.length <= lines.length / 2) for (const place of group) first.add(place);
  return [
    lines.filter((_, place) => first.has(place)),
    lines.filter((_, place) => !first.has(place)),
  ];
}

/** The places of lines that have a record in common, in order of the first line of each group. */
function groupsOf(lines: readonly Line[]): (readonly number[])[] {
  const groups = new Map<string, {readonly places: number[]; readonly names: string[]}>();
  for (const [place, own] of listNames(lines).entries()) {
    const met = [...new Set(own.flatMap((name) => groups.get(name) ?? []))];
    const names = [...new Set([...met.flatMap((group) => group.names), ...own])];
    const joined = {names, places: [...met.flatMap(({places}) => places), place]};
    for (const name of names) groups.set(name, joined);
  }
  return [...new Set(groups.values())].map(({places}) => places);
}

/**
 * For each line, the names of the records that it may have in common with others. Several lines may
 * read one parent at the same time: a parent counts only if a line writes it.
 */
function listNames(lines: readonly Line[]): string[][] {
  const requests = lines.map(({request}) => (request instanceof HttpProblem ? null : request));
  const named = requests.map((request) => (request === null ? [] : listNamed(request)));
  const all = named.flat();
  const ways = new Map<string, Set<string>>();
  for (const {table, by} of all) ways.set(table, (ways.get(table) ?? new Set()).add(by));
  // A delete also removes the records that hang on its record, and their lines do not name it.
  const isApart = ways.size < 2 || requests.every((one) => one?.operation !== 'delete');
  const toName = ({table, value}: Named) => {
    if (!isApart) return '';
    // A record that one line names by its number may be the one that another names by its key.
    return JSON.stringify(ways.get(table)?.size === 1 ? [table, value] : [table]);
  };
  const written = new Set(all.filter(({isWritten}) => isWritten).map(toName));
  return named.map((records, place) => {
    const names = records.map(toName).filter((name) => written.has(name));
    // A line that cannot be read has no record: it is a group alone.
    return names.length > 0 ? names : [`line ${place}`];
  });
}

interface Named {
  readonly table: string;
  readonly by: string;
  readonly value: string | null;
  /** False for the parent of a new row. */
  readonly isWritten: boolean;
}

function listNamed({table, parent = {}, ...own}: ChangeRequest): Named[] {
  const above = findWrites(table).parent?.table ?? table;
  return [
    ...listReferences(own).map((one) => ({...one, table, isWritten: true})),
    ...listReferences(parent).map((one) => ({...one, table: above, isWritten: false})),
  ];
}

type References = Pick<ChangeRequest, 'number' | 'row_id' | 'external_key'>;

function listReferences({number, row_id, external_key}: References) {
  return Object.entries({number, row_id, external_key}).flatMap(([by, value]) =>
    value === undefined ? [] : [{by, value}],
  );
}
