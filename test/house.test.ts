// The order of the house: files read at one sitting, folders seen at one glance, one home for each function
// of the database.

import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tracked = execFileSync('git', ['ls-files'], {cwd: root, encoding: 'utf8'})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));
const mostLines = 500;
const mostEntries = 30;

test(`no file of code is longer than ${mostLines} lines`, () => {
  const code = tracked.filter((path) => /^(src|jobs|migrations|bench|test|docs)\/.*\.(ts|sql)$/.test(path));
  const tooLong = code
    .map((path) => ({path, lines: read(path).trimEnd().split('\n').length}))
    .filter(({lines}) => lines > mostLines);
  expect(tooLong).toEqual([]);
});

test(`no folder opens on more than ${mostEntries} entries, but for those of tests and documents`, () => {
  const entries = new Map<string, Set<string>>();
  for (const path of tracked.filter((name) => /^(src|jobs|migrations|bench|bin)\//.test(name)))
    for (const [folder, entry] of listSteps(path))
      entries.set(folder, (entries.get(folder) ?? new Set()).add(entry));
  const tooWide = [...entries].filter(([, names]) => names.size > mostEntries);
  expect(tooWide.map(([folder, names]) => `${folder}: ${[...names].join(' ')}`)).toEqual([]);
});

test('no function of the database is defined twice', () => {
  const homes = new Map<string, string[]>();
  for (const path of tracked.filter((name) => /^migrations\/functions\/.*\.sql$/.test(name)))
    for (const signature of listSignatures(read(path)))
      homes.set(signature, [...(homes.get(signature) ?? []), path]);
  expect(homes.size).toBeGreaterThan(0);
  expect([...homes].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

/** Each folder on the way to a file, with its entry on that way. */
function listSteps(path: string): [folder: string, entry: string][] {
  const names = path.split('/');
  return names.slice(1).map((entry, at) => [names.slice(0, at + 1).join('/'), entry]);
}

/** Functions by full name and types of arguments, as `sync.wait(bigint, interval)`. */
function listSignatures(sql: string): string[] {
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
