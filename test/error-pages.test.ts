// Each kind of error has a page with its number, each page has its kind, and the program says the number last.

import {execFileSync} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {AccessError, errorNumbers, FatalError, NoRoomError, seePage, UsageError} from '../src/base/errors.ts';
import {runCommand} from './support/command.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs', 'errors');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const kinds = Object.entries(errorNumbers);
const pages = readdirSync(folder).map((file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  const [, number = '', kind = ''] = /^# (E\d\d) `([\w-]+)`: ./.exec(text) ?? [];
  return {file, text, number, kind};
});

test('each kind has one page, and each page has its kind', () => {
  const told = pages.map(({number, kind}) => `${number} ${kind}`);
  expect(told.toSorted()).toEqual(kinds.map(([kind, number]) => `${number} ${kind}`).toSorted());
  expect(new Set(Object.values(errorNumbers)).size).toBe(kinds.length);
});

test('each kind is that of an error somewhere', () => {
  const files = execFileSync('git', ['ls-files', 'src', 'jobs'], {cwd: root, encoding: 'utf8'}).split('\n');
  const code = files.filter((path) => path.endsWith('.ts')).map(read);
  const unused = kinds.filter(([kind]) => {
    const word = new RegExp(`\\bkind(?:: ErrorKind)?(?: =|:) [^\\n]*'${kind}'`);
    return !code.some((text) => word.test(text));
  });
  expect(unused).toEqual([]);
});

describe.each(pages)('$file', ({file, text, number}) => {
  test('bears its number, and says what it means, how it comes about, and how to mend it', () => {
    expect(file).toBe(`${number}.md`);
    const parts = text.split(/^## .*$/m).map((part) => part.trim());
    expect(text.match(/^## .*$/gm)).toEqual(['## How it comes about', '## How to mend it']);
    expect(parts.filter((part) => part.length < 80)).toEqual([]);
  });
});

test('an error leads to the page of its kind, else of its cause, else to none', () => {
  expect(seePage(new FatalError('no', {kind: 'port'}))).toBe('see docs: E12');
  expect(seePage(new FatalError('no', {cause: new NoRoomError('full')}))).toBe('see docs: E13');
  expect(seePage(new AccessError('no'))).toBe('see docs: E05');
  expect(seePage(new UsageError('no'))).toBeNull();
  expect(seePage('no')).toBeNull();
});

test('a command ends with the number of the page, in the last line', async () => {
  const wrong = await runCommand(['status'], {DATABASE_URL: 'localhost'});
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^config: DATABASE_URL: .+\nsee docs: E03\n$/),
  });
  const away = await runCommand(['status'], {DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c'});
  expect(away).toMatchObject({code: 3, stderr: expect.stringMatching(/^Postgres at .+\nsee docs: E01\n$/)});
});

test('docs/operating.md leads to each page', () => {
  const led = [...read('docs/operating.md').matchAll(/^\| \[(E\d\d)\]\(errors\/\1\.md\) +\| ([^|]+) \|$/gm)];
  expect(led.map(([, number, title = '']) => `${number} ${title.trim()}`)).toEqual(
    pages.map(({text, number}) => `${number} ${/^# .*?: (.*)/.exec(text)?.[1]}`),
  );
});
