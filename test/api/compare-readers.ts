// The strict reader decides what is taken: the quick one may step aside, and must never read
// another thing.

import {isDeepStrictEqual} from 'node:util';
import {SeenElements} from '../../src/api/value-types.ts';
import {DEFAULT_LIMITS, type FieldRecord} from '../../src/api/xml-document.ts';
import {readQuickly, readRecordQuickly} from '../../src/api/xml-read.ts';
import {readList, readOne} from '../../src/api/xml-strict.ts';
import {makeFixture, mutate} from './mutated-page.ts';

const pieces = [
  ' type="integer"',
  ' nil="false"',
  '&#13;',
  '&nbsp;',
  'é',
  '😀',
  '\uffff',
  '\t\n ',
  '  ',
  '7',
];

export const names = {list: 'jobs', item: 'job'};

/** How many documents the quick reader read, and how many sound ones it left to the strict one. */
export interface Tally {
  taken: number;
  leftSound: number;
}

/**
 * A quick reader, and the strict one that judges it: the records of a document, and the fields that
 * they were seen to hold.
 */
interface Pair {
  readonly makeFixture: (dialect: 'observed' | 'documented') => string;
  /** Null where it steps aside. */
  readonly quick: (body: Buffer, seen: SeenElements) => FieldRecord[] | null;
  readonly strict: (
    body: Buffer,
    seen: SeenElements,
  ) => {records: FieldRecord[]; bad: readonly unknown[]};
}

const pairs = {
  list: {
    makeFixture,
    quick: (body, seen) => readQuickly(body, names, {limits: DEFAULT_LIMITS, seen}),
    strict: (body, seen) => readList(body, names, {seen}),
  },
  record: {
    makeFixture: (dialect) => onlyRecord(makeFixture(dialect)),
    quick: (body, seen) => {
      const record = readRecordQuickly(body, names, {limits: DEFAULT_LIMITS, seen});
      return record === null ? null : [record];
    },
    strict: (body, seen) => ({records: [readOne(body, names, {seen})], bad: []}),
  },
} as const satisfies Readonly<Record<string, Pair>>;

/** The first job of a page as a document of its own. */
export function onlyRecord(page: string): string {
  return page.replace(/<jobs[^>]*>\s*(<job>[\s\S]*?<\/job>)[\s\S]*<\/jobs>/, '$1');
}

/**
 * Reads mutated documents with both readers.
 * @param kind - pages, or single records
 * @param seeds - one document for each, in both dialects
 * @throws what the readers do not agree on, with its seed
 */
export function compareReaders(kind: keyof typeof pairs, seeds: Iterable<number>): Tally {
  const tally = {taken: 0, leftSound: 0};
  const pair = pairs[kind];
  const fixtures = (['observed', 'documented'] as const).map((dialect) =>
    pair.makeFixture(dialect),
  );
  for (const seed of seeds) {
    for (const fixture of fixtures)
      compare(pair, Buffer.from(mutate(fixture, seed, pieces)), {seed, tally});
  }
  return tally;
}

/** Reads one document with both readers. @throws where they do not agree */
function compare(pair: Pair, body: Buffer, {seed, tally}: {seed: number; tally: Tally}): void {
  const seen = new SeenElements();
  const quick = pair.quick(body, seen);
  const strict = readStrictly(pair, body);
  if (quick === null) {
    if (strict?.bad === 0) tally.leftSound++;
    return;
  }
  tally.taken++;
  const read = {records: quick, bad: 0, fields: listFields(seen)};
  if (!isDeepStrictEqual(read, strict))
    throw new Error(`seed ${seed}: the strict reader reads another thing:\n${body}`);
}

function readStrictly({strict}: Pair, body: Buffer) {
  const seen = new SeenElements();
  try {
    const {records, bad} = strict(body, seen);
    return {records, bad: bad.length, fields: listFields(seen)};
  } catch {
    return null;
  }
}

/**
 * The fields of a document by kind of element, with the types that they came as. A kind stands
 * twice where its shapes were forgotten in the middle of the document: here it stands once.
 */
function listFields(seen: SeenElements): Map<string, readonly number[]> {
  const kinds = new Map<string, readonly number[]>();
  for (const {path, names: fields, types} of seen) {
    const kind = `${path} ${fields}`;
    const others = kinds.get(kind) ?? [];
    kinds.set(
      kind,
      [...types].map((type, at) => type | (others[at] ?? 0)),
    );
  }
  return kinds;
}
