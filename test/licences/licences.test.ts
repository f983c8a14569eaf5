// The licences of what is shipped are known, listed, and kept.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {formatLicences} from './format-licences.ts';
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
const shipped = await listShippedPackages();

test('licences/README.md lists the shipped packages; npm run licences updates it', () => {
  expect(read('licences/README.md')).toBe(formatLicences(shipped));
});

test('each licence is on the list of permissive licences', () => {
  const others = shipped.filter(({licence}) => !permissive.includes(licence));
  expect(others).toEqual([]);
});

test('the list includes bundled packages and separate dependencies', () => {
  expect(shipped.filter(({isBundled}) => isBundled).map(({name}) => name)).toContain('undici');
  expect(shipped.filter(({isBundled}) => !isBundled).map(({name}) => name)).toContain('fastify');
});

test('the package and the image contain the list', () => {
  expect(JSON.parse(read('package.json')).files).toContain('licences');
  expect(read('Dockerfile')).toMatch(/^COPY licences licences$/m);
});
