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
 * @param partSize - lines of one part
 * @returns one or two parts, none of them empty: together they are the first lines, and each part
 *   keeps their order
 */
export function splitIntoIndependentParts<AnyLine extends Line>(
  lines: readonly AnyLine[],
  partSize: number,
): AnyLine[][] {
  for (let count = Math.min(lines.length, 2 * partSize); count > partSize; ) {
    const [firstPart, secondPart] = halve(lines.slice(0, count));
    if (secondPart.length <= partSize) return [firstPart, secondPart];
    count -= secondPart.length - partSize;
  }
  return [lines.slice(0, partSize)];
}

/** Groups fill the first half in their order, so that lines of one kind stay next to each other. */
function halve<AnyLine extends Line>(lines: readonly AnyLine[]): readonly [AnyLine[], AnyLine[]] {
  const firstHalf = new Set<number>();
  for (const group of groupLines(lines))
    if (firstHalf.size + group.length <= lines.length / 2)
      for (const index of group) firstHalf.add(index);
  return [
    lines.filter((_, index) => firstHalf.has(index)),
    lines.filter((_, index) => !firstHalf.has(index)),
  ];
}

/** The places of lines that have a record in common, in order of the first line of each group. */
function groupLines(lines: readonly Line[]): (readonly number[])[] {
  const groups = new Map<string, {readonly places: number[]; readonly names: string[]}>();
  for (const [index, ownNames] of listNames(lines).entries()) {
    const sharedGroups = [...new Set(ownNames.flatMap((name) => groups.get(name) ?? []))];
    const names = [...new Set([...sharedGroups.flatMap((group) => group.names), ...ownNames])];
    const mergedGroup = {names, places: [...sharedGroups.flatMap(({places}) => places), index]};
    for (const name of names) groups.set(name, mergedGroup);
  }
  return [...new Set(groups.values())].map(({places}) => places);
}

/**
 * For each line, the names of the records that it may have in common with others. Several lines may
 * read one parent at the same time: a parent counts only if a line writes it.
 */
function listNames(lines: readonly Line[]): string[][] {
  const requests = lines.map(({request}) => (request instanceof HttpProblem ? null : request));
  const recordsByLine = requests.map((request) => (request === null ? [] : listRecords(request)));
  const allRecords = recordsByLine.flat();
  const referenceKinds = new Map<string, Set<string>>();
  for (const {table, by} of allRecords)
    referenceKinds.set(table, (referenceKinds.get(table) ?? new Set()).add(by));
  // A delete also removes the records that hang on its record, and their lines do not name it.
  const hasDistinctNames =
    referenceKinds.size < 2 || requests.every((request) => request?.operation !== 'delete');
  const toName = ({table, value}: NamedRecord) => {
    if (!hasDistinctNames) return '';
    // A record that one line names by its number may be the one that another names by its key.
    return JSON.stringify(referenceKinds.get(table)?.size === 1 ? [table, value] : [table]);
  };
  const writtenNames = new Set(allRecords.filter(({isWritten}) => isWritten).map(toName));
  return recordsByLine.map((records, index) => {
    const names = records.map(toName).filter((name) => writtenNames.has(name));
    // A line that cannot be read has no record: it is a group alone.
    return names.length > 0 ? names : [`line ${index}`];
  });
}

interface NamedRecord {
  readonly table: string;
  readonly by: string;
  readonly value: string | null;
  /** False for the parent of a new row. */
  readonly isWritten: boolean;
}

function listRecords({table, parent = {}, ...ownReference}: ChangeRequest): NamedRecord[] {
  const parentTable = findWrites(table).parent?.table ?? table;
  return [
    ...listReferences(ownReference).map((reference) => ({...reference, table, isWritten: true})),
    ...listReferences(parent).map((reference) => ({
      ...reference,
      table: parentTable,
      isWritten: false,
    })),
  ];
}

type References = Pick<ChangeRequest, 'number' | 'row_id' | 'external_key'>;

function listReferences({number, row_id, external_key}: References) {
  return Object.entries({number, row_id, external_key}).flatMap(([by, value]) =>
    value === undefined ? [] : [{by, value}],
  );
}
