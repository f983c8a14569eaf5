// Lines that are made at the same time have no record in common.

import {expect, test} from 'vitest';
import type {ChangeRequest} from '../../src/http/change-request.ts';
import {splitIntoIndependentParts} from '../../src/http/lines.ts';
import {HttpProblem} from '../../src/http/problem.ts';
import {Random} from '../../src/service/vocabulary.ts';

interface Line {
  readonly line: number;
  readonly request: ChangeRequest | HttpProblem;
}

const number = (requests: readonly (ChangeRequest | HttpProblem)[]): Line[] =>
  requests.map((request, at) => ({line: at + 1, request}));

const upsert = (table: string, key: string, parent?: object): ChangeRequest => ({
  table,
  operation: 'upsert',
  external_key: key,
  fields: {name: 'x'},
  ...(parent === undefined ? {} : {parent}),
});

const places = (requests: readonly (ChangeRequest | HttpProblem)[], most: number) =>
  splitIntoIndependentParts(number(requests), most).map((part) => part.map(({line}) => line));

const many = (count: number, make: (at: number) => ChangeRequest | HttpProblem) =>
  Array.from({length: count}, (_, at) => make(at));

test('lines of different records are split into two halves of adjacent lines', () => {
  const lines = many(12, (at) => upsert('customers', `C-${at}`));
  expect(places(lines, 5)).toEqual([
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10],
  ]);
  expect(places(lines.slice(0, 5), 5)).toEqual([[1, 2, 3, 4, 5]]);
  expect(places(lines.slice(0, 7), 5)).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7],
  ]);
});

test('new rows are split into two halves if no line writes their common parent', () => {
  const jobs = many(10, (at) => upsert('jobs', `J-${at}`, {number: '7'}));
  expect(places(jobs, 5)).toHaveLength(2);
});

test('a parent and its children stay together, in their order', () => {
  const lines = many(12, (at) =>
    at % 3 === 0
      ? upsert('customers', `C-${at}`)
      : upsert('jobs', `J-${at}`, {external_key: `C-${at - (at % 3)}`}),
  );
  expect(places(lines, 6)).toEqual([
    [1, 2, 3, 4, 5, 6],
    [7, 8, 9, 10, 11, 12],
  ]);
  expect(places(lines, 5)).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7, 8],
  ]);
});

test('a line that cannot be read may be in either part', () => {
  const lines = many(4, () => new HttpProblem(400, 'invalid', {detail: 'no JSON', hint: ''}));
  expect(places(lines, 2)).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

const keyed = many(2, (at) => upsert('customers', `C-${at}`));

test.each<[string, ChangeRequest]>([
  ['names its record another way', {table: 'customers', operation: 'update', number: '7'}],
  [
    'names its parent another way',
    {table: 'jobs', operation: 'create', external_key: 'J', parent: {number: '7'}},
  ],
  ['sets a key', {table: 'customers', operation: 'update', number: '7', external_key: 'C-0'}],
  ['deletes beside another table', {table: 'tasks', operation: 'delete', external_key: 'T'}],
])('a line that %s keeps all lines in one part', (_, line) => {
  expect(places([...keyed, line], 2)).toEqual([[1, 2]]);
});

/** The record that a name means: the one with a number is the one with that key, too. */
const recordOf = (table: string, {number: by, external_key: key}: Partial<ChangeRequest>) =>
  by === undefined && key === undefined ? [] : [`${table} ${by ?? key?.slice(2)}`];

function touched({request}: Line): {written: string[]; read: string[]} {
  if (request instanceof HttpProblem) return {written: [], read: []};
  const {table, parent = {}} = request;
  return {written: recordOf(table, request), read: recordOf('customers', parent)};
}

test.each([1, 2, 3, 4])('no part of random lines writes a record of the other (%i)', (seed) => {
  const random = new Random('lines', 'apart', seed);
  let halved = 0;
  for (let run = 0; run < 500; run++) {
    const keys = random.pick([3, 10, 40]);
    const isMixed = random.isTrue(0.3);
    const name = () => {
      const at = random.integer(1, keys);
      return isMixed && random.isTrue(0.2) ? {number: `${at}`} : {external_key: `K-${at}`};
    };
    const lines = number(
      many(random.integer(1, 30), () => {
        const table = random.pick(['customers', 'jobs']);
        const parent = table === 'jobs' ? {parent: name()} : {};
        return {table, operation: 'upsert' as const, ...name(), ...parent};
      }),
    );
    const parts = splitIntoIndependentParts(lines, 10);
    const taken = parts.flat().map(({line}) => line);
    expect(taken.toSorted((one, other) => one - other)).toEqual(taken.map((_, at) => at + 1));
    for (const part of parts) {
      expect([part.length > 0, part.length <= 10]).toEqual([true, true]);
      expect(part).toEqual(part.toSorted((one, other) => one.line - other.line));
    }
    const [one, other] = parts;
    if (one === undefined || other === undefined) continue;
    halved++;
    const [first, second] = [one, other].map((part) => ({
      written: new Set(part.flatMap((line) => touched(line).written)),
      all: new Set(part.flatMap((line) => Object.values(touched(line)).flat())),
    }));
    expect(first?.written.intersection(second?.all ?? new Set())).toEqual(new Set());
    expect(second?.written.intersection(first?.all ?? new Set())).toEqual(new Set());
  }
  expect(halved).toBeGreaterThan(50);
});
