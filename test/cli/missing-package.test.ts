// A checkout in which `npm install` was forgotten, or was cut off.

import {mkdir, mkdtemp, rm, symlink} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {describeMissingPackage} from '../../src/cli/launch.ts';
import {type Ended, startProgram} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';

const root = join(import.meta.dirname, '..', '..');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-packages-'));
  for (const name of ['src', 'migrations', 'package.json'])
    await symlink(join(root, name), join(folder, name));
});

afterEach(() => rm(folder, {recursive: true}));

/** Runs the program of the folder with the packages that stand there, and no others. */
async function run(args: readonly string[], packages: readonly string[]): Promise<Ended> {
  await mkdir(join(folder, 'node_modules'));
  for (const name of packages)
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const node = [process.execPath, '--preserve-symlinks', '--preserve-symlinks-main'];
  return await startProgram([...node, join(folder, 'src/main.ts'), ...args], {}).ended;
}

test('without any package, a verb exits with 2 and names npm install', async () => {
  expect(await run(['status'], [])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      inSequence(
        /^package commander: expected it in .+, found none; run npm install in .+\n/,
        /see: fieldmirror explain E18\n$/,
      ),
    ),
  });
});

test('if a package of a verb is missing, the verb exits with 2 and names the package', async () => {
  const packages = ['commander', 'fastest-levenshtein'];
  expect(await run(['status'], packages)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^package pg: expected it in .+; run npm install in .+\nsee: fieldmirror explain E18\n$/,
    ),
  });
});

test.each([
  [
    "Cannot find package 'pg' imported from /app/src/a.ts",
    /^package pg: .*run npm install in \/app$/,
  ],
  [
    "Cannot find package '@fastify/cookie' imported from /app/src/a.ts",
    /^package @fastify\/cookie: /,
  ],
  ["Cannot find module 'bindings'\nRequire stack:\n- /app/a.js", /^package bindings: /],
])('the error %j names a package to install', (message, words) => {
  const error = Object.assign(new Error(message), {code: 'ERR_MODULE_NOT_FOUND'});
  expect(describeMissingPackage(error, '/app')).toMatch(words);
});

test('for an installed program, the error advises to install it again', () => {
  const error = Object.assign(new Error("Cannot find package 'pg' imported from x"), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
  expect(describeMissingPackage(error, '/usr/lib/node_modules/fieldmirror')).toBe(
    'package pg: expected it in /usr/lib/node_modules, found none; install fieldmirror again',
  );
});

test.each([
  [
    'a file of this program',
    Object.assign(new Error("Cannot find module '/app/src/a.ts' imported from /app/b.ts"), {
      code: 'ERR_MODULE_NOT_FOUND',
    }),
  ],
  [
    'a file beside the code',
    Object.assign(new Error("ENOENT: no such file or directory, open 'x'"), {code: 'ENOENT'}),
  ],
  ['any other error', new Error("Cannot find package 'pg'")],
])('%s is not reported as a missing package', (_, error) => {
  expect(describeMissingPackage(error, '/app')).toBeNull();
});
