// The catalogue of faults in docs/faults.md names tests that exist.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const faultCount = 79;
/** Faults of parts that the product does not have yet. */
const withoutProduct: readonly number[] = [];

interface Row {
  readonly number: number;
  readonly how: string;
  /** Path and title of each test. */
  readonly tests: readonly (readonly [string, string])[];
}

const rows: readonly Row[] = read('docs/faults.md')
  .split('\n')
  .flatMap((line) => {
    const [number, , how = '', tests = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    if (!/^\d+$/.test(number ?? '')) return [];
    const named = tests.split('<br>').flatMap((entry): [string, string][] => {
      const [, path, title] = /^`(test\/[^`]+)`: (.+)$/.exec(entry) ?? [];
      return path === undefined || title === undefined ? [] : [[path, title]];
    });
    return [{number: Number(number), how, tests: named}];
  });

/** Titles from the source: a test of many cases bears the placeholders of its title. */
function titlesIn(source: string): Set<string> {
  const calls = source.matchAll(
    /\b(?:test|describe)\b[^'"`]{0,4000}?(['"`])((?:\\.|(?!\1).)+)\1/gs,
  );
  const literals = source.matchAll(/(['"`])((?:\\.|(?!\1)[^\n])+)\1/g);
  return new Set(
    [...calls, ...literals].map(([, , title = '']) => title.replaceAll(/\\(['"`])/g, '$1')),
  );
}

test('each fault has its row in docs/faults.md, in order', () => {
  expect(rows.map(({number}) => number)).toEqual(
    Array.from({length: faultCount}, (_, at) => at + 1),
  );
});

test('each fault has a test, unless the product has no such part yet', () => {
  const untested = rows.filter(({tests}) => tests.length === 0);
  expect(untested.map(({number}) => number)).toEqual(withoutProduct);
  for (const {number, how} of untested) expect(how, `${number}`).toMatch(/^there is no .* yet$/);
});

test.each(rows.filter(({tests}) => tests.length > 0))(
  'the tests of fault $number exist',
  ({tests}) => {
    for (const [path, title] of tests) expect([...titlesIn(read(path))], path).toContain(title);
  },
);
