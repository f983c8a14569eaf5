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
  listLongFiles,
  listLongFunctions,
  listNestedSpreads,
  listSignatures,
  listSources,
  listSpecifiers,
  longestFile,
  longestFunction,
  moduleOf,
  readText,
  shareInside,
  widest,
} from './support/structure.ts';

const imports = listImports();
/** Each file that is merged into another takes imports of its own folder away. */
const leastInside = 0.45;
const mostModules = 26;

test('every source file is in one of the flat modules', () => {
  const modules = levels.flat();
  expect(modules.length).toBeLessThanOrEqual(mostModules);
  expect(listSources().filter((path) => !modules.includes(moduleOf(path) ?? ''))).toEqual([]);
});

test('every form of import is found', () => {
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

test('no folders import each other, neither directly nor in a circle', () => {
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

test(`at least ${leastInside * 100} % of imports stay in their folder, not counting core`, () => {
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

test(`no source file is longer than ${longestFile} lines`, () => {
  expect(listLongFiles()).toEqual([]);
});

test(`no function is longer than ${longestFunction} lines`, () => {
  const body = (lines: number) => `const f = () => {${'\n'.repeat(lines - 1)}};`;
  expect(listLongFunctions(body(longestFunction))).toEqual([]);
  expect(listLongFunctions(`\n${body(longestFunction + 1)}`)).toEqual(['2: 61']);
  const found = listSources().flatMap((path) =>
    listLongFunctions(readText(path)).map((place) => `${path}:${place}`),
  );
  expect(found).toEqual([]);
});

test('no object literal spreads another, whose properties the compiler would not check', () => {
  expect(listNestedSpreads('f({...a,\n  ...{b, c}, ...(d ? {e} : {})});')).toEqual([2]);
  const code = listFiles().filter((path) => /^(?:src|jobs|test|bench)\/.*\.ts$/.test(path));
  const found = code.flatMap((path) =>
    listNestedSpreads(readText(path)).map((line) => `${path}:${line}`),
  );
  expect(found).toEqual([]);
});

test('an exported name has one meaning', () => {
  expect(countMeanings()).toEqual({});
});

test('no database function is defined twice', () => {
  const homes = new Map<string, string[]>();
  for (const path of listFiles().filter((name) => /^migrations\/functions\/.*\.sql$/.test(name)))
    for (const signature of listSignatures(readText(path)))
      homes.set(signature, [...(homes.get(signature) ?? []), path]);
  expect(homes.size).toBeGreaterThan(0);
  expect([...homes].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

const unquotedName = /\bAS\s+([a-z]+[A-Z]\w*)/g;

test('an alias with capitals is quoted in SQL, because Postgres folds it to lower case', () => {
  const unquoted = listSources().flatMap((path) =>
    [...readText(path).matchAll(unquotedName)].map(([, name]) => `${path}: ${name}`),
  );
  expect(unquoted).toEqual([]);
});

test('test helpers add hooks only in functions, because test files share modules', () => {
  const hook = /^(before|after)(All|Each)\(|^onTestFinished\(/m;
  const helpers = listFiles().filter(
    (path) => /^test\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'),
  );
  expect(helpers.length).toBeGreaterThan(0);
  expect(helpers.filter((path) => hook.test(readText(path)))).toEqual([]);
});

test('tests make pools of connections only in test/support/with-client.ts', () => {
  const homes = listFiles().filter(
    (path) => /^test\/.*\.ts$/.test(path) && /new (pg\.)?Pool\(/.test(readText(path)),
  );
  expect(homes).toEqual(['test/support/with-client.ts']);
});

test('the pattern of a record or change number is defined once', () => {
  const homes = listSources().filter((path) => readText(path).includes('/^[1-9]\\d{0,17}$/'));
  expect(homes).toEqual(['src/core/text.ts']);
});
