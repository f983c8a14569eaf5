// The checker itself must find each fault in a history written by hand, and none in a right one.

import {describe, expect, test} from 'vitest';
import {type Counter, counters, judge} from '../labs/push/checker.ts';
import type {History} from '../labs/push/history.ts';
import {
  clean,
  create,
  created,
  deleted,
  done,
  doneDelete,
  doneUpdate,
  edited,
  nothing,
  putBack,
  record,
  remove,
  renamed,
  row,
  theirs,
  update,
  updated,
  writtenOver,
} from './written-history.ts';

/** The counts of the checker, except those that are 0. */
function count(history: Partial<History>, base: History = clean): Partial<Record<Counter, number>> {
  const verdict = judge({...base, ...history});
  return Object.fromEntries(
    counters.flatMap((name) => (verdict[name].length === 0 ? [] : [[name, verdict[name].length]])),
  );
}

describe('a correct history has no fault', () => {
  test.each<[string, Partial<History>]>([
    ['nothing happened', nothing],
    ['a create that arrived', {}],
    ['a create and an update of it', edited],
    [
      'several updates that became one request',
      {...edited, intents: [create, {...update, fields: {name: 'X'}}, update]},
    ],
    [
      'updates that went with the create',
      {
        ...renamed,
        intents: [create, {...update, changeId: '1'}],
        effects: [{...created, fields: {name: 'B #1'}}],
      },
    ],
    [
      'two of the same were wanted, and two were made',
      {
        intents: [create, {...create, changeId: '4', rowId: '11'}],
        effects: [created, {...created, number: '8'}],
        changes: [done, {...done, changeId: '4', rowId: '11', number: '8'}],
        rows: [row, {...row, rowId: '11', number: '8'}],
        records: [record, {...record, number: '8'}],
      },
    ],
    [
      'a delete',
      {
        intents: [create, remove],
        effects: [created, deleted],
        changes: [done, doneDelete],
        rows: [{...row, isDeleted: true}],
        records: [],
      },
    ],
    [
      'a create that the service refused, with its words',
      {
        effects: [],
        changes: [{...done, state: 'rejected', number: null, reason: "422: Name can't be blank"}],
        rows: [{...row, number: null}],
        records: [],
      },
    ],
    [
      'a create that its author deleted before it was sent',
      {
        intents: [create, {...remove, changeId: '1'}],
        effects: [],
        changes: [
          {
            ...done,
            state: 'cancelled',
            number: null,
            reason: 'the row was deleted before it was sent',
          },
        ],
        rows: [],
        records: [],
      },
    ],
    [
      'an update that was changed back',
      {
        intents: [create, update, {...update, fields: {name: 'A #1'}, saw: {name: 'B #1'}}],
        changes: [
          done,
          {...doneUpdate, state: 'cancelled', reason: 'changed back before it was sent'},
        ],
      },
    ],
    [
      'the same instant written in another way',
      {
        ...clean,
        rows: [{...row, fields: {name: '2027-01-31T14:00:00+00:00'}}],
        records: [{...record, fields: {name: '2027-01-31T09:00:00-05:00'}}],
        intents: [{...create, fields: {name: '2027-01-31T14:00:00+00:00'}}],
      },
    ],
    [
      'a value of the service that lost, and is kept',
      {
        ...edited,
        effects: [created, theirs, {...updated, before: {name: 'Theirs'}}],
        conflicts: [
          {
            changeId: '2',
            field: 'name',
            warehouseValue: 'B #1',
            serviceValue: 'Theirs',
            winner: 'warehouse',
          },
        ],
      },
    ],
    [
      'a value that the service had given up, sent again with its block, as a person decided',
      {
        ...putBack,
        conflicts: [
          {
            changeId: '2',
            field: 'service_city',
            warehouseValue: 'Hale',
            serviceValue: 'Elm',
            winner: 'warehouse',
          },
        ],
      },
    ],
    [
      'a value of the author that lost, and is kept',
      {
        intents: [create, update],
        effects: [created, theirs],
        changes: [done, doneUpdate],
        conflicts: [
          {
            changeId: '2',
            field: 'name',
            warehouseValue: 'B #1',
            serviceValue: 'Theirs',
            winner: 'service',
          },
        ],
        rows: [{...row, fields: {name: 'Theirs'}}],
        records: [{...record, fields: {name: 'Theirs'}}],
      },
    ],
    [
      'an update that was written again over an edit that lost by a rule',
      {
        ...writtenOver,
        conflicts: [
          {
            changeId: '2',
            field: 'name',
            warehouseValue: 'B #1',
            serviceValue: 'Theirs',
            winner: 'warehouse',
          },
        ],
      },
    ],
  ])('%s', (_name, history) => {
    expect(count(history)).toEqual({});
  });

  test('a change left to a person is counted, and one that waits for it is not lost', () => {
    const left = {
      ...done,
      state: 'conflict',
      number: null,
      reason: 'several records could be it: 7, 8',
    };
    const child = {
      ...done,
      changeId: '5',
      table: 'jobs',
      rowId: '12',
      state: 'pending',
      number: null,
      waitsFor: '1',
    };
    const wanted = {...create, changeId: '5', table: 'jobs', rowId: '12', key: '#2'};
    const rows = [
      {...row, number: null},
      {...row, table: 'jobs', rowId: '12', number: null},
    ];
    expect(
      count({intents: [create, wanted], changes: [left, child], effects: [], rows, records: []}),
    ).toEqual({leftToPerson: 1});
  });
});

