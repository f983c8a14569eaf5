import {describe, expect, test} from 'vitest';
import {isMatch, listFiltersOf, pickCandidates, toAppearance} from '../../src/push/compare.ts';
import type {ChangeValues} from '../../src/rows/change-values.ts';
import {factsOf} from './facts.ts';

const customer = factsOf();

describe('a record can be the result of a create', () => {
  test.each<[string, ChangeValues, ChangeValues, boolean]>([
    [
      'that bears all that was sent',
      {name: 'Ada', fax: '1'},
      {name: 'Ada', fax: '1', id: '9'},
      true,
    ],
    ['that bears it trimmed, joined and in another case', {name: ' Ada  B'}, {name: 'ADA b'}, true],
    [
      'that has nothing where an empty text was sent',
      {name: 'Ada', fax: ''},
      {name: 'Ada', fax: null},
      true,
    ],
    ['that does not tell a field', {name: 'Ada', fax: '1'}, {name: 'Ada'}, true],
    ['but not one that has none of it', {name: 'Ada', fax: '1'}, {name: 'Ada', fax: null}, false],
    [
      'but not one that differs in a field',
      {name: 'Ada', fax: '1'},
      {name: 'Ada', fax: '2'},
      false,
    ],
    ['but not one that bears more than an empty field', {fax: null}, {fax: '2'}, false],
  ])('%s', (_, fields, values, isOurs) => {
    expect(isMatch(customer, fields, {number: '7', values})).toBe(isOurs);
  });

  test.each([
    [
      'tasks',
      {scheduled_at: '2027-03-01T15:00:00Z'},
      {scheduled_at: '2027-03-01T10:00:00-05:00'},
      true,
    ],
    [
      'tasks',
      {scheduled_at: '2027-03-01T15:00:00Z'},
      {scheduled_at: '2027-01-03T15:00:00Z'},
      false,
    ],
    ['jobs', {employee_ids: ['2', '1']}, {employee_ids: ['1', '2']}, true],
    ['jobs', {employee_ids: ['2', '1']}, {employee_ids: ['1']}, false],
  ])('in %s by the meaning of its values: %j, %j', (table, fields, values, isOurs) => {
    expect(isMatch(factsOf({table}), fields, {number: '7', values})).toBe(isOurs);
  });
});

describe('of the records that match a create', () => {
  const facts = factsOf({fields: {name: 'Ada'}});
  const row = (number: string, fax: string | null = null) => ({number, values: {name: 'Ada', fax}});
  const nobody = {rivals: [], known: new Set<string>(), older: new Set<string>()};

  test.each([
    [
      'each may be ours that no other create can have made',
      [row('7'), row('8')],
      {},
      {ours: ['7', '8'], older: []},
    ],
    [
      'none is ours that was known before',
      [row('7'), row('8')],
      {known: new Set(['7'])},
      {ours: ['8'], older: []},
    ],
    [
      'none is ours that is nearer to another create in doubt',
      [row('7', '1'), row('8', '2')],
      {rivals: [{name: 'Ada', fax: '1'}]},
      {ours: ['8'], older: []},
    ],
    [
      'each may be ours that matches another create equally well',
      [row('7', '1')],
      {rivals: [{name: 'Ada'}]},
      {ours: ['7'], older: []},
    ],
    [
      'those that seem older are set apart',
      [row('7'), row('8')],
      {older: new Set(['8'])},
      {ours: ['7'], older: ['8']},
    ],
    [
      'one that seems older and was known is neither',
      [row('7')],
      {older: new Set(['7']), known: new Set(['7'])},
      {ours: [], older: []},
    ],
    ['one that was on two pages counts once', [row('7'), row('7')], {}, {ours: ['7'], older: []}],
  ])('%s', (_, rows, claimants, candidates) => {
    expect(pickCandidates(facts, rows, {...nobody, ...claimants})).toEqual(candidates);
  });
});

describe('the timestamps of a record', () => {
  const shown = 'Mon, 01 Mar 2027 20:00:00 GMT';
  test.each<[string, ChangeValues, string | null, object]>([
    [
      'are those of the service',
      {created_at: 'A'},
      shown,
      {createdAt: 'A', shownAt: '2027-03-01T20:00:00.000Z'},
    ],
    ['may have another name', {created_on: 'B'}, shown, {createdAt: 'B'}],
    ['may be missing', {created_at: null}, null, {createdAt: null, shownAt: null}],
    ['are unknown where they cannot be read', {}, 'yesterday', {createdAt: null, shownAt: null}],
  ])('%s', (_, values, dateHeader, expected) => {
    expect(toAppearance({number: '7', values, dateHeader})).toMatchObject({
      number: '7',
      ...expected,
    });
  });
});

test.each([
  ['the name', {name: 'Ada', fax: '1'}, false, {name: 'Ada'}],
  ['the name, also of several words', {name: 'Ada & Sons'}, false, {name: 'Ada & Sons'}],
  ['nothing, where the name has outer blanks', {name: ' Ada '}, false, {}],
  ['nothing, where the name has a no-break space', {name: 'Ada\u00a0B'}, false, {}],
  ['nothing, where a letter has several Unicode forms', {name: 'Ad\u00e9la'}, false, {}],
  ['nothing, where the name is blank', {name: '  '}, false, {}],
  ['nothing if there is no name', {fax: '1', name: null}, false, {}],
  ['nothing, in the last look', {name: 'Ada'}, true, {}],
])('a list is filtered by %s', (_, fields, isLast, filters) => {
  expect(listFiltersOf(fields, {isLast})).toEqual(filters);
});
