import {describe, expect, test} from 'vitest';
import {groupQuestion} from '../../src/star/answer.ts';
import {members, questions} from '../../src/star/star.ts';
import {tieOuts} from '../../src/star/tie-outs.ts';
import {formatPage} from './catalogue-page.ts';

test('docs/insight.md matches the definitions (vitest -u updates it)', async () => {
  await expect(formatPage()).toMatchFileSnapshot('../../docs/insight.md');
});

const everything = questions.flatMap((question) => [
  [question.name, question] as const,
  ...Object.keys(question.by ?? {}).map(
    (by) => [`${question.name} --by ${by}`, groupQuestion(question, by)] as const,
  ),
]);

describe.each(everything)('the question %s', (_, question) => {
  test('has every column that it lists as a total or as money', () => {
    const columns = question.columns.map(([name]) => name);
    expect(columns).toEqual(expect.arrayContaining([...question.totals, ...question.money]));
  });

  test('has texts for its question, definition, caveats and comment', () => {
    for (const words of [
      question.question,
      question.definition,
      question.caveats,
      question.comment,
    ])
      expect(words).toMatch(/^[A-Z].{10,}[.?]?$/);
  });

  test('divides no rounded value', () => {
    const rounded = [...question.from.matchAll(/, \d\) AS (\w+)/g)].map(([, name]) => name);
    for (const name of rounded)
      expect(question.from).not.toMatch(
        new RegExp(`(?:/|nullif\\()\\s*(?:\\w+\\.)?${name}\\b|\\.${name} /`),
      );
  });

  test('refers only to tie-outs that exist', () => {
    const known = tieOuts.map(({name}) => name);
    expect(known).toEqual(expect.arrayContaining([...question.tieOuts]));
  });
});

test('names of members and questions are unique, and so are the columns of each', () => {
  const all = [...members, ...questions];
  expect(new Set(all.map(({name}) => name)).size).toBe(all.length);
  for (const {name, columns} of all)
    expect(new Set(columns.map(([column]) => column)).size, name).toBe(columns.length);
});
