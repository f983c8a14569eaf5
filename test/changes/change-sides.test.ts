// What the service holds of a field that was fought over, by the state of the change and who won.

import {describe, expect, test} from 'vitest';
import {compareSides} from '../../src/changes/story.ts';

const conflict = {
  field: 'name',
  baseValue: 'old',
  warehouseValue: 'ours',
  serviceValue: 'theirs',
  rule: 'ask',
  foundAt: '2026-10-31T00:00:00Z',
  decidedAt: '2026-11-01T00:00:00Z',
  decidedBy: 'ann',
} as const;

describe.each([
  {state: 'conflict', winner: null, service: 'theirs', note: 'rule ask: no one has decided yet'},
  {
    state: 'pending',
    winner: 'warehouse',
    service: 'theirs',
    note: "the warehouse's value counts, decided by ann",
  },
  {
    state: 'sending',
    winner: 'warehouse',
    service: 'theirs',
    note: "the warehouse's value counts, decided by ann",
  },
  {
    state: 'done',
    winner: 'warehouse',
    service: 'ours',
    note: "as sent: the warehouse's value counts, decided by ann",
  },
  {
    state: 'done',
    winner: 'service',
    service: 'theirs',
    note: "the service's value counts, decided by ann",
  },
  {
    state: 'cancelled',
    winner: 'service',
    service: 'theirs',
    note: "the service's value counts, decided by ann",
  },
] as const)(
  'a change that is $state, with the winner $winner',
  ({state, winner, service, note}) => {
    test(`shows ${service} as the value of the service`, () => {
      const change = {fields: {name: 'ours'}, base: {name: 'old'}, state, result: null};
      const [side] = compareSides({
        change,
        conflicts: [{...conflict, winner}],
        alterations: [],
        row: null,
      });
      expect(side).toMatchObject({service, note, isFought: winner === null});
    });
  },
);
