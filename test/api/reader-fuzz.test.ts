import {XMLParser, XMLValidator} from 'fast-xml-parser';
import {expect, test} from 'vitest';
import type {FieldRecord, Value} from '../../src/api/xml-document.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {makeFixture, mutate} from './mutated-page.ts';

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

function childrenOf(
  node: WitnessNode,
): {name: string; children: WitnessNode[]; attributes: WitnessNode}[] {
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

function read(xml: string): {records: readonly FieldRecord[]; bad: number} | null {
  try {
    const {records, bad} = readList(Buffer.from(xml), JOBS);
    return {records, bad: bad.length};
  } catch (error) {
    expect(error instanceof RetryableError || error instanceof FatalError, String(error)).toBe(
      true,
    );
    return null;
  }
}

test.each(['observed', 'documented'] as const)(
  'our reader and fast-xml-parser read the same from the %s fixture',
  (dialect) => {
    const xml = makeFixture(dialect);
    expect(read(xml)?.bad).toBe(0);
    expect(read(xml)?.records).toEqual(witness(xml));
  },
);

test.each(['observed', 'documented'] as const)(
  `in ${RUNS} mutations of the %s fixture nothing crashes, hangs or is lost silently`,
  (dialect) => {
    const fixture = makeFixture(dialect);
    const counts = {refused: 0, agreed: 0, spoiled: 0};
    for (let seed = 0; seed < RUNS; seed++) {
      const xml = mutate(fixture, seed);
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
