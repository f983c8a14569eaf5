// What the structure of the code is: its modules, their imports, the width of lines, the names that
// are exported.

import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join, normalize} from 'node:path';
import {visitNodes} from './syntax-tree.ts';

const root = join(import.meta.dirname, '..', '..');

/** The modules, lowest level first. A module imports from lower levels only. */
export const levels: readonly (readonly string[])[] = [
  ['core'],
  ['api', 'match', 'postgres', 'service'],
  ['streams', 'accounts'],
  ['rows', 'feed', 'retention'],
  ['star'],
  ['sweeps'],
  ['changes'],
  ['push', 'explain', 'health', 'delivery'],
  ['alerts', 'jobs'],
  ['settings'],
  ['schema'],
  ['http'],
  ['console'],
  ['cli'],
  ['main'],
];

export const widest = 100;
export const longestFile = 500;
export const longestFunction = 60;

/** An import of one file by another, both in `src` or `jobs`. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** All files of the project that git knows. */
export function listFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export function listSources(): string[] {
  return listFiles().filter((path) => /^(?:src|jobs)\/.*\.ts$/.test(path));
}

/** `sweeps` of `src/sweeps/tombstones.ts`; null of a file that is in no module. */
export function moduleOf(path: string): string | null {
  if (path === 'src/main.ts') return 'main';
  return /^(?:src\/([\w-]+)|(jobs))\/[\w.-]+\.ts$/.exec(path)?.slice(1).find(Boolean) ?? null;
}

/** Static and dynamic imports, of types too, as they are written in a text. */
export function listSpecifiers(text: string): string[] {
  const written = text.matchAll(/\b(?:from|import)\s*\(?\s*(['"`])(\.{1,2}\/[^'"`]+)\1/g);
  return [...new Set([...written].map(([, , path = '']) => path))];
}

export function listImports(): Import[] {
  const sources = new Set(listSources());
  return [...sources].flatMap((from) =>
    listSpecifiers(readText(from))
      .map((path) => ({from, to: normalize(join(dirname(from), path))}))
      .filter(({to}) => sources.has(to)),
  );
}

/**
 * Imports from a module that is not on a lower level, as
 * `sweeps → push: src/sweeps/a.ts → src/push/b.ts`.
 */
export function listAgainstOrder(imports: readonly Import[]): string[] {
  const levelOf = (path: string) =>
    levels.findIndex((level) => level.includes(moduleOf(path) ?? ''));
  return imports
    .filter(({from, to}) => moduleOf(from) !== moduleOf(to) && levelOf(to) >= levelOf(from))
    .map(({from, to}) => `${moduleOf(from)} → ${moduleOf(to)}: ${from} → ${to}`)
    .toSorted();
}

/** Groups of folders that import each other, straight or in a circle, as `explain push`. */
export function listCycles(imports: readonly Import[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const {from, to} of imports)
    if (dirname(from) !== dirname(to))
      next.set(dirname(from), (next.get(dirname(from)) ?? new Set()).add(dirname(to)));
  const reached = new Map([...next.keys()].map((folder) => [folder, reach(folder, next)]));
  const cycles = [...reached].flatMap(([folder, all]) => {
    const group = [...all].filter((other) => reached.get(other)?.has(folder) === true);
    return group.length === 0 ? [] : [[...new Set([folder, ...group])].toSorted().join(' ')];
  });
  return [...new Set(cycles)].toSorted();
}

function reach(folder: string, next: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set<string>();
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const to of next.get(at) ?? [])
      if (!found.has(to)) {
        found.add(to);
        open.push(to);
      }
  return found;
}

/**
 * The share of imports that stay in their folder: 0 to 1. What every module may use is left out,
 * lest a shared helper in `core` count against those who share it.
 */
export function shareInside(imports: readonly Import[]): number {
  const own = imports.filter(({from, to}) => dirname(from) === dirname(to));
  const shared = imports.filter(
    ({from, to}) => dirname(to) === 'src/core' && dirname(from) !== 'src/core',
  );
  return own.length / (imports.length - shared.length);
}

/** What is code, whose lines have a width. */
const code = new RegExp(
  [
    '^(?:src|jobs|test|bench|docs|[\\w-]+\\.config)\\b.*\\.ts$',
    '^src/.*\\.(?:sql|mjs)$',
    '^migrations/functions/.*\\.sql$',
  ].join('|'),
);

/**
 * How many lines of each file of code are wider than they may be; files without one are left out.
 */
export function countWideLines(): Record<string, number> {
  const paths = listFiles().filter((path) => code.test(path));
  return countEach(
    paths.map((path) => [
      path,
      readText(path)
        .split('\n')
        .filter((line) => [...line].length > widest).length,
    ]),
    1,
  );
}

/** Source files with more lines than one may have, as `src/a/b.ts: 512`. */
export function listLongFiles(): string[] {
  return listSources()
    .map((path) => [path, readText(path).split('\n').length - 1] as const)
    .filter(([, lines]) => lines > longestFile)
    .map(([path, lines]) => `${path}: ${lines}`);
}

/** Functions with more lines than one may have: where each begins, and its lines, as `12: 71`. */
export function listLongFunctions(text: string): string[] {
  const lengths: string[] = [];
  visitNodes(text, (node) => {
    if (!functions.test(node?.type) || !node.body) return;
    const begin = text.slice(0, node.start).split('\n').length;
    const length = text.slice(node.start, node.end).split('\n').length;
    if (length > longestFunction) lengths.push(`${begin}: ${length}`);
  });
  return lengths;
}

/**
 * Lines where an object literal spreads another one, as in `{...{a, b}}`: the compiler does not
 * check for misspelt properties there.
 */
export function listNestedSpreads(text: string): number[] {
  const lines: number[] = [];
  visitNodes(text, (node) => {
    if (node?.type !== 'ObjectExpression') return;
    for (const {type, argument, start} of node.properties)
      if (type === 'SpreadElement' && argument.type === 'ObjectExpression')
        lines.push(text.slice(0, start).split('\n').length);
  });
  return lines;
}

const functions = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

const declaration =
  /^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) ([\w$]+)/gm;

/** In how many files each exported name is defined; names with one meaning are left out. */
export function countMeanings(): Record<string, number> {
  const homes = new Map<string, Set<string>>();
  for (const path of listSources())
    for (const [, name = ''] of readText(path).matchAll(declaration))
      homes.set(name, (homes.get(name) ?? new Set()).add(path));
  return countEach(
    [...homes].map(([name, paths]) => [name, paths.size]),
    2,
  );
}

function countEach(counted: readonly [string, number][], least: number): Record<string, number> {
  const sorted = counted.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.filter(([, count]) => count >= least));
}

/**
 * Functions of the database by full name and types of arguments, as `sync.wait(bigint, interval)`.
 */
export function listSignatures(sql: string): string[] {
  const definitions = sql.matchAll(/^CREATE OR REPLACE FUNCTION ([\w.]+)\(([^)]*)\)/gm);
  return [...definitions].map(([, name, given = '']) => `${name}(${listTypes(given).join(', ')})`);
}

/** From `wanted bigint, timeout interval DEFAULT '30 seconds'`: bigint and interval. */
function listTypes(given: string): string[] {
  return given
    .split(',')
    .map((argument) => argument.trim().replace(/^OUT .*|^\w+ | DEFAULT .*/gs, ''))
    .filter((type) => type !== '');
}
