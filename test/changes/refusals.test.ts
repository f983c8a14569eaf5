// Why changes were not decided, as people are told it: what says the same of many changes is one
// group.

import {expect, test} from 'vitest';
import {listRefusals} from '../../src/changes/decisions.ts';
import {hideGroup} from '../../src/console/hide-change.ts';

const undoneBefore = (count: number) =>
  Array.from({length: count}, (_, at) => ({
    changeId: `${at + 1}`,
    refusal: `change ${at + 1}: change ${at + 101} takes it back already`,
    earlierUndo: `${at + 101}`,
  }));

test('a few changes that were undone before each name the change that undoes them', () => {
  expect(listRefusals(undoneBefore(2))).toEqual([
    {changeId: '1', what: 'change 101 takes it back already', isQuote: false},
    {changeId: '2', what: 'change 102 takes it back already', isQuote: false},
  ]);
});

test('many changes that were undone before share one text; other refusals keep theirs', () => {
  const others = [
    {changeId: '8', refusal: 'change 8: name: changed since'},
    {changeId: '9', refusal: null},
  ];
  const told = listRefusals([...undoneBefore(4), ...others]).map(({what}) => what);
  expect(told).toEqual([
    ...Array(4).fill('another change takes it back already'),
    'name: changed since',
  ]);
});

test('hideGroup hides the text of a failed statement, but not our own text', () => {
  const group = {
    what: 'change 101 takes it back already',
    isQuote: false,
    count: 1,
    first: ['1'],
  };
  expect(hideGroup(group)).toEqual(group);
  const quoted = listRefusals([
    {changeId: '7', refusal: 'change 7: fax: expected a number, got "555"', isQuote: true},
  ]).map((refusal) => hideGroup({...group, ...refusal}));
  expect(JSON.stringify(quoted)).not.toContain('555');
});
