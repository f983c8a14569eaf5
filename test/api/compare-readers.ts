// The strict reader decides what is taken: the quick one may step aside, and must never read another thing.

import {isDeepStrictEqual} from 'node:util';
import {DEFAULT_LIMITS} from '../../src/api/xml/limits.ts';
import {readQuickly} from '../../src/api/xml/quick/quick-list.ts';
import {readList} from '../../src/api/xml/reader.ts';
import {SeenElements} from '../../src/api/xml/seen-elements.ts';
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
 * Reads mutated pages with both readers.
 * @param seeds - one page for each, in both dialects
 * @throws what the readers do not agree on, with its seed
 */
export function compareReaders(seeds: Iterable<number>): Tally {
  const tally = {taken: 0, leftSound: 0};
  const fixtures = (['observed', 'documented'] as const).map((dialect) => makeFixture(dialect));
  for (const seed of seeds) {
    for (const fixture of fixtures) compare(Buffer.from(mutate(fixture, seed, pieces)), seed, tally);
  }
  return tally;
}

/** Reads one document with both readers. @throws where they do not agree */
export function compare(body: Buffer, seed: number, tally: Tally): void {
  const seen = new SeenElements();
  const quick = readQuickly(body, names, {limits: DEFAULT_LIMITS, seen});
  const strict = readStrictly(body);
  if (quick === null) {
    if (strict?.bad === 0) tally.leftSound++;
    return;
  }
  tally.taken++;
  const read = {records: quick, bad: 0, fields: listFields(seen)};
  if (!isDeepStrictEqual(read, strict))
    throw new Error(`seed ${seed}: the strict reader reads another thing:\n${body}`);
}

function readStrictly(body: Buffer) {
  const seen = new SeenElements();
  try {
    const {records, bad} = readList(body, names, {seen});
    return {records, bad: bad.length, fields: listFields(seen)};
  } catch {
    return null;
  }
}

/**
 * The fields of a document by kind of element, with the types that they came as. A kind stands twice where its shapes
 * were forgotten in the middle of the document: here it stands once.
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
