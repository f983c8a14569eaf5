import {describe, expect, test} from 'vitest';
import type {Rule} from '../../src/changes/authored-rows.ts';
import {type Merge, mergeFields, type Sides} from '../../src/push/compare.ts';
import {factsOf} from './facts.ts';

function merge(
  sides: Partial<Sides> & Pick<Sides, 'fields' | 'base' | 'remote'>,
  rules: Readonly<Record<string, Rule>> = {},
): Merge {
  const {rules: all} = factsOf({}, {rules});
  return mergeFields({isServiceNewer: null, rules: all, held: sides.base, ...sides});
}

describe('one field', () => {
  test.each<[string, Pick<Sides, 'fields' | 'base' | 'remote'>, Partial<Merge>]>([
    [
      'changed here alone is sent',
      {fields: {fax: 'b'}, base: {fax: 'a'}, remote: {fax: 'a'}},
      {send: {fax: 'b'}},
    ],
    [
      'changed to the same on both sides is not',
      {fields: {fax: 'b'}, base: {fax: 'a'}, remote: {fax: 'b'}},
      {unsent: ['fax']},
    ],
    [
      'that the service holds already is not',
      {fields: {fax: 'a'}, base: {fax: 'a'}, remote: {fax: 'a'}},
      {unsent: ['fax']},
    ],
    [
      'that the service does not tell is sent, and no conflict',
      {fields: {fax: 'b'}, base: {fax: 'a'}, remote: {}},
      {send: {fax: 'b'}},
    ],
    [
      'that is wanted empty is sent so',
      {fields: {fax: null}, base: {fax: 'a'}, remote: {fax: 'a'}},
      {send: {fax: null}},
    ],
    [
      'changed there alone is left as it is',
      {fields: {}, base: {fax: 'a'}, remote: {fax: 'c'}},
      {},
    ],
    [
      'of a wish without a base is sent',
      {fields: {fax: 'b'}, base: {}, remote: {fax: 'c'}},
      {send: {fax: 'b'}},
    ],
  ])('%s', (_, sides, expected) => {
    expect(merge(sides)).toEqual({send: {}, unsent: [], lost: [], conflicts: [], ...expected});
  });
});

test.each([
  ['now shows', {fax: 'b'}, {fax: 'b'}],
  ['took in since, while the reading shows the value that the author saw', {fax: 'b'}, {fax: 'a'}],
])('a value that the warehouse %s is a conflict', (_, held, remote) => {
  expect(merge({fields: {fax: 'x'}, base: {fax: 'a'}, held, remote})).toMatchObject({
    send: {},
    conflicts: [{field: 'fax', baseValue: 'a', warehouseValue: 'x', serviceValue: remote.fax}],
  });
});

describe('a field that both sides changed', () => {
  const sides = {
    fields: {fax: 'b', name: 'Bo'},
    base: {fax: 'a', name: 'Al'},
    remote: {fax: 'c', name: 'Al'},
  };

  test.each([
    ['ask', null, null, {name: 'Bo'}, []],
    ['warehouse', null, 'warehouse', {fax: 'b', name: 'Bo'}, []],
    ['service', null, 'service', {name: 'Bo'}, ['fax']],
    ['newest', true, 'service', {name: 'Bo'}, ['fax']],
    ['newest', false, 'warehouse', {fax: 'b', name: 'Bo'}, []],
    ['newest', null, null, {name: 'Bo'}, []],
  ] as const)(
    'under the rule %s (the service is newer: %s) is won by %s',
    (rule, isServiceNewer, winner, send, lost) => {
      expect(merge({...sides, isServiceNewer}, {fax: rule})).toEqual({
        send,
        unsent: [],
        lost,
        conflicts: [
          {field: 'fax', baseValue: 'a', warehouseValue: 'b', serviceValue: 'c', rule, winner},
        ],
      });
    },
  );
});

describe('fields of one group', () => {
  const street = 'service_address';
  const city = 'service_city';
  const base = {[street]: 'Elm 1', [city]: 'Ayton'};
  const moved = {
    fields: {[street]: 'Oak 2'},
    base,
    remote: {[street]: 'Elm 1', [city]: 'Beeville'},
  };

  test('conflict together: a street changed here conflicts with a city changed there', () => {
    const {send, conflicts} = merge(moved);
    expect(send).toEqual({});
    expect(conflicts.map(({field, winner}) => [field, winner])).toEqual([
      [street, null],
      [city, null],
    ]);
  });

  test('are sent together if the warehouse wins, including the unchanged field', () => {
    const both = {[street]: 'warehouse', [city]: 'warehouse'} as const;
    expect(merge(moved, both).send).toEqual({[street]: 'Oak 2', [city]: 'Ayton'});
  });

  test('are left to a person if their rules differ', () => {
    const mixed = {[street]: 'warehouse', [city]: 'service'} as const;
    expect(merge(moved, mixed).conflicts.map(({rule, winner}) => [rule, winner])).toEqual([
      ['ask', null],
      ['ask', null],
    ]);
  });

  test('are sent without unchanged fields if the service changed none of them', () => {
    const remote = {[street]: 'Elm 1', [city]: 'Ayton'};
    expect(merge({...moved, remote})).toMatchObject({send: {[street]: 'Oak 2'}, conflicts: []});
  });

  test('are sent without an unchanged field that the service does not return', () => {
    const sides = {...moved, remote: {[street]: 'Elm 1'}};
    expect(merge(sides)).toEqual({send: {[street]: 'Oak 2'}, unsent: [], lost: [], conflicts: []});
    const theirs = {...moved, remote: {[street]: 'Ash 3'}};
    expect(merge(theirs).conflicts.map(({field}) => field)).toEqual([street]);
  });

  test('are no conflict if the service already has the wanted value', () => {
    expect(merge({...moved, fields: {[street]: 'Elm 1'}})).toEqual({
      send: {},
      unsent: [street],
      lost: [],
      conflicts: [],
    });
  });

  test('are not part of a change that wants none of them', () => {
    const sides = {
      fields: {fax: 'b'},
      base: {...base, fax: 'a'},
      remote: {...base, [city]: 'Beeville', fax: 'a'},
    };
    expect(merge(sides)).toMatchObject({send: {fax: 'b'}, conflicts: []});
  });
});
