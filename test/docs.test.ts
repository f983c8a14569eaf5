// The repository stands alone: what comments and documents cite is in it.

import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tracked = execFileSync('git', ['ls-files'], {cwd: root, encoding: 'utf8'}).split('\n');
const code = tracked.filter(
  (path) => /^(src|jobs|test|bench|migrations)\/.*\.(ts|sql)$/.test(path) && existsSync(join(root, path)),
);
const documents = tracked.filter((path) => path.endsWith('.md') && existsSync(join(root, path)));

describe('what a comment cites is in the repository', () => {
  test('a heading of a document', () => {
    const missing = code.flatMap((path) =>
      [...read(path).matchAll(/(docs\/[\w/-]+\.md) "([^"]+)"/g)]
        .filter(([, document = '', heading]) => !headingsOf(document).includes(heading ?? ''))
        .map(([cited]) => `${path}: ${cited}`),
    );
    expect(missing).toEqual([]);
  });

  test('and nothing that only its author has read', () => {
    const elsewhere = /@see (?!docs\/|https:|decision)|\b(?:wire-facts|hazards) \d/;
    expect(code.filter((path) => path !== 'test/docs.test.ts' && elsewhere.test(read(path)))).toEqual([]);
  });
});

test.each(documents)('every file of ours that %s names is there', (document) => {
  const paths = [...read(document).matchAll(/`((?:src|jobs|test|bench|migrations|docs)\/[\w./-]+\.\w+)`/g)];
  expect(paths.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

function headingsOf(document: string): string[] {
  if (!existsSync(join(root, document))) return [];
  return [...read(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
}