describe('each fault is found', () => {
  test.each<[string, Partial<Record<Counter, number>>, Partial<History>]>([
    ['a change that is nowhere', {lost: 1, unexpected: 1}, {changes: []}],
    [
      'a change that never comes to rest',
      {lost: 1},
      {
        effects: [],
        changes: [{...done, state: 'pending', number: null}],
        rows: [{...row, number: null, isPending: true}],
        records: [],
      },
    ],
    [
      'a create that is reported as done and was never made',
      {lost: 1, diverged: 1},
      {effects: [], records: []},
    ],
    [
      'two creates that are reported as done by one record',
      {lost: 1},
      {
        intents: [create, {...create, changeId: '4', rowId: '11'}],
        changes: [done, {...done, changeId: '4', rowId: '11'}],
      },
    ],
    [
      'an update that is reported as done and never arrived',
      {lost: 1, diverged: 1, unrecorded: 1},
      {...edited, effects: [created], records: [record]},
    ],
    [
      'a delete that is reported as done although the record exists',
      {lost: 1, phantomDelete: 1},
      {intents: [create, remove], changes: [done, doneDelete], rows: [{...row, isDeleted: true}]},
    ],
    [
      'a create that was made twice',
      {duplicated: 1, diverged: 1},
      {effects: [created, {...created, number: '8'}], records: [record, {...record, number: '8'}]},
    ],
    [
      'an update that was written twice, over what came between',
      {duplicated: 1},
      {...edited, effects: [created, updated, {...updated, before: {name: 'B #1'}}]},
    ],
    [
      'an update that was written again over an edit, though no conflict was decided so',
      {duplicated: 1, unrecorded: 1},
      writtenOver,
    ],
    [
      'an effect that no change wanted',
      {unexpected: 1, unrecorded: 1},
      {effects: [created, {...updated, fields: {phone_number: '1'}, before: {phone_number: '2'}}]},
    ],
    [
      'a record that no change created',
      {unexpected: 1, diverged: 1},
      {
        effects: [created, {...created, number: '8', key: '#9'}],
        records: [record, {...record, number: '8'}],
      },
    ],
    [
      'a value that the service had given up, sent again though no conflict was decided so',
      {unexpected: 1, unrecorded: 1},
      putBack,
    ],
    [
      'a delete that no change wanted',
      {unexpected: 1, diverged: 1},
      {effects: [created, deleted], records: []},
    ],
    [
      'a create that is reported as refused and was made',
      {unexpected: 1, diverged: 1},
      {
        changes: [{...done, state: 'rejected', number: null, reason: 'no'}],
        rows: [{...row, number: null}],
      },
    ],
    [
      'a row that is marked deleted although its record exists',
      {phantomDelete: 1},
      {rows: [{...row, isDeleted: true}]},
    ],
    [
      'a refusal without a reason',
      {unreported: 1},
      {
        effects: [],
        changes: [{...done, state: 'rejected', number: null, reason: ' '}],
        rows: [{...row, number: null}],
        records: [],
      },
    ],
    [
      'a change that is cancelled although its author did not cancel it',
      {unreported: 1},
      {
        effects: [],
        changes: [{...done, state: 'cancelled', number: null, reason: 'given up'}],
        rows: [],
        records: [],
      },
    ],
    ['a field that differs', {diverged: 1}, {rows: [{...row, fields: {name: 'C'}}]}],
    ['a record without a row', {diverged: 1}, {rows: []}],
    ['a row without a record', {diverged: 1}, {rows: [row, {...row, rowId: '11', number: '9'}]}],
    [
      'a row that is marked as under change for ever',
      {diverged: 1},
      {rows: [{...row, isPending: true}]},
    ],
    ['a secret in a log', {leaked: 1}, {canaryHits: ['log: token']}],
    [
      'a value of the service that no reading saw and no table keeps',
      {unrecorded: 1},
      {...edited, effects: [created, theirs, {...updated, before: {name: 'Theirs'}}]},
    ],
    [
      'a value of the author that lost and that no table keeps',
      {unrecorded: 1},
      {
        intents: [create, update],
        effects: [created, theirs],
        changes: [done, doneUpdate],
        rows: [{...row, fields: {name: 'Theirs'}}],
        records: [{...record, fields: {name: 'Theirs'}}],
      },
    ],
  ])('%s', (_name, found, history) => {
    expect(count(history)).toEqual(found);
  });
});
