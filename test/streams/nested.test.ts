import {describe, expect, test} from 'vitest';
import type {Element, Value} from '../../src/api/xml-document.ts';
import {RecordError} from '../../src/core/errors.ts';
import {type Reading, toJson} from '../../src/streams/record-plan.ts';
import {element, list, SECRET, timeZone} from './sample-record.ts';

const reading: Reading = {stream: 'jobs', number: '7021', child: null, timeZone};
const json = (name: string, value: Element): unknown => {
  const text = toJson(name, value, reading);
  return text === null ? null : JSON.parse(text);
};

test('fields become JSON members sorted by name, and texts stay texts', () => {
  expect(toJson('item', element({b: '5', a: 'true', c: '0.10'}), reading)).toBe(
    '{"a":"true","b":"5","c":"0.10"}',
  );
});

test('nil and empty branches are left out, empty texts are kept', () => {
  expect(json('item', element({a: null, b: '', c: list('x', []), d: element({e: null})}))).toEqual({
    b: '',
  });
  expect(json('item', element({a: null}))).toBeNull();
  expect(json('items', list('item', []))).toBeNull();
});

test('the allocations of a job read the same in both dialects', () => {
  const allocation = (id: Value) => element({id, amount: '0.0', allocation_type: 'house'});
  const allocations = (isArray: boolean) =>
    element({
      allocations: list('allocation', [allocation(null), allocation('5001')], isArray),
      include_expenses: 'true',
    });
  expect(json('job_allocations', allocations(false))).toEqual(
    json('job_allocations', allocations(true)),
  );
  expect(json('job_allocations', allocations(true))).toEqual({
    allocations: [
      {allocation_type: 'house', amount: '0.0'},
      {allocation_type: 'house', amount: '0.0', id: '5001'},
    ],
    include_expenses: 'true',
  });
});

describe('an element is an array', () => {
  const SINGULARS = [
    ['employees', 'employee'],
    ['time_entries', 'time_entry'],
    ['job_statuses', 'job_status'],
    ['addresses', 'address'],
    ['taxes', 'tax'],
    ['children', 'child'],
    ['people', 'person'],
    ['salespeople', 'salesperson'],
    ['chosen_days_of_week', 'chosen_days_of_week'],
  ] as const;

  test.each(SINGULARS)('if it is named %s and its one item is named %s', (name, item) => {
    for (const isArray of [true, false])
      expect(json(name, list(item, ['a'], isArray))).toEqual(['a']);
  });

  test('if it is marked as an array, whatever the names of its items', () => {
    expect(json('crew', list('employee', ['a', null, element({b: null})]))).toEqual([
      'a',
      null,
      {},
    ]);
  });

  test('if it has several items and all have the same name', () => {
    expect(json('crew', list('employee', ['a', 'b'], false))).toEqual(['a', 'b']);
  });

  test('but not if its one field has an unrelated name', () => {
    expect(json('crew', element({leader: 'Ann'}))).toEqual({leader: 'Ann'});
    expect(json('statuses', element({statu: 'x'}))).toEqual({statu: 'x'});
  });
});

test('secrets are dropped at every depth, in objects and arrays', () => {
  const deep = element({
    users: list('user', [
      element({name: 'a', api_token: SECRET, more: element({password_salt: SECRET, b: 'c'})}),
    ]),
  });
  expect(json('x', deep)).toEqual({users: [{name: 'a', more: {b: 'c'}}]});
  expect(json('keys', list('apikey', [SECRET]))).toBeNull();
  expect(json('x', element({tokens: list('item', [SECRET])}))).toBeNull();
});

test('a repeated name among others is refused, because a value would be lost', () => {
  const twice: Element = {names: ['a', 'b', 'a'], values: ['1', '2', '3'], isArray: false};
  expect(() => toJson('item', twice, reading)).toThrow(RecordError);
  expect(() => toJson('item', twice, reading)).toThrow(
    'jobs 7021: field item.a: expected it once, got it twice',
  );
});

test('names like constructor or the prototype’s are ordinary names', () => {
  const names = ['__proto__', 'constructor', 'hasOwnProperty'];
  const odd: Element = {names, values: ['1', '2', '3'], isArray: false};
  expect(toJson('item', odd, reading)).toBe(
    '{"__proto__":"1","constructor":"2","hasOwnProperty":"3"}',
  );
});
