// The project's own claims can be run: .ci/run calls, if only a little, each measuring or torture
// command that README and docs name, and each that exists.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'), {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** `bench`, `bench:push`, `torture sweeps`, … as a text calls them. */
function commandsIn(text: string): Set<string> {
  const calls = text.matchAll(/npm run (?:-s )?(bench[:\w]*|torture -- \w+)/g);
  return new Set([...calls].map(([, name = '']) => name.replace(' -- ', ' ')));
}

const run = commandsIn(read('.ci/run'));

test.each(documents)('%s names only benchmarks and torture tests that .ci/run runs', (path) => {
  expect([...commandsIn(read(path))].filter((name) => !run.has(name))).toEqual([]);
});

test('docs/proof.md names more than three benchmarks and torture tests', () => {
  expect([...commandsIn(read('docs/proof.md'))].length).toBeGreaterThan(3);
});

test('.ci/run runs every existing benchmark and torture test, and no other', () => {
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts);
  const benches = scripts.filter((name) => name.startsWith('bench'));
  const tortures = [...read('test/labs/main.ts').matchAll(/^ {2}(\w+): \(\) => import/gm)].map(
    ([, name]) => `torture ${name}`,
  );
  expect([...run].sort()).toEqual([...benches, ...tortures].sort());
});
