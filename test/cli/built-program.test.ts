// The files of the built program take parts of Node without an `import`, which would read all
// exports of a part, and so load parts that nobody needs.

import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {takeParts} from '../../esbuild.config.ts';

const dist = join(import.meta.dirname, '..', '..', 'dist');

test('no file of the built program imports a part of Node', () => {
  const files = globSync('*.js', {cwd: dist});
  expect(files.length).toBeGreaterThan(100);
  const importing = files.filter((file) =>
    /^import\b[^;]*["']node:/m.test(readFileSync(join(dist, file), 'utf8')),
  );
  expect(importing).toEqual([]);
});

test('imports of Node’s parts become one line, and other lines keep their numbers', () => {
  const text = `// Parts of Node.
import fs from "node:fs";
import {
  join,
  resolve as resolve2
} from "node:path";
import { other } from "./part-A.js";
use(fs, join, resolve2, other);`;
  expect(takeParts(text).split('\n')).toEqual([
    'const getPart = globalThis.process.getBuiltinModule; const fs = getPart("node:fs"); ' +
      'const { join, resolve: resolve2 } = getPart("node:path");',
    ...['', '', '', '', ''],
    'import { other } from "./part-A.js";',
    'use(fs, join, resolve2, other);',
  ]);
});

test('only a file that uses require gets one', () => {
  expect(takeParts('// Parts of Node.\nuse();')).toBe('\nuse();');
  expect(takeParts('// Parts of Node.\nrequire("fs");')).toContain('const require = getPart(');
});
