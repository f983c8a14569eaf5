// The licences of what is shipped are known, listed, and kept.

import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {drawLicences} from './draw-licences.ts';
import {listShippedPackages} from './shipped-packages.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
/** They ask for their words to go with a copy, and for nothing else. */
const permissive = [
  '0BSD',
  'Apache-2.0',
  'BSD-0-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
];
/** Decision 34: they may stand beside the program, never in it. */
const beside: Readonly<Record<string, string>> = {openpgp: 'LGPL-3.0+'};
const shipped = await listShippedPackages();

test('licences/README.md lists what is shipped; otherwise: npm run licences', () => {
  expect(read('licences/README.md')).toBe(drawLicences(shipped));
});

test('each licence is one of the written list', () => {
  const others = shipped.filter(
    ({name, licence, isBundled}) =>
      !permissive.includes(licence) && (isBundled || beside[name] !== licence),
  );
  expect(others).toEqual([]);
});

test('the list is not of a few: packages inside and beside are in it', () => {
  expect(shipped.filter(({isBundled}) => isBundled).map(({name}) => name)).toContain('pg');
  expect(shipped.filter(({isBundled}) => !isBundled).map(({name}) => name)).toContain('openpgp');
});

test('openpgp is loaded by its name, from one file, so that another copy of it can take its place', () => {
  const uses = execFileSync(
    'git',
    ['grep', '-nE', "(from|import\\() ?'openpgp", '--', 'src', 'jobs'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  const files = new Set(
    uses
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0]),
  );
  expect([...files]).toEqual(['src/push/passwords.ts']);
});

test('the package and the image hold the list and the words of the LGPL and the GPL', () => {
  expect(JSON.parse(read('package.json')).files).toContain('licences');
  expect(read('Dockerfile')).toMatch(/^COPY licences licences$/m);
  expect(read('licences/LGPL-3.0.txt')).toBe(read('node_modules/openpgp/LICENSE'));
  expect(read('licences/GPL-3.0.txt')).toContain(
    'GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007',
  );
});
