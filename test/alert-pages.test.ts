// Each cause of an alert has a page with its number, and each page has its cause.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {causeNumbers, causes} from '../src/core/errors.ts';

const docs = join(import.meta.dirname, '..', 'docs');
const pages = readdirSync(join(docs, 'alerts')).map((file) => {
  const text = readFileSync(join(docs, 'alerts', file), 'utf8');
  const [, number = '', cause = ''] = /^# (A\d\d) `([\w-]+)`: ./.exec(text) ?? [];
  return {file, text, number, cause};
});

test('each cause has one page, and each page has its cause', () => {
  const told = pages.map(({number, cause}) => `${number} ${cause}`);
  expect(told.toSorted()).toEqual(
    causes.map((cause) => `${causeNumbers[cause]} ${cause}`).toSorted(),
  );
  expect(new Set(Object.values(causeNumbers)).size).toBe(causes.length);
});

describe.each(pages)('$file', ({file, text, number}) => {
  test('bears its number, and says what it means, how it comes about, and how to mend it', () => {
    expect(file).toBe(`${number}.md`);
    const parts = text.split(/^## .*$/m).map((part) => part.trim());
    expect(text.match(/^## .*$/gm)).toEqual(['## How it comes about', '## How to mend it']);
    expect(parts.filter((part) => part.length < 80)).toEqual([]);
    expect(parts[2]).toMatch(/`fieldmirror [a-z]+/);
    expect(text).toMatch(/\nIt is over when .*\.\n$/);
  });
});

test('docs/watching.md leads to each page, beside the words of its cause', () => {
  const rows = readFileSync(join(docs, 'watching.md'), 'utf8').match(/^\| \[A\d\d\].*$/gm) ?? [];
  const led = rows.flatMap((row) => {
    const [, pagesOfRow = '', causesOfRow = ''] = row.split('|');
    const words = [...causesOfRow.matchAll(/`([\w-]+)`/g)].map(([, word]) => word);
    return [...pagesOfRow.matchAll(/\[(A\d\d)\]\(alerts\/\1\.md\)/g)].map(
      ([, number], at) => `${number} ${words[at]}`,
    );
  });
  expect(led.toSorted()).toEqual(
    causes.map((cause) => `${causeNumbers[cause]} ${cause}`).toSorted(),
  );
});
