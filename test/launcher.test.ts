// How the program is begun where something is missing: one sentence with the next step, and exit
// code 2.

import {spawnSync} from 'node:child_process';
import {cpSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');

test('the launcher of a checkout that was never built prints how to build it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldmirror-launcher-'));
  try {
    cpSync(join(root, 'bin'), join(folder, 'bin'), {recursive: true});
    const {status, stdout, stderr} = spawnSync(join(folder, 'bin', 'fieldmirror'), ['status'], {
      encoding: 'utf8',
    });
    expect({status, stdout}).toEqual({status: 2, stdout: ''});
    expect(stderr).toMatch(
      /^fieldmirror: expected the built program in \S+\/dist, found none; build it .*\n$/,
    );
    expect(stderr).toContain('npm install && npm run build');
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('a Node that is too old is rejected, with the version that is needed', () => {
  const {scripts} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const ofSource = Object.values(scripts).filter((script) => script.includes('src/main.ts'));
  expect(ofSource).toHaveLength(2);
  for (const script of ofSource) expect(script).toMatch(/^node -r \.\/bin\/check-node\.cjs /);
  const begin = (version: string) =>
    spawnSync(
      process.execPath,
      [
        '-e',
        `Object.defineProperty(process.versions, 'node', {value: '${version}'}); ` +
          `require('./bin/check-node.cjs')`,
      ],
      {cwd: root, encoding: 'utf8'},
    );
  expect(begin('20.20.2')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /^fieldmirror: expected Node 24 or newer, got v\S+; install it.*\n$/,
    ),
  });
  expect(begin('24.0.0')).toMatchObject({status: 0, stderr: ''});
});
