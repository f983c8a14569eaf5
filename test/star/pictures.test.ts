import {expect, test} from 'vitest';
import {boards, drawings, gridColumns} from '../../src/star/boards.ts';
import {questions} from '../../src/star/star.ts';

const drawn = Object.entries(drawings).flatMap(([name, drawing]) =>
  drawing ? [{name, ...drawing}] : [],
);

test.each(drawn)('$name has the columns that its chart draws', ({name, along, series}) => {
  const columns = questions
    .find((question) => question.name === name)
    ?.columns.map(([column]) => column);
  expect(columns).toEqual(expect.arrayContaining([along, ...Object.keys(series)]));
});

test.each(Object.entries(gridColumns))('%s has the columns that its table shows', (name, of) => {
  const columns = questions
    .find((question) => question.name === name)
    ?.columns.map(([column]) => column);
  expect(columns).toEqual(expect.arrayContaining(Object.values(of ?? {})));
});

test.each(boards)('every question on the page $name exists', ({questions: names}) => {
  expect(questions.map(({name}) => name)).toEqual(expect.arrayContaining([...names]));
});
