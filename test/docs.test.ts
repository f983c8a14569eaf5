// The repository stands alone: it holds all that its comments and documents cite.

import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {allWrites} from '../src/streams/all.ts';
import type {Writes} from '../src/streams/stream.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tracked = execFileSync('git', ['ls-files'], {cwd: root, encoding: 'utf8'}).split('\n');
const code = tracked.filter(
  (path) =>
    /^(src|jobs|test|bench|migrations|docs)\/.*\.(ts|sql)$/.test(path) &&
    existsSync(join(root, path)),
);
const documents = tracked.filter((path) => path.endsWith('.md') && existsSync(join(root, path)));

interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** A heading that a comment cites over two lines. */
function inOneLine(heading: string): string {
  return heading.replaceAll(/\s*\n\s*(?:\*|\/\/|--)?\s*/g, ' ');
}

describe('citations in comments', () => {
  test('name headings that the cited document has', () => {
    const missing = code.flatMap((path) =>
      [...read(path).matchAll(/(docs\/[\w/-]+\.md) "([^"]+)"/g)]
        .filter(
          ([, document = '', heading = '']) => !headingsOf(document).includes(inOneLine(heading)),
        )
        .map(([cited]) => `${path}: ${cited}`),
    );
    expect(missing).toEqual([]);
  });

  test('name no private notes of an author', () => {
    const elsewhere = /@see (?!docs\/|https:|decision)|\b(?:wire-facts|hazards) \d/;
    expect(
      code.filter((path) => path !== 'test/docs.test.ts' && elsewhere.test(read(path))),
    ).toEqual([]);
  });
});

test('the README has at most 120 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

test.each(documents)('every repository file that %s names exists', (document) => {
  const paths = [
    ...read(document).matchAll(/`((?:src|jobs|test|bench|migrations|docs)\/[\w./-]+\.\w+)`/g),
  ];
  expect(
    paths.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path))),
  ).toEqual([]);
});

test.each(documents)('every link of %s leads to a file', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#\s]+)\)/g)].map(
    ([, path = '']) => path,
  );
  expect(links.filter((path) => !existsSync(join(root, dirname(document), path)))).toEqual([]);
});

test('docs/write-back.md lists the writable fields of each table as its definition does', () => {
  const [, section = ''] =
    /\n## What may be written\n([^#]*)/.exec(read('docs/write-back.md')) ?? [];
  const shown = section.match(/^- .*(?:\n {2}.*)*/gm)?.map((item) => item.replace(/\s+/g, ' '));
  expect(shown?.sort()).toEqual(allWrites.map(describeWrites).sort());
});

function describeWrites({table, operations}: Writes): string {
  const names = table.columns.map(({name}) => name);
  const fields = table.writable
    .filter(({name, onCreate, onUpdate}) => names.includes(name) && (onCreate || onUpdate))
    .map(({name, onCreate}) => `\`${name}\`${onCreate ? '' : ' once it is there'}`);
  return `- \`${table.name}\` (${operations.join(', ')}): ${fields.join(', ')}`;
}

test('decision 1 names every package in package.json, with its major version', () => {
  const {dependencies, devDependencies} = JSON.parse(read('package.json')) as PackageFile;
  const decision = read('docs/decisions/0001-libraries.md').toLowerCase();
  const asked = Object.entries({...dependencies, ...devDependencies});
  const wrong = asked.filter(([name, version]) => {
    const word = name.replace(/^@\w+\//, '').replaceAll('-', '\\-');
    const [named, major] =
      new RegExp(`(?<![\\w-])${word}(?![\\w-])(?: (\\d+))?`).exec(decision) ?? [];
    return (
      !name.startsWith('@types/') &&
      (named === undefined || (major ?? version).split('.')[0] !== version.split('.')[0])
    );
  });
  expect(wrong).toEqual([]);
});

function headingsOf(document: string): string[] {
  if (!existsSync(join(root, document))) return [];
  return [...read(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
}
