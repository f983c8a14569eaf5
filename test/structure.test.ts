// The structure of the code: flat modules in one order, narrow lines, one meaning per exported
// name.

import {expect, test} from 'vitest';
import {
  countMeanings,
  countWideLines,
  levels,
  listAgainstOrder,
  listCycles,
  listFiles,
  listImports,
  listSignatures,
  listSources,
  listSpecifiers,
  moduleOf,
  readText,
  shareInside,
  widest,
} from './support/structure.ts';

const imports = listImports();
/** Each file that is merged into another takes imports of its own folder away. */
const leastInside = 0.45;
const mostModules = 26;

test('every source file is in one of the modules, which are flat', () => {
  const modules = levels.flat();
  expect(modules.length).toBeLessThanOrEqual(mostModules);
  expect(listSources().filter((path) => !modules.includes(moduleOf(path) ?? ''))).toEqual([]);
});

test('imports are found however they are written', () => {
  const text = `import {a} from '../a/a.ts';
import type {B} from "./b.ts";
import './c.ts';
export * from './d.ts';
const e = await import('../e.ts');
type F = import('./f.ts').F;
import {g} from 'node:path';`;
  expect(listSpecifiers(text)).toEqual([
    '../a/a.ts',
    './b.ts',
    './c.ts',
    './d.ts',
    '../e.ts',
    './f.ts',
  ]);
  expect(imports.length).toBeGreaterThan(1000);
});

test('no two folders import each other, and no folders in a circle', () => {
  const circle = [
    {from: 'src/a/1.ts', to: 'src/b/1.ts'},
    {from: 'src/b/2.ts', to: 'src/c/1.ts'},
    {from: 'src/c/2.ts', to: 'src/a/2.ts'},
    {from: 'src/d/1.ts', to: 'src/a/1.ts'},
  ];
  expect(listCycles(circle)).toEqual(['src/a src/b src/c']);
  expect(listCycles(imports)).toEqual([]);
});

test('a module imports from lower levels only', () => {
  const back = [
    {from: 'src/sweeps/a.ts', to: 'src/push/b.ts'},
    {from: 'src/push/a.ts', to: 'src/sweeps/b.ts'},
    {from: 'src/push/a.ts', to: 'src/explain/b.ts'},
    {from: 'src/push/a.ts', to: 'src/push/b.ts'},
  ];
  expect(listAgainstOrder(back)).toEqual([
    'push → explain: src/push/a.ts → src/explain/b.ts',
    'sweeps → push: src/sweeps/a.ts → src/push/b.ts',
  ]);
  expect(listAgainstOrder(imports)).toEqual([]);
});

test(`at least ${leastInside * 100} % of imports stay in their folder, those of core aside`, () => {
  const few = [
    {from: 'src/push/a.ts', to: 'src/push/b.ts'},
    {from: 'src/push/a.ts', to: 'src/rows/b.ts'},
    {from: 'src/push/a.ts', to: 'src/core/b.ts'},
  ];
  expect(shareInside(few)).toBe(0.5);
  expect(shareInside(imports)).toBeGreaterThanOrEqual(leastInside);
});

test(`no line of code is wider than ${widest} characters`, () => {
  expect(countWideLines()).toEqual({});
});

test('an exported name has one meaning', () => {
  expect(countMeanings()).toEqual({});
});

test('no function of the database is defined twice', () => {
  const homes = new Map<string, string[]>();
  for (const path of listFiles().filter((name) => /^migrations\/functions\/.*\.sql$/.test(name)))
    for (const signature of listSignatures(readText(path)))
      homes.set(signature, [...(homes.get(signature) ?? []), path]);
  expect(homes.size).toBeGreaterThan(0);
  expect([...homes].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

const unquotedName = /\bAS\s+([a-z]+[A-Z]\w*)/g;

test('a name with capitals is quoted in SQL: Postgres folds it to small letters otherwise', () => {
  const unquoted = listSources().flatMap((path) =>
    [...readText(path).matchAll(unquotedName)].map(([, name]) => `${path}: ${name}`),
  );
  expect(unquoted).toEqual([]);
});

test('helpers of tests add hooks in functions, because files share their modules', () => {
  const hook = /^(before|after)(All|Each)\(|^onTestFinished\(/m;
  const helpers = listFiles().filter(
    (path) => /^test\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'),
  );
  expect(helpers.length).toBeGreaterThan(0);
  expect(helpers.filter((path) => hook.test(readText(path)))).toEqual([]);
});

test('pools of tests bear a connection that ends while its database is dropped', () => {
  const homes = listFiles().filter(
    (path) => /^test\/.*\.ts$/.test(path) && /new (pg\.)?Pool\(/.test(readText(path)),
  );
  expect(homes).toEqual(['test/support/with-client.ts']);
});

test('what a number of a record or a change looks like is said once', () => {
  const homes = listSources().filter((path) => readText(path).includes('/^[1-9]\\d{0,17}$/'));
  expect(homes).toEqual(['src/core/text.ts']);
});
