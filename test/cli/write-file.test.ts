// A file is written completely or not at all; a link stays a link, and a pipe stays a pipe.

import {execFile} from 'node:child_process';
import {
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {writeText} from '../../src/cli/export.ts';
import {isReplaced, writeAside} from '../../src/cli/write-file.ts';
import {runCommand} from '../support/command.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

const run = promisify(execFile);

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(temporaryFolder(), 'written-'));
  file = join(folder, 'file');
});
afterEach(() => rm(folder, {recursive: true}));

describe('a file', () => {
  test('is unchanged if it could not be written', async () => {
    await writeFile(file, 'before');
    const failed = writeAside(file, async (path) => {
      await writeFile(path, 'half');
      throw new Error('no room');
    });
    await expect(failed).rejects.toThrow('no room');
    expect(await readdir(folder)).toEqual(['file']);
    expect(await readFile(file, 'utf8')).toBe('before');
  });

  test.each([0o600, 0o664])('keeps its permissions: %o', async (mode) => {
    await writeFile(file, 'before');
    await chmod(file, mode);
    await writeAside(file, (path) => writeFile(path, 'after'));
    expect((await stat(file)).mode & 0o777).toBe(mode);
    expect(await readFile(file, 'utf8')).toBe('after');
  });

  test('is not written through a link that had the other name', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await writeFile(elsewhere, 'of somebody');
    await symlink(elsewhere, `${file}.part`);
    await writeAside(file, (path) => writeFile(path, 'after'));
    expect(await readFile(elsewhere, 'utf8')).toBe('of somebody');
    expect((await lstat(file)).isFile()).toBe(true);
  });

  test.each([
    ['that exists', ['before']],
    ['that does not exist yet', []],
  ])('%s is written through a symbolic link to a link', async (_, texts) => {
    for (const text of texts) await writeFile(file, text);
    await symlink('file', join(folder, 'inner'));
    await symlink(join(folder, 'inner'), join(folder, 'outer'));
    await writeText(join(folder, 'outer'), 'after');
    expect(await readFile(file, 'utf8')).toBe('after');
    for (const name of ['inner', 'outer'])
      expect((await lstat(join(folder, name))).isSymbolicLink()).toBe(true);
    expect((await readdir(folder)).toSorted()).toEqual(['file', 'inner', 'outer']);
  });
});

test('a pipe with a name receives the text, and is not replaced', async () => {
  await run('mkfifo', [file]);
  expect(await isReplaced(file)).toBe(false);
  const [{stdout}, ended] = await Promise.all([
    run('cat', [file]),
    runCommand(['config', 'schema', file], {}),
  ]);
  expect(ended).toMatchObject({code: 0, stderr: ''});
  expect(JSON.parse(stdout).title).toBe('fieldmirror.yaml');
  expect((await lstat(file)).isFIFO()).toBe(true);
});

test('config schema replaces a schema, and no other file', async () => {
  expect(await runCommand(['config', 'schema', file], {})).toMatchObject({code: 0});
  expect(await runCommand(['config', 'schema', file], {})).toMatchObject({code: 0});
  for (const text of ['accounts: {}\n', '{"title": "another"}', 'null', '']) {
    await writeFile(file, text);
    expect(await runCommand(['config', 'schema', file], {})).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/config schema: \S+: expected no file there, or a schema/),
    });
    expect(await readFile(file, 'utf8')).toBe(text);
  }
});
