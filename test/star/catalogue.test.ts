import {describe, expect, test} from 'vitest';
import {groupQuestion} from '../../src/star/answer.ts';
import {members, questions} from '../../src/star/star.ts';
import {tieOuts} from '../../src/star/tie-outs.ts';
import {formatPage} from './catalogue-page.ts';

test('docs/insight.md is what the definitions say; vitest -u makes it anew', async () => {
  await expect(formatPage()).toMatchFileSnapshot('../../docs/insight.md');
});

const everything = questions.flatMap((question) => [
  [question.name, question] as const,
  ...Object.keys(question.by ?? {}).map(
    (by) => [`${question.name} --by ${by}`, groupQuestion(question, by)] as const,
  ),
]);

describe.each(everything)('%s', (_, question) => {
  test('adds up columns that it has, and calls money what it has', () => {
    const columns = question.columns.map(([name]) => name);
    expect(columns).toEqual(expect.arrayContaining([...question.totals, ...question.money]));
  });

  test('is in words, and says how it may be wrong', () => {
    for (const words of [
      question.question,
      question.definition,
      question.caveats,
      question.comment,
    ])
      expect(words).toMatch(/^[A-Z].{10,}[.?]?$/);
  });

  test('divides nothing that was rounded', () => {
    const rounded = [...question.from.matchAll(/, \d\) AS (\w+)/g)].map(([, name]) => name);
    for (const name of rounded)
      expect(question.from).not.toMatch(
        new RegExp(`(?:/|nullif\\()\\s*(?:\\w+\\.)?${name}\\b|\\.${name} /`),
      );
  });

  test('rests on claims that there are', () => {
    const known = tieOuts.map(({name}) => name);
    expect(known).toEqual(expect.arrayContaining([...question.tieOuts]));
  });
});

test('no name of the star or of a question is used twice, and no column of one of them', () => {
  const all = [...members, ...questions];
  expect(new Set(all.map(({name}) => name)).size).toBe(all.length);
  for (const {name, columns} of all)
    expect(new Set(columns.map(([column]) => column)).size, name).toBe(columns.length);
});
