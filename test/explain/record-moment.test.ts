import {describe, expect, test} from 'vitest';
import {findMoment, momentOf} from '../../src/explain/record-story.ts';
import type {Version} from '../../src/explain/record-versions.ts';

const version = (validFrom: string, validTo: string | null): Version => ({
  rowId: '1',
  validFrom,
  validTo,
  isDeleted: false,
  writer: {kind: 'edit', writtenBy: null, application: null},
  remover: null,
  fields: new Map(),
});

const first = version('2027-01-01T10:00:00Z', '2027-01-01T10:00:00.5Z');
const second = version('2027-01-01T10:00:00.5Z', '2027-01-02T00:00:00.000001Z');
const third = version('2027-01-03T00:00:00Z', null);
const versions = [third, second, first] as const;

describe('a requested time', () => {
  test.each([
    ['now', null, 3],
    ['before the first version', '2027-01-01T09:59:59.999999Z', 0],
    ['the very beginning of a version', '2027-01-01T10:00:00Z', 1],
    [
      'an instant before the next, which has digits that the first has not',
      '2027-01-01T10:00:00.499999Z',
      1,
    ],
    ['the beginning of the next', '2027-01-01T10:00:00.5Z', 2],
    ['the same with more digits', '2027-01-01T10:00:00.500000Z', 2],
    ['the last microsecond of a row', '2027-01-02T00:00:00Z', 2],
    ['a time between two rows', '2027-01-02T12:00:00Z', 0],
    ['after the last', '2030-01-01T00:00:00Z', 3],
  ])('%s shows the version that was valid then', (_, at, expected) => {
    expect(findMoment(versions, at).version).toBe(expected);
  });

  test('lists that version first, then the older ones', () => {
    expect(findMoment(versions, '2027-01-01T12:00:00Z').versions).toEqual([second, first]);
  });
});

test('the number of a version gives its start time, and that of the last one gives now', () => {
  expect([0, 1, 2, 3, 99].map((number) => momentOf(versions, number))).toEqual([
    first.validFrom,
    first.validFrom,
    second.validFrom,
    null,
    null,
  ]);
});
