// Texts for users are plain technical English: words of a private dialect stay out of the README,
// docs (docs/cli.md has all help texts), log messages, errors, pages and comments of the database,
// and of the titles of tests with the labels that complete them. Lower an exception that got
// better.

import {expect, test} from 'vitest';
import {listFiles, listSources, readText} from './support/structure.ts';
import {visitNodes} from './support/syntax-tree.ts';

const exceptions = JSON.parse(readText('test/words-exceptions.json')) as Record<string, number>;

const words = [
  ...['tells', 'told', 'goes', 'gone', 'stands', 'stand', 'lies', 'rests on', 'rest on', 'mend'],
  ...['mends', 'mended', 'looks', 'looked', 'asks for', 'asked for', 'hears', 'heard'],
  ...['is none', 'of ours', 'of yours', 'of its own', 'of their own', 'anew', 'by itself'],
  ...['by themselves', 'at work', 'under way', 'in force', 'till', 'by the clock of', 'owed'],
  ...[
    'a moment',
    'a night',
    'the past',
    'look after',
    'looks after',
    'goes on',
    'go on',
    'went on',
  ],
  ...['any more', 'once more', 'whoever', 'nobody', 'what was sent', 'where there'],
];
const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi');

/** Blocks of code show what a program prints. */
function readProse(path: string): string {
  return readText(path).replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/**
 * The texts in a source that a person may read: those of three words or more that are no SQL. Log
 * messages, errors, pages and comments of tables are among them.
 */
function readTexts(path: string): string[] {
  const texts: string[] = [];
  visitNodes(readText(path), (node) => {
    const text = node?.type === 'TemplateElement' ? node.value.cooked : node?.value;
    if (/^(?:Literal|TemplateElement)$/.test(node?.type) && isSentence(text)) texts.push(text);
  });
  return texts;
}

/** Titles of tests, and the first texts in the rows of `test.each`, which complete a title. */
function readTitles(path: string): string[] {
  const text = readText(path);
  const titles: string[] = [];
  visitNodes(text, (node) => {
    const isTest = /^(?:test|describe)\b/.test(text.slice(node?.callee?.start, node?.end));
    const [title] = node?.type === 'CallExpression' && isTest ? node.arguments : [];
    const rows = title?.type === 'ArrayExpression' ? title.elements : [];
    const labels = rows.map((row: {elements?: unknown[]} | null) => row?.elements?.[0] ?? row);
    for (const part of [title, ...labels])
      if (/Literal$/.test(part?.type)) titles.push(text.slice(part.start, part.end));
  });
  return titles;
}

function isSentence(text: unknown): text is string {
  return typeof text === 'string' && /\s\S+\s/.test(text) && !sql.test(text);
}

const sql = /\b(?:SELECT|UPDATE|INSERT|DELETE|FROM|WHERE|JOIN|CREATE|ORDER BY|AND|OR|AS)\b/;

test('texts for users and titles avoid the listed words, apart from known exceptions', () => {
  const documents = listFiles().filter((path) =>
    /^(?:README|docs\/(?!decisions\/).*)\.md$/.test(path),
  );
  const tests = listFiles().filter((path) => /^test\/.*\.ts$/.test(path));
  const texts = [
    ...documents.map((path) => [path, readProse(path)] as const),
    ...listSources().map((path) => [path, readTexts(path).join('\n')] as const),
    ...tests.map((path) => [path, readTitles(path).join('\n')] as const),
  ];
  const counted = texts.map(([path, text]) => [path, text.match(pattern) ?? []] as const);
  const found = counted.filter(([, {length}]) => length > 0);
  const more = found.filter(([path, {length}]) => length > (exceptions[path] ?? 0));
  expect(more, 'use the words of plain technical English').toEqual([]);
});
