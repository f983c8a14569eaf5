import {XMLParser, XMLValidator} from 'fast-xml-parser';
import {expect, test} from 'vitest';
import {readList} from '../../src/api/xml/reader.ts';
import type {FieldRecord, Value} from '../../src/api/xml/record.ts';
import {RetryableError} from '../../src/base/errors.ts';
import {makeJobPage} from './job-page.ts';

const JOBS = {list: 'jobs', item: 'job'};
const RUNS = 6_000;

// fast-xml-parser is lenient where we are strict, so that it is a witness only where both accept.
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  htmlEntities: true,
  processEntities: {enabled: true, maxTotalExpansions: 1_000_000, maxExpandedLength: 10_000_000},
});

interface WitnessNode {
  readonly [name: string]: unknown;
}

function isNode(value: unknown): value is WitnessNode {
  return typeof value === 'object' && value !== null;
}

function childrenOf(node: WitnessNode): {name: string; children: WitnessNode[]; attributes: WitnessNode}[] {
  return Object.entries(node)
    .filter(([name]) => name !== ':@' && name !== '#text' && !name.startsWith('?'))
    .map(([name, inner]) => {
      const attributes = node[':@'];
      return {
        name,
        children: Array.isArray(inner) ? inner.filter(isNode) : [],
        attributes: isNode(attributes) ? attributes : {},
      };
    });
}

function witness(xml: string): Value[] | null {
  if (XMLValidator.validate(xml) !== true) return null;
  const parsed: unknown = parser.parse(xml);
  const roots = Array.isArray(parsed) ? parsed.filter(isNode).flatMap(childrenOf) : [];
  return roots.flatMap(({children}) => children.flatMap(childrenOf)).map(toValue);
}

function toValue({children, attributes}: ReturnType<typeof childrenOf>[number]): Value {
  const elements = children.flatMap(childrenOf);
  const isArray = attributes['@_type'] === 'array';
  if (elements.length > 0 || isArray) {
    return {
      names: elements.map(({name}) => name.replaceAll('-', '_')),
      values: elements.map(toValue),
      isArray,
    };
  }
  if (attributes['@_nil'] === 'true') return null;
  return children.map((child) => String(child['#text'] ?? '')).join('');
}

// A random generator of its own, so that the number of a failure finds it again.
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

const PIECES = [
  '<',
  '>',
  '/',
  '&',
  ';',
  '"',
  '=',
  ' ',
  '</job>',
  '<job>',
  '</jobs>',
  '<a/>',
  '<a>',
  ']]>',
  '<!--',
  '-->',
  '<![CDATA[',
  '<?x?>',
  '&#0;',
  '&amp;',
  '\u0000',
  'x',
  '\r',
  ' nil="true"',
  ' type="array"',
];

function mutate(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const span = Math.floor(random() ** 3 * 60);
  const piece = PIECES[Math.floor(random() * PIECES.length)] ?? '';
  switch (Math.floor(random() * 6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(at + 1 + span);
    case 2:
      return text.slice(0, at) + piece + text.slice(at);
    case 3:
      return text.slice(0, at) + piece + text.slice(at + piece.length);
    case 4:
      return swapTags(text, at);
    default:
      return text.slice(0, at) + text.slice(at, at + span) + text.slice(at);
  }
}

function swapTags(text: string, from: number): string {
  const first = /<[^<>]*>/.exec(text.slice(from));
  if (first === null) return text;
  const at = from + first.index;
  const second = /<[^<>]*>/.exec(text.slice(at + first[0].length));
  if (second === null) return text;
  const next = at + first[0].length + second.index;
  return (
    text.slice(0, at) +
    second[0] +
    text.slice(at + first[0].length, next) +
    first[0] +
    text.slice(next + second[0].length)
  );
}

function read(xml: string): {records: readonly FieldRecord[]; bad: number} | null {
  try {
    const {records, bad} = readList(Buffer.from(xml), JOBS);
    return {records, bad: bad.length};
  } catch (error) {
    expect(error).toBeInstanceOf(RetryableError);
    return null;
  }
}

// Small enough that one mutation often hits structure.
function makeFixture(dialect: 'observed' | 'documented'): string {
  const page = makeJobPage({jobs: 3, dialect}).toString();
  const long = /\s+<(custom|sales|estimate|invoice|recurring)[-_][^\n]*(?:\n[^ <][^\n]*)*/g;
  return page.replaceAll('\r\n', '\n').replaceAll(long, '');
}

test.each(['observed', 'documented'] as const)(
  'the two parsers read the same from the %s fixture',
  (dialect) => {
    const xml = makeFixture(dialect);
    expect(read(xml)?.bad).toBe(0);
    expect(read(xml)?.records).toEqual(witness(xml));
  },
);

test.each(['observed', 'documented'] as const)(
  `in ${RUNS} mutations of the %s fixture nothing crashes, hangs or loses a record without an error`,
  (dialect) => {
    const fixture = makeFixture(dialect);
    const counts = {refused: 0, agreed: 0, spoiled: 0};
    for (let seed = 0; seed < RUNS; seed++) {
      const random = makeRandom(seed);
      let xml = mutate(fixture, random);
      while (random() < 0.3) xml = mutate(xml, random);
      // Half an emoji is no text that bytes can carry.
      xml = xml.toWellFormed();
      const ours = read(xml);
      if (ours === null) {
        counts.refused++;
        continue;
      }
      const theirs = witness(xml);
      if (theirs === null) throw new Error(`seed ${seed}: we accepted what the validator refuses`);
      expect(ours.records.length + ours.bad, `seed ${seed}`).toBe(theirs.length);
      if (ours.bad === 0) expect(ours.records, `seed ${seed}`).toEqual(theirs);
      counts[ours.bad === 0 ? 'agreed' : 'spoiled']++;
    }
    expect(counts.refused).toBeGreaterThan(RUNS / 3);
    expect(counts.agreed).toBeGreaterThan(RUNS / 50);
    expect(counts.spoiled).toBeGreaterThan(RUNS / 50);
  },
);
