// What `npm run mutants` puts into sources, and that its lists are true.

import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {drawSample, findSurvivor, listMutants, root} from './mutants.ts';
import {applyMutation, findMutations} from './mutations.ts';
import {survivors} from './survivors.ts';
import {targets} from './targets.ts';

/** The texts of a source with one fault each. */
const mutantsOf = (text: string) => findMutations(text).map((one) => applyMutation(text, one));

describe('the mutants of a source', () => {
  test.each([
    ['x = a < b', [';', 'x = a <= b', 'x = a >= b']],
    ['if (a) throw b;', ['if (true) throw b;', 'if (false) throw b;', 'if (a) ;']],
    ['const x = a && !b', ['const x = a || !b', 'const x = a && (b)']],
    ['const x: 5 = y as 5', []],
    ['const x = 5', ['const x = 6']],
    ['const x = list.filter(f)', ['const x = list']],
    ['const x = a[0] ?? 0', ['const x = a[1] ?? 0']],
    ['const x = a ?? b', ['const x = a']],
    // Texts are joined, not added.
    ["const x = 'a' + b", []],
    ['const x = Math.max(a, b)', ['const x = Math.min(a, b)']],
  ])('%s', (text, expected) => {
    expect(mutantsOf(text)).toEqual(expected);
  });

  test('include those of its SQL: each comparison changed, and each condition left out', () => {
    const sql =
      'const x = `SELECT 1 FROM t WHERE a >= $1 AND (c IS NULL OR d) AND e BETWEEN 1 AND 2`';
    expect(mutantsOf(sql)).toEqual(
      expect.arrayContaining([
        sql.replace('>=', '>'),
        sql.replace('AND (c IS NULL OR d)', ''),
        sql.replace('IS NULL', 'IS NOT NULL'),
        sql.replace(' OR ', ' AND '),
        sql.replace('AND e BETWEEN 1 AND 2', ''),
      ]),
    );
    expect(mutantsOf(sql)).toHaveLength(5);
  });
});

test.each([...targets])('%s and its tests exist', (source, tests) => {
  expect([source, ...tests].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every listed survivor is an existing mutant', () => {
  const found = new Set(listMutants().map(findSurvivor));
  expect(survivors.filter((one) => !found.has(one))).toEqual([]);
});

test('a seed draws the same sample each time, and another seed draws another', () => {
  const all = listMutants();
  const draw = (seed: string) => drawSample(all, 10, seed).map(({mutation}) => mutation);
  expect(draw('1')).toHaveLength(10);
  expect(draw('1')).toEqual(draw('1'));
  expect(draw('2')).not.toEqual(draw('1'));
});
