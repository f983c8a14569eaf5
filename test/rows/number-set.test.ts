import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {NumberSet} from '../../src/rows/number-set.ts';

const range = (first: number, last: number) =>
  Array.from({length: last - first + 1}, (_, at) => String(first + at));
const inOrder = (numbers: Iterable<string>) =>
  [...numbers].sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));

/**
 * Numbers near each other, far apart, at the edges of a chunk, and at the edges of 53 and of 64
 * bits.
 */
const anyNumber = fc
  .oneof(
    {weight: 4, arbitrary: fc.bigInt(1n, 3_000n)},
    {weight: 2, arbitrary: fc.bigInt(1n, 10_000_000n)},
    {weight: 1, arbitrary: fc.bigInt(65_530n, 65_540n)},
    {weight: 1, arbitrary: fc.bigInt(2n ** 53n - 3n, 2n ** 53n + 3n)},
    {weight: 1, arbitrary: fc.bigInt(2n ** 63n - 3n, 2n ** 63n - 1n)},
    {weight: 1, arbitrary: fc.bigInt(-(2n ** 63n), 0n)},
  )
  .map(String);
const anyNumbers = fc.array(anyNumber, {maxLength: 300});
/** Enough numbers that a chunk holds them as bits. */
const anyDense = fc
  .tuple(
    fc.integer({min: 1, max: 200_000}),
    fc.integer({min: 1_000, max: 3_000}),
    fc.integer({min: 1, max: 7}),
  )
  .map(([first, count, step]) => Array.from({length: count}, (_, at) => String(first + at * step)));
const anyMixture = fc
  .tuple(anyNumbers, fc.option(anyDense, {nil: []}))
  .map((parts) => parts.flat());

describe('a set of numbers', () => {
  test('holds the same as a set of texts, and iterates in numeric order', () => {
    fc.assert(
      fc.property(anyMixture, anyNumbers, (numbers, others) => {
        const [set, plain] = [new NumberSet(numbers), new Set(numbers)];
        expect(set.size).toBe(plain.size);
        expect([...set]).toEqual(inOrder(plain));
        for (const number of [...numbers, ...others])
          expect(set.has(number)).toBe(plain.has(number));
      }),
    );
  });

  test('returns the same values as JavaScript numbers, exact up to 2^53', () => {
    fc.assert(
      fc.property(anyMixture, (numbers) => {
        const set = new NumberSet(numbers);
        expect([...set.asNumbers()]).toEqual([...set].map(Number));
      }),
    );
  });

  test('has the same unions and differences as sets of texts, and is not changed by them', () => {
    fc.assert(
      fc.property(anyMixture, anyMixture, (numbers, others) => {
        const [one, other] = [new NumberSet(numbers), new NumberSet(others)];
        const [plain, plainOther] = [new Set(numbers), new Set(others)];
        const [both, rest] = [one.union(other), one.difference(other)];
        expect([...both]).toEqual(inOrder(plain.union(plainOther)));
        expect([...rest]).toEqual(inOrder(plain.difference(plainOther)));
        expect([both.size, rest.size]).toEqual([[...both].length, [...rest].length]);
        for (const set of [both, rest]) set.add('4611686018427387904');
        expect([one.size, other.size]).toEqual([plain.size, plainOther.size]);
      }),
      {numRuns: 50},
    );
  });

  test('accepts the numbers of a chunk in any order, and keeps each number once', () => {
    const numbers = range(131_000, 140_000);
    const shuffled = numbers.map((_, at) => numbers[(at * 7_919) % numbers.length] ?? '');
    const set = new NumberSet([...shuffled, ...shuffled]);
    expect(set.size).toBe(numbers.length);
    expect([...set]).toEqual(numbers);
    expect([set.has('130999'), set.has('140001')]).toEqual([false, false]);
  });

  test('distinguishes two numbers that are equal as floating point', () => {
    const set = new NumberSet(['9007199254740993']);
    expect([set.has('9007199254740992'), set.has('9007199254740993')]).toEqual([false, true]);
    expect([...set]).toEqual(['9007199254740993']);
  });
});
