import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {NumberSet} from '../../src/rows/number-set.ts';
import {
  endsOf,
  findGaps,
  findLost,
  findMissed,
  findUnseen,
  rangeOf,
  wideGap,
} from '../../src/sweeps/evidence.ts';

const range = (known: readonly number[], absent: readonly number[] = []) =>
  rangeOf({
    seen: new NumberSet(known.map(String)),
    seenAgain: new NumberSet(),
    live: new NumberSet(),
    deleted: new NumberSet(),
    absent: new NumberSet(absent.map(String)),
  });

describe('the numbers that a sweep requests', () => {
  test('are those that only one pass saw, and those of live rows that neither saw', () => {
    const [seen, seenAgain] = [new NumberSet(['1', '2']), new NumberSet(['2', '3'])];
    const passes = {seen, seenAgain, live: new NumberSet(['1', '2', '3', '4'])};
    expect([...findMissed(passes)]).toEqual(['3']);
    expect([...findLost(passes)]).toEqual(['1']);
    expect([...findUnseen(passes)]).toEqual(['4']);
  });

  test('are all those never seen between the lowest and the highest', () => {
    expect(findGaps(range([2, 3, 6, 8]), 100)).toEqual({
      numbers: ['4', '5', '7'],
      left: 0,
      sampled: 0,
    });
  });

  test('are an empty list if no number is known, or only one', () => {
    expect(findGaps(range([]), 100)).toEqual({numbers: [], left: 0, sampled: 0});
    expect(findGaps(range([7]), 100)).toEqual({numbers: [], left: 0, sampled: 0});
  });

  test('do not include numbers that were absent before', () => {
    expect(findGaps(range([1, 5], [2, 4]), 100)).toEqual({numbers: ['3'], left: 0, sampled: 0});
  });

  test('are not fewer if an absent number is known by now, or outside the range', () => {
    expect(findGaps(range([5, 7, 9], [1, 7, 12]), 1)).toEqual({
      numbers: ['6'],
      left: 1,
      sampled: 0,
    });
  });

  test('are limited for one sweep, and the rest is counted', () => {
    expect(findGaps(range([1, 100]), 10)).toMatchObject({
      numbers: expect.objectContaining({length: 10}),
      left: 88,
    });
  });

  test('include every unseen number once over several sweeps, whatever is known', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({min: 1, max: 400}), {maxLength: 40}), (known) => {
        const absent: number[] = [];
        for (let sweeps = 0; sweeps < 50; sweeps++) {
          const {numbers, left} = findGaps(range(known, absent), 37);
          expect(left === 0 || numbers.length === 37).toBe(true);
          absent.push(...numbers.map(Number));
          if (left === 0) break;
        }
        const [first = 0, last = 0] = [Math.min(...known), Math.max(...known)];
        const between = known.length === 0 ? 0 : last - first + 1 - known.length;
        expect(absent).toHaveLength(between);
        expect(new Set(absent).size).toBe(between);
      }),
    );
  });
});

test('the known range is from the lowest to the highest number, or starts at 1', () => {
  expect(endsOf(new NumberSet(['300000', '7', '12']))).toEqual({lowest: 7, highest: 300_000});
  expect(endsOf(new NumberSet())).toEqual({lowest: 1, highest: 0});
});

describe('a very wide gap between numbers', () => {
  const outlier = 10_000_000;

  test('is sampled at both ends and evenly between, and the rest is only counted', () => {
    const {numbers, left, sampled} = findGaps(range([1, outlier]), 5_000);
    expect({asked: numbers.length, left, sampled}).toEqual({
      asked: 200,
      left: 0,
      sampled: outlier - 2,
    });
    expect(numbers.slice(0, 3)).toEqual(['2', '3', '4']);
    expect(numbers.at(-1)).toBe(String(outlier - 1));
    const steps = numbers.slice(1).map((number, at) => Number(number) - Number(numbers[at]));
    expect(Math.max(...steps)).toBeLessThanOrEqual(Math.ceil(outlier / 100));
  });

  test('is sampled once', () => {
    const {numbers} = findGaps(range([1, outlier]), 5_000);
    expect(findGaps(range([1, outlier], numbers.map(Number)), 5_000)).toMatchObject({
      numbers: [],
      left: 0,
    });
  });

  test('becomes two if a record is found in it, and each gets a separate sample', () => {
    const {numbers} = findGaps(range([1, outlier]), 5_000);
    const found = Number(numbers[100]);
    const others = numbers.map(Number).filter((number) => number !== found);
    const next = findGaps(range([1, found, outlier], others), 5_000);
    expect(next.numbers.length).toBeGreaterThan(250);
    expect(next.numbers).toContain(String(found + 1));
  });

  test('has more than wideGap numbers; a smaller one is requested in full', () => {
    expect(findGaps(range([1, wideGap + 2]), 5_000)).toMatchObject({
      left: wideGap - 5_000,
      sampled: 0,
    });
    expect(findGaps(range([1, wideGap + 3]), 5_000)).toMatchObject({left: 0, sampled: wideGap + 1});
  });
});
